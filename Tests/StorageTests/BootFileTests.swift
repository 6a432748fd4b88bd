import Foundation
import Testing

@testable import Storage

/// How often a relay was started.
struct BootFileTests {
  @Test func `each start counts one more, also after a file that is none of ours`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "earshot-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "boots").path
    let counts = try (0..<3).map { _ in try BootFile.count(at: path, first: 70) }
    #expect(counts == [70, 71, 72])
    try Data("what".utf8).write(to: URL(filePath: path))
    #expect(try BootFile.count(at: path, first: 90) == 90)
  }
}
