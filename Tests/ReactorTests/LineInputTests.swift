import Reactor
import Testing

/// Lines of standard input. The input itself is held to it by the programs (tools/acceptance).
struct LineInputTests {
  private func lines(_ pieces: [String], limit: Int = 100) -> [String] {
    var splitter = LineSplitter(limit: limit)
    var all: [[UInt8]] = []
    for piece in pieces { all += splitter.append(piece.utf8) }
    if let last = splitter.finish() { all.append(last) }
    return all.map { String(decoding: $0, as: UTF8.self) }
  }

  @Test func `lines are whole wherever the pieces are cut`() {
    #expect(lines(["one\ntw", "o\n", "\nthree"]) == ["one", "two", "", "three"])
    #expect(lines(["é", "\n"]) == ["é"] && lines(["a\r\nb\r"]) == ["a", "b"])
    #expect(lines([]) == [] && lines(["a\n"]) == ["a"])
  }

  @Test func `a line without an end fills no memory`() {
    #expect(lines(["abc", "defgh\nij"], limit: 4) == ["abcd", "ij"])
  }
}
