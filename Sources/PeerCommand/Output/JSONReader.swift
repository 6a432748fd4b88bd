/// Reads one JSON text (RFC 8259) that nobody has checked; never deeper than 64.
package struct JSONReader {
  package static let maxDepth = 64

  private let bytes: [UInt8]
  private var index = 0

  /// The value; `nil` when `text` is not JSON, or has anything after it.
  package static func value(of text: some StringProtocol) -> JSONValue? {
    var reader = JSONReader(bytes: Array(text.utf8))
    guard let value = reader.value(depth: 0) else { return nil }
    reader.skipSpace()
    return reader.index == reader.bytes.count ? value : nil
  }

  private init(bytes: [UInt8]) { self.bytes = bytes }

  private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func skipSpace() {
    while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { index += 1 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    index += 1
    return true
  }

  private mutating func take(word: StaticString) -> Bool {
    let letters = Array("\(word)".utf8)
    guard bytes.count - index >= letters.count,
      Array(bytes[index..<(index + letters.count)]) == letters
    else { return false }
    index += letters.count
    return true
  }

  private mutating func value(depth: Int) -> JSONValue? {
    guard depth < Self.maxDepth else { return nil }
    skipSpace()
    switch next {
    case UInt8(ascii: "{"): return object(depth: depth)
    case UInt8(ascii: "["): return array(depth: depth)
    case UInt8(ascii: "\""): return string().map(JSONValue.string)
    case UInt8(ascii: "t"): return take(word: "true") ? .boolean(true) : nil
    case UInt8(ascii: "f"): return take(word: "false") ? .boolean(false) : nil
    case UInt8(ascii: "n"): return take(word: "null") ? .null : nil
    default: return number()
    }
  }

  private mutating func object(depth: Int) -> JSONValue? {
    index += 1
    var members: [(key: String, value: JSONValue)] = []
    skipSpace()
    if take(UInt8(ascii: "}")) { return .object(members) }
    while true {
      skipSpace()
      guard let key = string() else { return nil }
      skipSpace()
      guard take(UInt8(ascii: ":")), let value = value(depth: depth + 1) else { return nil }
      members.append((key, value))
      skipSpace()
      if take(UInt8(ascii: "}")) { return .object(members) }
      guard take(UInt8(ascii: ",")) else { return nil }
    }
  }

  private mutating func array(depth: Int) -> JSONValue? {
    index += 1
    var values: [JSONValue] = []
    skipSpace()
    if take(UInt8(ascii: "]")) { return .array(values) }
    while true {
      guard let value = value(depth: depth + 1) else { return nil }
      values.append(value)
      skipSpace()
      if take(UInt8(ascii: "]")) { return .array(values) }
      guard take(UInt8(ascii: ",")) else { return nil }
    }
  }

  private mutating func number() -> JSONValue? {
    let start = index
    while let byte = next, "+-.eE0123456789".utf8.contains(byte) { index += 1 }
    let text = String(decoding: bytes[start..<index], as: UTF8.self)
    let digits = text.drop { $0 == "-" }
    guard let first = digits.utf8.first, (0x30...0x39).contains(first),
      text.utf8.count - digits.utf8.count <= 1,
      !(first == 0x30 && digits.utf8.dropFirst().first.map { (0x30...0x39).contains($0) } == true),
      text.utf8.last != UInt8(ascii: ".")
    else { return nil }
    if let whole = Int64(text) { return .integer(whole) }
    return Double(text).flatMap { $0.isFinite ? .number($0) : nil }
  }

  private mutating func string() -> String? {
    guard take(UInt8(ascii: "\"")) else { return nil }
    var text: [UInt8] = []
    while let byte = next {
      index += 1
      switch byte {
      case UInt8(ascii: "\""):
        let decoded = String(decoding: text, as: UTF8.self)
        return decoded.utf8.count == text.count ? decoded : nil
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
    case UInt8(ascii: "u"):
      guard let high = hex4() else { return nil }
      if !(0xD800...0xDFFF).contains(high) { return Unicode.Scalar(high) }
      guard high < 0xDC00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")), let low = hex4(),
        (0xDC00...0xDFFF).contains(low)
      else { return nil }
      return Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
    default: return nil
    }
  }

  private mutating func hex4() -> UInt32? {
    guard bytes.count - index >= 4 else { return nil }
    let digits = bytes[index..<(index + 4)]
    guard digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
    index += 4
    return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
  }
}

extension JSONValue {
  /// The member `key` of an object.
  package subscript(key: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.last { $0.key == key }?.value
  }

  /// The text of a string.
  package var asString: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  /// A number, whole or not.
  package var asNumber: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    default: nil
    }
  }

  package var asBoolean: Bool? {
    if case .boolean(let value) = self { return value }
    return nil
  }

  /// The elements of an array.
  package var elements: [JSONValue]? {
    guard case .array(let values) = self else { return nil }
    return values
  }
}
