internal import Primitives

/// A JSON value whose objects keep the order in which their keys were put in (RFC 8259).
///
/// What is absent stays absent: assigning `nil` adds no key, and a number that is not finite counts
/// as absent.
package enum JSONValue: Sendable {
  case string(String)
  case integer(Int64)
  case number(Double)
  case boolean(Bool)
  case array([JSONValue])
  case object([(key: String, value: JSONValue)])
  case null

  /// What somebody else sent: its value if it is JSON, written anew, else a string.
  package static func others(_ text: String) -> JSONValue {
    JSONReader.value(of: text) ?? .string(text)
  }

  /// One line without spaces.
  package var text: String {
    var output = ""
    write(to: &output)
    return output
  }

  private func write(to output: inout String) {
    switch self {
    case .string(let text): Self.quote(text, to: &output)
    case .integer(let value): output += String(value)
    case .number(let value): output += Self.shortest(value)
    case .boolean(let value): output += value ? "true" : "false"
    case .null: output += "null"
    case .array(let values):
      output += "["
      for (index, value) in values.enumerated() {
        if index > 0 { output += "," }
        value.write(to: &output)
      }
      output += "]"
    case .object(let members):
      output += "{"
      for (index, member) in members.enumerated() {
        if index > 0 { output += "," }
        Self.quote(member.key, to: &output)
        output += ":"
        member.value.write(to: &output)
      }
      output += "}"
    }
  }

  /// At most six decimals, none that mean nothing: seconds to the microsecond. Of 1e12
  /// and more three: milliseconds since 1970 to the microsecond.
  private static func shortest(_ value: Double) -> String {
    guard value.isFinite else { return "null" }
    guard abs(value) < 1e12 else { return value.magnitude < 9e12 ? thousandths(value) : "\(value)" }
    let millionths = (value * 1e6).rounded()
    if millionths.remainder(dividingBy: 1e6) == 0 { return String(Int64(millionths / 1e6)) }
    return String(millionths / 1e6)
  }

  private static func thousandths(_ value: Double) -> String {
    let rounded = (value * 1000).rounded() / 1000
    return rounded == rounded.rounded() ? String(Int64(rounded)) : String(rounded)
  }

  private static func quote(_ text: String, to output: inout String) {
    output += "\""
    for scalar in text.unicodeScalars { Printable.appendJSON(scalar, to: &output) }
    output += "\""
  }
}

/// Builds one object, key by key.
package struct JSONObject: Sendable {
  private var members: [(key: String, value: JSONValue)] = []

  package init() {}

  package var value: JSONValue { .object(members) }
  package var isEmpty: Bool { members.isEmpty }

  package mutating func add(_ key: String, _ value: JSONValue?) {
    if let value { members.append((key, value)) }
  }

  package mutating func add(_ key: String, _ text: String?) { add(key, text.map(JSONValue.string)) }

  package mutating func add(_ key: String, _ number: Int?) {
    add(key, number.map { JSONValue.integer(Int64($0)) })
  }

  package mutating func add(_ key: String, _ number: UInt64?) {
    add(key, number.map { JSONValue.integer(Int64(clamping: $0)) })
  }

  package mutating func add(_ key: String, _ number: Double?) {
    if let number, number.isFinite { add(key, JSONValue.number(number)) }
  }

  package mutating func add(_ key: String, _ flag: Bool?) { add(key, flag.map(JSONValue.boolean)) }

  package mutating func add(_ key: String, _ object: JSONObject?) {
    if let object, !object.isEmpty { add(key, object.value) }
  }
}
