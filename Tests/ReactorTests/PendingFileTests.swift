import Foundation
import Primitives
import Testing

@testable import Reactor

/// Files that are worth nothing until there is something in them.
struct PendingFileTests {
  private let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "pending-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  private func path(_ name: String) -> String { folder.path + "/" + name }

  private var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
  }

  private func text(_ name: String) throws -> String {
    try String(contentsOfFile: path(name), encoding: .utf8)
  }

  @Test func `a file is there with its first content, and its owner's alone`() throws {
    let file = try OutputFile(PendingFile(path("a"), overwrites: false))
    #expect(!(try names).contains("a"))
    try file.write("one\n")
    #expect(try names == ["a"])
    try file.write("two\n")
    #expect(try text("a") == "one\ntwo\n")
    let mode = try FileManager.default.attributesOfItem(atPath: path("a"))[.posixPermissions]
    #expect(mode as? Int == 0o600)
  }

  @Test func `what stayed empty leaves nothing behind`() throws {
    do {
      let file = try OutputFile(PendingFile(path("a"), overwrites: false))
      try file.write("")
    }
    #expect(try names.isEmpty)
  }

  @Test func `a file that is there is refused, and replaced only when that is wanted`() throws {
    try Data("old".utf8).write(to: URL(fileURLWithPath: path("a")))
    let error = #expect(throws: ReactorError.self) { try PendingFile(path("a"), overwrites: false) }
    #expect(error?.isAlreadyThere == true)
    #expect(try names == ["a"])
    do {
      // Nothing came: what was there stays.
      _ = try PendingFile(path("a"), overwrites: true)
    }
    #expect(try text("a") == "old" && names == ["a"])
    try OutputFile(PendingFile(path("a"), overwrites: true)).write("new")
    #expect(try text("a") == "new" && names == ["a"])
  }

  @Test func `a pipe without a reader is refused, and waited for only a little`() throws {
    #expect(unsafe mkfifo(path("pipe"), 0o600) == 0)
    let error = #expect(throws: ReactorError.self) {
      try PendingFile(path("pipe"), overwrites: false)
    }
    #expect(error?.errno == ENXIO)
    let reader = unsafe open(path("pipe"), O_RDONLY | O_NONBLOCK)
    defer { close(reader) }
    try OutputFile(PendingFile(path("pipe"), overwrites: false)).write("one")
    var bytes = [UInt8](repeating: 0, count: 8)
    let count = unsafe read(reader, &bytes, bytes.count)
    #expect(Array(bytes.prefix(count)) == Array("one".utf8))
  }

  @Test func `a link is followed, and the file behind it replaced`() throws {
    try Data("old".utf8).write(to: URL(fileURLWithPath: path("a")))
    try FileManager.default.createSymbolicLink(atPath: path("link"), withDestinationPath: "a")
    #expect(throws: ReactorError.self) { try PendingFile(path("link"), overwrites: false) }
    try OutputFile(PendingFile(path("link"), overwrites: true)).write("new")
    #expect(try text("a") == "new")
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path("link")) == "a")
    try FileManager.default.createSymbolicLink(atPath: path("lost"), withDestinationPath: "none")
    #expect(throws: ReactorError.self) { try PendingFile(path("lost"), overwrites: false) }
  }

  @Test func `a place that was taken meanwhile is left alone, and nothing is lost`() throws {
    let pending = try PendingFile(path("a"), overwrites: false)
    let file = try OutputFile(pending)
    try Data("other".utf8).write(to: URL(fileURLWithPath: path("a")))
    let error = #expect(throws: ReactorError.self) { try file.write("mine") }
    #expect(try text("a") == "other")
    let kept = try #require(try names.first { $0 != "a" })
    #expect(try text(kept) == "mine")
    #expect(error?.reason.contains(kept) == true)
  }

  @Test func `devices and pipes are written in place, folders refused`() throws {
    try OutputFile(PendingFile("/dev/null", overwrites: false)).write("x")
    #expect(throws: ReactorError.self) { try PendingFile(folder.path, overwrites: true) }
    #expect(throws: ReactorError.self) { try PendingFile(path("no/a"), overwrites: false) }
    let made = unsafe mkfifo(path("pipe"), 0o600)
    let reader = unsafe open(path("pipe"), O_RDONLY | O_NONBLOCK)
    #expect(made == 0 && reader >= 0)
    try OutputFile(PendingFile(path("pipe"), overwrites: false)).write("hello")
    var room = [UInt8](repeating: 0, count: 16)
    let count = unsafe read(reader, &room, room.count)
    #expect(count == 5)
    close(reader)
    #expect(try names == ["pipe"])
  }

  /// Goal: a pager that waits for a key holds up nobody's signals for long.
  @Test func `a reader that takes nothing is given up, and has the rest when it does`() async throws
  {
    #expect(unsafe mkfifo(path("pipe"), 0o600) == 0)
    let reader = unsafe open(path("pipe"), O_RDONLY | O_NONBLOCK)
    defer { close(reader) }
    let file = try OutputFile(PendingFile(path("pipe"), overwrites: false))
    let result = await BlockingWork.run(named: "writer") { () -> (String, Duration) in
      let began = SystemClock.now
      do throws(ReactorError) {
        try file.write([UInt8](repeating: 1, count: 200_000))
        return ("", SystemClock.now - began)
      } catch {
        return (error.reason, SystemClock.now - began)
      }
    }
    let (reason, wait) = try #require(result)
    #expect(reason == "its reader takes nothing")
    #expect(wait >= OutputFile.patience && wait < OutputFile.patience + .seconds(3))
    let later = SystemClock.now
    #expect(throws: ReactorError.self) { try file.write("x") }
    #expect(SystemClock.now - later < .seconds(1), "waited for once")
    var room = [UInt8](repeating: 0, count: 1 << 20)
    #expect(unsafe read(reader, &room, room.count) > 60_000)
    try file.write("again")
    #expect(unsafe read(reader, &room, room.count) == 5)
  }

  /// Where there are no hard links a file gets its name so.
  @Test func `nothing that is there is renamed over`() throws {
    for name in ["a", "there"] {
      try Data(name.utf8).write(to: URL(fileURLWithPath: path(name)))
    }
    #expect(PendingFile.renameNew(path("a"), path("there")) == EEXIST)
    #expect(try text("there") == "there" && names == ["a", "there"])
    #expect(PendingFile.renameNew(path("a"), path("b")) == 0)
    #expect(try text("b") == "a" && names == ["b", "there"])
  }

  @Test func `one file has one mark, whatever it is called`() throws {
    try Data("x".utf8).write(to: URL(fileURLWithPath: path("a")))
    try FileManager.default.createSymbolicLink(atPath: path("s"), withDestinationPath: "a")
    try FileManager.default.linkItem(atPath: path("a"), toPath: path("h"))
    try FileManager.default.createSymbolicLink(atPath: path("lost"), withDestinationPath: "none")
    let mark = try #require(FileMark(path: path("a")))
    for name in ["s", "h", "./a", "../\(folder.lastPathComponent)/a"] {
      #expect(FileMark(path: path(name)) == mark)
    }
    #expect(FileMark(path: path("b")) != mark && FileMark(path: path("b")) != nil)
    #expect(FileMark(path: path("./b")) == FileMark(path: path("b")))
    #expect(FileMark(path: path("lost")) == FileMark(path: path("none")))
    #expect(FileMark(path: "/dev/null") == nil)
    #expect(FileMark(path: path("no/a")) == nil)
  }
}
