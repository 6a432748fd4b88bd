/// Text forms: `192.0.2.1:7400` and `[2001:db8::1]:7400` (RFC 5952).
extension SocketAddress: CustomStringConvertible, LosslessStringConvertible {
  /// `host:port`, with IPv6 addresses in brackets.
  public var description: String {
    family == .v4 ? "\(hostText):\(port)" : "[\(hostText)]:\(port)"
  }

  /// The address without its port or brackets.
  public var hostText: String {
    if family == .v4 { return (0..<4).map { String(byte($0)) }.joined(separator: ".") }
    let groups = (0..<8).map { UInt16(byte(2 * $0)) << 8 | UInt16(byte(2 * $0 + 1)) }
    guard let zeros = Self.longestZeroRun(groups) else { return Self.hex(groups[...]) }
    return Self.hex(groups[..<zeros.lowerBound]) + "::" + Self.hex(groups[zeros.upperBound...])
  }

  /// Reads `a.b.c.d:port` or `[v6]:port`; `nil` for anything else, host names included.
  public init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"),
      let port = Self.decimal(text[text.index(after: colon)...], as: UInt16.self)
    else { return nil }
    let host = text[..<colon]
    if host.first == "[", host.last == "]" {
      guard let groups = Self.groups(host.dropFirst().dropLast()) else { return nil }
      let words = groups.map(UInt64.init)
      let address = SocketAddress(
        family: .v6, high: words[0] << 48 | words[1] << 32 | words[2] << 16 | words[3],
        low: words[4] << 48 | words[5] << 32 | words[6] << 16 | words[7], port: port)
      self = address.withoutMapping
      return
    }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
      .map { Self.decimal($0, as: UInt8.self) }
    guard parts.count == 4, let a = parts[0], let b = parts[1], let c = parts[2], let d = parts[3]
    else { return nil }
    self.init(v4: a, b, c, d, port: port)
  }

  private static func hex(_ groups: ArraySlice<UInt16>) -> String {
    groups.map { String($0, radix: 16) }.joined(separator: ":")
  }

  private static func longestZeroRun(_ groups: [UInt16]) -> Range<Int>? {
    var best: Range<Int>?
    var start = 0
    while start < groups.count {
      var end = start
      while end < groups.count, groups[end] == 0 { end += 1 }
      if end - start > max(1, best?.count ?? 1) { best = start..<end }
      start = max(end, start + 1)
    }
    return best
  }

  private static func decimal<Number: FixedWidthInteger>(
    _ text: Substring, as type: Number.Type
  ) -> Number? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Number(text)
  }

  /// The eight groups of an IPv6 address, `::` filled in.
  private static func groups(_ text: Substring) -> [UInt16]? {
    let halves = text.components(separatedByDoubleColon: ())
    guard halves.count <= 2 else { return nil }
    var parts: [[UInt16]] = []
    for half in halves {
      var groups: [UInt16] = []
      if !half.isEmpty {
        for part in half.split(separator: ":", omittingEmptySubsequences: false) {
          guard (1...4).contains(part.utf8.count), let group = UInt16(part, radix: 16),
            part.first != "+"
          else { return nil }
          groups.append(group)
        }
      }
      parts.append(groups)
    }
    if parts.count == 1 { return parts[0].count == 8 ? parts[0] : nil }
    let missing = 8 - parts[0].count - parts[1].count
    return missing >= 1 ? parts[0] + Array(repeating: 0, count: missing) + parts[1] : nil
  }
}

extension Substring {
  fileprivate func components(separatedByDoubleColon: Void) -> [Substring] {
    var parts: [Substring] = []
    var rest = self
    while let range = rest.firstRange(of: "::") {
      parts.append(rest[..<range.lowerBound])
      rest = rest[range.upperBound...]
    }
    return parts + [rest]
  }
}
