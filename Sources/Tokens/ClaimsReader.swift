internal import Primitives
internal import Wire

/// Reads the claims of a token: one JSON object (RFC 8259), without recursion.
///
/// Texts are kept, everything else is stepped over. A key that appears twice is refused: two
/// readers might take different ones.
struct ClaimsReader {
  private var scanner: JSONScanner

  init(_ bytes: [UInt8]) { scanner = JSONScanner(bytes) }

  /// The claims whose values are texts.
  mutating func readAll() throws(TokenFault) -> [String: String] {
    var texts: [String: String] = [:]
    var keys: Set<String> = []
    try expect("{")
    scanner.skipSpace()
    if !scanner.skip("}") {
      repeat {
        let key = try readKey()
        guard keys.insert(key).inserted else { throw .malformed }
        scanner.skipSpace()
        if scanner.next == UInt8(ascii: "\"") {
          texts[key] = try readText()
        } else {
          guard !Self.known.contains(key) else { throw .malformed }
          try skipValue()
        }
        scanner.skipSpace()
      } while scanner.skip(",")
      try expect("}")
    }
    scanner.skipSpace()
    guard scanner.next == nil else { throw .malformed }
    return texts
  }

  /// Claims that have a meaning here must be texts.
  private static let known: Set = ["aud", "sub", "scp", "iat", "nbf", "exp", "name", "uid"]

  private mutating func expect(_ letter: Unicode.Scalar) throws(TokenFault) {
    scanner.skipSpace()
    guard scanner.skip(letter) else { throw .malformed }
  }

  private mutating func readText() throws(TokenFault) -> String {
    guard let text = scanner.text() else { throw .malformed }
    return text
  }

  private mutating func readKey() throws(TokenFault) -> String {
    scanner.skipSpace()
    let key = try readText()
    try expect(":")
    return key
  }

  // MARK: - Values

  /// Steps over a value of any kind, at most `TokenLimits.depth` deep.
  private mutating func skipValue() throws(TokenFault) {
    var closers: [Unicode.Scalar] = []
    repeat {
      scanner.skipSpace()
      let isOpen = try beginValue(&closers)
      guard !isOpen else { continue }
      // A value has ended, and with it, perhaps, what it stands in.
      while let closer = closers.last {
        scanner.skipSpace()
        if scanner.skip(",") {
          if closer == "}" { _ = try readKey() }
          break
        }
        guard scanner.skip(closer) else { throw .malformed }
        closers.removeLast()
      }
    } while !closers.isEmpty
  }

  /// Steps over a value, or into one; whether it is still open.
  private mutating func beginValue(
    _ closers: inout [Unicode.Scalar]
  ) throws(TokenFault) -> Bool {
    if scanner.next == UInt8(ascii: "\"") {
      _ = try readText()
      return false
    }
    let isObject = scanner.skip("{")
    guard isObject || scanner.skip("[") else {
      guard scanner.word() != nil || scanner.number() != nil else { throw .malformed }
      return false
    }
    let closer: Unicode.Scalar = isObject ? "}" : "]"
    scanner.skipSpace()
    if scanner.skip(closer) { return false }
    guard closers.count < TokenLimits.depth else { throw .malformed }
    closers.append(closer)
    if isObject { _ = try readKey() }
    return true
  }
}
