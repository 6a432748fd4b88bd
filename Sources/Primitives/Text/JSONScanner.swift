/// Steps through the letters of a JSON text (RFC 8259) that nobody has checked. What may stand
/// where is for the reader of a whole text; `nil` means that something else stands here.
package struct JSONScanner {
  private let bytes: [UInt8]
  private var index = 0

  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The byte that stands here; `nil` at the end.
  package var next: UInt8? { index < bytes.count ? bytes[index] : nil }

  package mutating func skipSpace() {
    while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { index += 1 }
  }

  /// Steps over an ASCII letter, if it stands here.
  package mutating func skip(_ letter: Unicode.Scalar) -> Bool {
    guard let next, UInt32(next) == letter.value else { return false }
    index += 1
    return true
  }

  /// "true", "false" or "null".
  package mutating func word() -> String? {
    let count = bytes[index...].prefix { (0x61...0x7A).contains($0) }.count
    let word = String(decoding: bytes[index..<(index + count)], as: UTF8.self)
    guard ["true", "false", "null"].contains(word) else { return nil }
    index += count
    return word
  }

  // MARK: - Numbers

  /// A number as it is written (RFC 8259 §6).
  package mutating func number() -> String? {
    let start = index
    _ = skip("-")
    let startsWithZero = next == UInt8(ascii: "0")
    let whole = skipDigits()
    guard whole == 1 || (whole > 1 && !startsWithZero) else { return nil }
    if skip("."), skipDigits() == 0 { return nil }
    if skip("e") || skip("E") {
      if !skip("+") { _ = skip("-") }
      guard skipDigits() > 0 else { return nil }
    }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }

  /// How many there were.
  private mutating func skipDigits() -> Int {
    let start = index
    while let byte = next, (0x30...0x39).contains(byte) { index += 1 }
    return index - start
  }

  // MARK: - Texts

  /// What a string says (RFC 8259 §7).
  package mutating func text() -> String? {
    guard skip("\"") else { return nil }
    var text: [UInt8] = []
    while let byte = next {
      index += 1
      switch byte {
      case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard let scalar = escape() else { return nil }
        text.append(contentsOf: String(scalar).utf8)
      case 0..<0x20: return nil
      default: text.append(byte)
      }
    }
    return nil
  }

  private mutating func escape() -> Unicode.Scalar? {
    guard let byte = next else { return nil }
    index += 1
    switch byte {
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "u"): return escapedUnit()
    default: return nil
    }
  }

  /// Four hexadecimal digits, or a surrogate pair of them.
  private mutating func escapedUnit() -> Unicode.Scalar? {
    guard let high = hexadecimal() else { return nil }
    if let scalar = Unicode.Scalar(high) { return scalar }
    guard high < 0xDC00, skip("\\"), skip("u"), let low = hexadecimal(),
      (0xDC00...0xDFFF).contains(low)
    else { return nil }
    return Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
  }

  private mutating func hexadecimal() -> UInt32? {
    guard bytes.count - index >= 4 else { return nil }
    var value: UInt32 = 0
    for byte in bytes[index..<(index + 4)] {
      switch byte {
      case 0x30...0x39: value = value << 4 | UInt32(byte - 0x30)
      case 0x41...0x46: value = value << 4 | UInt32(byte - 0x37)
      case 0x61...0x66: value = value << 4 | UInt32(byte - 0x57)
      default: return nil
      }
    }
    index += 4
    return value
  }
}
