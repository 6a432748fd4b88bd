import CLinux
import Foundation
import Testing

/// Where a file system has no hard links a file gets its name by this.
struct RenameTests {
  @Test func `nothing is renamed over what is there`() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("earshot-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for name in ["part", "there"] {
      try Data(name.utf8).write(to: folder.appendingPathComponent(name))
    }
    let number = unsafe open(folder.path, O_RDONLY | O_DIRECTORY)
    defer { close(number) }
    #expect(unsafe earshot_rename_new(number, "part", "there") == -EEXIST)
    #expect(
      try String(contentsOf: folder.appendingPathComponent("there"), encoding: .utf8) == "there")
    #expect(unsafe earshot_rename_new(number, "part", "new") == 0)
    #expect(try String(contentsOf: folder.appendingPathComponent("new"), encoding: .utf8) == "part")
  }
}
