/// Cuts bytes that come in pieces into lines.
package struct LineSplitter {
  private var line: [UInt8] = []
  private let limit: Int

  /// - Parameter limit: Bytes that are kept of a line; the rest of it is left out.
  package init(limit: Int) { self.limit = limit }

  /// Takes what has come.
  ///
  /// - Returns: Lines that are whole, without their ends.
  package mutating func append(_ bytes: some Sequence<UInt8>) -> [[UInt8]] {
    var whole: [[UInt8]] = []
    for byte in bytes {
      if byte == UInt8(ascii: "\n") {
        whole.append(takeLine())
      } else if line.count < limit {
        line.append(byte)
      }
    }
    return whole
  }

  /// Nothing more comes.
  ///
  /// - Returns: The last line, if it has no end.
  package mutating func finish() -> [UInt8]? { line.isEmpty ? nil : takeLine() }

  private mutating func takeLine() -> [UInt8] {
    defer { line = [] }
    return line.last == UInt8(ascii: "\r") ? line.dropLast() : line
  }
}
