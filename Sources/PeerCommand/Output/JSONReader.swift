internal import Primitives

/// Reads one JSON text (RFC 8259) that nobody has checked; never deeper than 64.
package struct JSONReader {
  package static let maxDepth = 64

  private var scanner: JSONScanner

  /// The value; `nil` when `text` is not JSON, or has anything after it.
  package static func value(of text: some StringProtocol) -> JSONValue? {
    var reader = JSONReader(Array(text.utf8))
    guard let value = reader.value(depth: 0) else { return nil }
    reader.scanner.skipSpace()
    return reader.scanner.next == nil ? value : nil
  }

  private init(_ bytes: [UInt8]) { scanner = JSONScanner(bytes) }

  private mutating func value(depth: Int) -> JSONValue? {
    guard depth < Self.maxDepth else { return nil }
    scanner.skipSpace()
    switch scanner.next {
    case UInt8(ascii: "{"): return object(depth: depth)
    case UInt8(ascii: "["): return array(depth: depth)
    case UInt8(ascii: "\""): return scanner.text().map(JSONValue.string)
    case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"): return word()
    default: return number()
    }
  }

  private mutating func object(depth: Int) -> JSONValue? {
    guard scanner.skip("{") else { return nil }
    var members: [(key: String, value: JSONValue)] = []
    scanner.skipSpace()
    if scanner.skip("}") { return .object(members) }
    while true {
      scanner.skipSpace()
      guard let key = scanner.text() else { return nil }
      scanner.skipSpace()
      guard scanner.skip(":"), let value = value(depth: depth + 1) else { return nil }
      members.append((key, value))
      scanner.skipSpace()
      if scanner.skip("}") { return .object(members) }
      guard scanner.skip(",") else { return nil }
    }
  }

  private mutating func array(depth: Int) -> JSONValue? {
    guard scanner.skip("[") else { return nil }
    var values: [JSONValue] = []
    scanner.skipSpace()
    if scanner.skip("]") { return .array(values) }
    while true {
      guard let value = value(depth: depth + 1) else { return nil }
      values.append(value)
      scanner.skipSpace()
      if scanner.skip("]") { return .array(values) }
      guard scanner.skip(",") else { return nil }
    }
  }

  private mutating func word() -> JSONValue? {
    switch scanner.word() {
    case "true": .boolean(true)
    case "false": .boolean(false)
    case "null": .null
    default: nil
    }
  }

  private mutating func number() -> JSONValue? {
    guard let text = scanner.number() else { return nil }
    if let whole = Int64(text) { return .integer(whole) }
    return Double(text).flatMap { $0.isFinite ? .number($0) : nil }
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
