internal import Primitives
internal import Reactor

/// The text of an events file, read line by line: what a file costs must not depend on who wrote
/// it.
package struct EventText {
  /// The longest line that is read, in bytes: the program's own have less than 32 KiB.
  package static let maxLineByteCount = 256 << 10
  /// The longest text, in bytes: 12 hours of a call.
  package static let maxByteCount = 64 << 20

  private let bytes: [UInt8]

  /// - Throws: Where the text or a line is longer than is read.
  package init(_ bytes: [UInt8], name: String) throws(CommandFailure) {
    guard bytes.count <= Self.maxByteCount else {
      throw CommandFailure(
        .file, "\(name) has more than \(Self.maxByteCount >> 20) MiB of text.",
        advice: "Give a part of it: tail -n 10000 FILE | earshot inspect -")
    }
    self.bytes = bytes
    var (number, start) = (1, 0)
    for (index, byte) in bytes.enumerated() where byte == UInt8(ascii: "\n") {
      guard index - start <= Self.maxLineByteCount else { throw Self.tooLong(number, name) }
      (number, start) = (number + 1, index + 1)
    }
    guard bytes.count - start <= Self.maxLineByteCount else { throw Self.tooLong(number, name) }
  }

  private static func tooLong(_ number: Int, _ name: String) -> CommandFailure {
    CommandFailure(
      .file,
      "Line \(number) of \(name) has more than \(maxLineByteCount >> 10) KiB; no event has.",
      advice: "Leave it out: awk 'length < \(maxLineByteCount)' FILE | earshot inspect -")
  }

  /// Hands each line that is JSON to `take`; how many are not.
  package func forEachObject(_ take: (JSONValue) -> Void) -> Int {
    var unreadable = 0
    for line in Lines(bytes: bytes) {
      if let object = JSONReader.value(of: String(decoding: line, as: UTF8.self)) {
        take(object)
      } else {
        unreadable += 1
      }
    }
    return unreadable
  }

  /// The lines that are not empty, one at a time.
  private struct Lines: Sequence, IteratorProtocol {
    let bytes: [UInt8]
    var start = 0

    mutating func next() -> ArraySlice<UInt8>? {
      while start < bytes.count {
        let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
        let line = bytes[start..<end]
        start = end + 1
        if !line.isEmpty { return line }
      }
      return nil
    }
  }

  /// The text of a file; one byte more than is read, if there is more.
  static func contents(of path: String) throws(CommandFailure) -> [UInt8] {
    do throws(ReactorError) {
      return try ProcessSurroundings.contents(of: path, limit: maxByteCount + 1)
    } catch {
      throw CommandFailure(file: error)
    }
  }
}
