internal import Primitives

/// AUDIENCE: who may learn that this program is online (docs/protocol/rendezvous.md §6). The last
/// one of a session counts.
///
///     type 1 = 9 · count 2 · count × mark 8, ascending
package struct Audience: Hashable, Sendable {
  /// The most marks of one message.
  package static let limit = 512
  /// Of those who may learn it: ascending, none twice, at most `limit`.
  package let marks: [AudienceMark]

  /// - Parameter marks: In any order; of more than `limit` the least ones stay.
  package init(_ marks: [AudienceMark] = []) {
    var ordered: [AudienceMark] = []
    for mark in marks.sorted() where mark != ordered.last && ordered.count < Self.limit {
      ordered.append(mark)
    }
    self.marks = ordered
  }

  @_lifetime(reader: copy reader)
  init(fields reader: inout ByteReader) throws(WireError) {
    let start = reader.offset
    let count = Int(try reader.readUInt16("count of marks"))
    guard count <= Self.limit else { throw .invalid("count of marks", at: start) }
    var marks: [AudienceMark] = []
    marks.reserveCapacity(count)
    for _ in 0..<count {
      let at = reader.offset
      let mark = AudienceMark(rawValue: try reader.readUInt64("mark"))
      if let last = marks.last, last >= mark { throw .invalid("order of marks", at: at) }
      marks.append(mark)
    }
    self.marks = marks
  }

  func writeFields(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: UInt16(marks.count))
    for mark in marks { bytes.append(littleEndian: mark.rawValue) }
  }

  package func contains(_ mark: AudienceMark) -> Bool {
    var range = marks.indices
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      if marks[middle] == mark { return true }
      range =
        marks[middle] < mark ? (middle + 1)..<range.upperBound : range.lowerBound..<middle
    }
    return false
  }
}

/// One identity in the audience of another: the first 8 bytes of BLAKE2b-128, keyed with the
/// owner's ID, of the other's ID. It tells nothing of an ID that one does not know already.
package struct AudienceMark: Hashable, Comparable, Sendable, BitwiseCopyable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  package static func < (left: AudienceMark, right: AudienceMark) -> Bool {
    left.rawValue < right.rawValue
  }
}
