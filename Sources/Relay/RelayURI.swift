/// Where a TURN server listens and by which transport: `turn:HOST`, `turn:HOST:PORT`,
/// `turn:HOST?transport=tcp` or `turns:HOST` (RFC 7065).
package struct RelayURI: Hashable, Sendable {
  /// How a client speaks with its server; to peers the server speaks UDP.
  package enum Transport: String, Hashable, Sendable, CaseIterable { case udp, tcp, tls }

  /// Without the brackets of an IPv6 address.
  package let host: String
  package let port: UInt16
  package let transport: Transport

  /// `nil` for anything else, DTLS included.
  package init?(_ text: String) {
    guard text.utf8.count <= 255, let colon = text.firstIndex(of: ":") else { return nil }
    let isSecure: Bool
    switch text[..<colon].lowercased() {
    case "turn": isSecure = false
    case "turns": isSecure = true
    default: return nil
    }
    let parts = text[text.index(after: colon)...].split(
      separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    var transport = isSecure ? Transport.tls : .udp
    if parts.count == 2 {
      switch (parts[1].lowercased(), isSecure) {
      case ("transport=udp", false): transport = .udp
      case ("transport=tcp", false): transport = .tcp
      case ("transport=tcp", true): transport = .tls
      default: return nil
      }
    }
    guard let (host, port) = Self.place(parts[0]) else { return nil }
    self.host = host
    self.port = port ?? (isSecure ? Self.securePort : Self.plainPort)
    self.transport = transport
  }

  /// `HOST:PORT`, an IPv6 address in brackets.
  package var place: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

  private static func place(_ text: Substring) -> (host: String, port: UInt16?)? {
    var host = text
    var rest = Substring()
    if text.first == "[" {
      guard let end = text.firstIndex(of: "]") else { return nil }
      host = text[text.index(after: text.startIndex)..<end]
      rest = text[text.index(after: end)...]
      guard host.contains(":") else { return nil }
    } else if let colon = text.firstIndex(of: ":") {
      host = text[..<colon]
      rest = text[colon...]
    }
    let isName = host.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"/@#?[]".utf8.contains($0) }
    guard !host.isEmpty, host.utf8.count <= longestHost, isName else { return nil }
    if rest.isEmpty { return (String(host), nil) }
    guard rest.first == ":", rest.dropFirst().utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let port = UInt16(rest.dropFirst()), port > 0
    else { return nil }
    return (String(host), port)
  }

  /// Bytes: with scheme, port and transport written out it still fits the 255 of `init`.
  private static let longestHost = 225
  /// RFC 8656 §6.
  private static let plainPort: UInt16 = 3478
  private static let securePort: UInt16 = 5349
}
