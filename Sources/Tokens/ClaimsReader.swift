internal import Wire

/// Reads the claims of a token: one JSON object (RFC 8259), without recursion.
///
/// Texts are kept, everything else is stepped over. A key that appears twice is refused: two
/// readers might take different ones.
struct ClaimsReader {
  private let bytes: [UInt8]
  private var index = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The claims whose values are texts.
  mutating func readAll() throws(TokenFault) -> [String: String] {
    var texts: [String: String] = [:]
    var keys: Set<String> = []
    try expect("{")
    skipSpace()
    if !take("}") {
      repeat {
        let key = try readKey()
        guard keys.insert(key).inserted else { throw .malformed }
        skipSpace()
        if next == UInt8(ascii: "\"") {
          texts[key] = try readText()
        } else {
          guard !Self.known.contains(key) else { throw .malformed }
          try skipValue()
        }
        skipSpace()
      } while take(",")
      try expect("}")
    }
    skipSpace()
    guard next == nil else { throw .malformed }
    return texts
  }

  /// Claims that have a meaning here must be texts.
  private static let known: Set = ["aud", "sub", "scp", "iat", "nbf", "exp", "name"]

  // MARK: - Letters

  private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func skipSpace() {
    while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { index += 1 }
  }

  private mutating func take(_ letter: Unicode.Scalar) -> Bool { take(UInt8(ascii: letter)) }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    index += 1
    return true
  }

  private mutating func expect(_ letter: Unicode.Scalar) throws(TokenFault) {
    skipSpace()
    guard take(letter) else { throw .malformed }
  }

  // MARK: - Values

  private mutating func readKey() throws(TokenFault) -> String {
    skipSpace()
    let key = try readText()
    try expect(":")
    return key
  }

  /// Steps over a value of any kind, at most `TokenLimits.depth` deep.
  private mutating func skipValue() throws(TokenFault) {
    var closers: [UInt8] = []
    repeat {
      skipSpace()
      let isOpen = try beginValue(&closers)
      guard !isOpen else { continue }
      // A value has ended, and with it, perhaps, what it stands in.
      while let closer = closers.last {
        skipSpace()
        if take(",") {
          if closer == UInt8(ascii: "}") { _ = try readKey() }
          break
        }
        guard take(closer) else { throw .malformed }
        closers.removeLast()
      }
    } while !closers.isEmpty
  }

  /// Steps over a value, or into one; whether it is still open.
  private mutating func beginValue(_ closers: inout [UInt8]) throws(TokenFault) -> Bool {
    if next == UInt8(ascii: "\"") {
      _ = try readText()
      return false
    }
    let isObject = take("{")
    guard isObject || take("[") else {
      try skipWord()
      return false
    }
    let closer = UInt8(ascii: isObject ? "}" : "]")
    skipSpace()
    if take(closer) { return false }
    guard closers.count < TokenLimits.depth else { throw .malformed }
    closers.append(closer)
    if isObject { _ = try readKey() }
    return true
  }

  /// Steps over a number, true, false or null.
  private mutating func skipWord() throws(TokenFault) {
    let start = index
    while let byte = next, Self.wordLetters.contains(byte) { index += 1 }
    let word = String(decoding: bytes[start..<index], as: UTF8.self)
    guard ["true", "false", "null"].contains(word) || Self.isNumber(word) else {
      throw .malformed
    }
  }

  private static let wordLetters = Array("0123456789+-.eEtrufalsn".utf8)

  /// RFC 8259 §6.
  private static func isNumber(_ word: String) -> Bool {
    var rest = Array(word.utf8)[...]
    func digits() -> Int {
      let count = rest.prefix { (0x30...0x39).contains($0) }.count
      rest = rest.dropFirst(count)
      return count
    }
    if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
    let startsWithZero = rest.first == UInt8(ascii: "0")
    let whole = digits()
    guard whole == 1 || (whole > 1 && !startsWithZero) else { return false }
    if rest.first == UInt8(ascii: ".") {
      rest = rest.dropFirst()
      guard digits() > 0 else { return false }
    }
    if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
      rest = rest.dropFirst()
      if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") {
        rest = rest.dropFirst()
      }
      guard digits() > 0 else { return false }
    }
    return rest.isEmpty
  }

  private mutating func readText() throws(TokenFault) -> String {
    guard take("\"") else { throw .malformed }
    var text: [UInt8] = []
    while let byte = next {
      index += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let text = String(validating: text, as: UTF8.self) else { throw .malformed }
        return text
      case UInt8(ascii: "\\"): text.append(contentsOf: String(try readEscape()).utf8)
      case 0..<0x20: throw .malformed
      default: text.append(byte)
      }
    }
    throw .malformed
  }

  private mutating func readEscape() throws(TokenFault) -> Unicode.Scalar {
    guard let byte = next else { throw .malformed }
    index += 1
    switch byte {
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "u"):
      let high = try readHex()
      if let scalar = Unicode.Scalar(high) { return scalar }
      guard high < 0xDC00, take("\\"), take("u") else { throw .malformed }
      let low = try readHex()
      guard (0xDC00...0xDFFF).contains(low),
        let scalar = Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
      else { throw .malformed }
      return scalar
    default: throw .malformed
    }
  }

  private mutating func readHex() throws(TokenFault) -> UInt32 {
    guard bytes.count - index >= 4 else { throw .malformed }
    var value: UInt32 = 0
    for byte in bytes[index..<(index + 4)] {
      switch byte {
      case 0x30...0x39: value = value << 4 | UInt32(byte - 0x30)
      case 0x41...0x46: value = value << 4 | UInt32(byte - 0x37)
      case 0x61...0x66: value = value << 4 | UInt32(byte - 0x57)
      default: throw .malformed
      }
    }
    index += 4
    return value
  }
}
