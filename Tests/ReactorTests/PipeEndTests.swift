import Foundation
import Glibc
import Reactor
import Testing

struct PipeEndTests {
  @Test func `a pipe is read and written without waiting`() throws {
    var ends: [Int32] = [0, 0]
    try #require(unsafe pipe(&ends) == 0)
    let (reader, writer) = (PipeEnd(descriptor: ends[0]), PipeEnd(descriptor: ends[1]))
    var bytes = [UInt8](repeating: 0, count: 4096)
    #expect(reader.readNow(into: &bytes, limit: 4096) == .nothing)
    #expect(try writer.writeNow([1, 2, 3], count: 3))
    #expect(writer.heldByteCount == 3)
    #expect(reader.readNow(into: &bytes, limit: 2) == .bytes(2))
    #expect(writer.heldByteCount == 1 && bytes[..<2] == [1, 2])
    var pages = 0
    while try writer.writeNow(bytes, count: 4096) { pages += 1 }
    #expect(pages > 0 && writer.heldByteCount > 4096 * (pages - 1))
    #expect(!reader.isTerminal)
    close(ends[1])
    var last = PipeEnd.Read.nothing
    while case let read = reader.readNow(into: &bytes, limit: 4096), read != .end { last = read }
    #expect(last != .nothing)
    close(ends[0])
  }

  @Test func `a file that is a pipe is read to its end, if somebody writes it`() throws {
    let path = NSTemporaryDirectory() + "pipe-\(UUID())"
    let isMade = unsafe mkfifo(path, 0o600)
    try #require(isMade == 0)
    defer { _ = unsafe unlink(path) }
    let error = #expect(throws: ReactorError.self) {
      try ProcessSurroundings.contents(of: path, limit: 10, patience: 0)
    }
    #expect(error?.reason == "it is a pipe into which nobody writes")
    // Whoever reads has it open, so that a writer may write and leave.
    let reader = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    let writer = unsafe open(path, O_WRONLY | O_CLOEXEC)
    let count = unsafe write(writer, [82, 83, 84] as [UInt8], 3)
    #expect(count == 3)
    close(writer)
    #expect(try ProcessSurroundings.contents(of: path, limit: 10) == [82, 83, 84])
    close(reader)
  }

  @Test func `a reader that went away is an error`() throws {
    ProcessSurroundings.ignoreWriteSignals()
    var ends: [Int32] = [0, 0]
    try #require(unsafe pipe(&ends) == 0)
    close(ends[0])
    let error = #expect(throws: ReactorError.self) {
      _ = try PipeEnd(descriptor: ends[1]).writeNow([1], count: 1)
    }
    #expect(error?.isWithoutReader == true)
    close(ends[1])
  }
}
