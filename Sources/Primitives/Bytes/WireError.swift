/// Why some bytes are not what they should be: which field, and how far into the message it starts.
///
/// Bytes from the network are never an error to a user: the datagram is counted by reason and
/// dropped.
package struct WireError: Error, Equatable, Sendable {
  package enum Reason: UInt8, Sendable { case truncated, invalid, tooLong, trailing }

  package var reason: Reason
  package var field: StaticName
  package var offset: Int

  package init(_ reason: Reason, _ field: StaticName, at offset: Int) {
    self.reason = reason
    self.field = field
    self.offset = offset
  }

  package static func invalid(_ field: StaticName, at offset: Int) -> WireError {
    WireError(.invalid, field, at: offset)
  }
}

/// A name known when the program was compiled: making an error from it costs no allocation.
package struct StaticName: ExpressibleByStringLiteral, Equatable, Sendable, CustomStringConvertible
{
  private let literal: StaticString

  package init(stringLiteral value: StaticString) { literal = value }

  package var description: String { literal.description }

  package static func == (left: StaticName, right: StaticName) -> Bool {
    left.description == right.description
  }
}
