import Foundation
import Reactor
import Testing

@Suite struct FileLockTests {
  @Test func `who reads, adds and writes under the lock takes nobody's line away`() async throws {
    let path = NSTemporaryDirectory() + "file-lock-\(UUID())"
    try await withThrowingTaskGroup { group in
      for number in 0..<60 {
        group.addTask {
          let lock = try FileLock(path)
          defer { withExtendedLifetime(lock) {} }
          let there = ProcessSurroundings.isThere(path)
          let old = there ? try ProcessSurroundings.contents(of: path, limit: 10_000) : []
          let text = String(decoding: old, as: UTF8.self) + "\(number)\n"
          try OutputFile(try PendingFile(path, overwrites: true)).write(text)
        }
      }
      try await group.waitForAll()
    }
    let bytes = try ProcessSurroundings.contents(of: path, limit: 10_000)
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    #expect(Set(lines) == Set((0..<60).map { Substring("\($0)") }) && lines.count == 60)
  }

  @Test func `who has it for too long is named`() throws {
    let path = NSTemporaryDirectory() + "file-lock-\(UUID())"
    let lock = try FileLock(path)
    let error = #expect(throws: ReactorError.self) {
      try FileLock(path, within: .milliseconds(20))
    }
    let own = ProcessInfo.processInfo.processIdentifier
    #expect(error?.reason.contains("process \(own) has had it") == true)
    withExtendedLifetime(lock) {}
  }

  @Test func `a folder that is not there is said`() {
    #expect(throws: ReactorError.self) { try FileLock("/nowhere/file") }
  }
}
