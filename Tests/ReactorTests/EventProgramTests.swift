import Foundation
import Glibc
import Primitives
import Reactor
import Testing

@Suite struct EventProgramTests {
  /// Words of a shell, which reads them before its own input, and the file that they write to. A
  /// script that has just been written may still be open in a child of another test.
  private static func words(_ text: String) throws -> (output: String, name: String) {
    let folder = NSTemporaryDirectory() + "event-program-\(UUID())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let name = folder + "/words"
    try Data("unset BASH_ENV\n(\(text)) > '\(folder)/output'\n".utf8)
      .write(to: URL(fileURLWithPath: name))
    return (folder + "/output", name)
  }

  private static func content(_ path: String) throws -> String {
    String(decoding: try ProcessSurroundings.contents(of: path, limit: 1000), as: UTF8.self)
  }

  private final class Complaints {
    var all: [String] = []
  }

  /// Starts `count` of them on a loop of this thread, and runs it until none is left.
  ///
  /// - Returns: How many ran at once at most, and what was complained of.
  private static func run(
    _ variables: [(name: String, value: String)], count: Int = 1,
    _ limits: EventProgram.Limits = EventProgram.Limits()
  ) throws -> (most: Int, complaints: [String]) {
    let loop = try EventLoop()
    let complaints = Complaints()
    let started = try EventProgram("/bin/bash", on: loop, limits) { complaints.all.append($0) }
    var most = 0
    var look: EventLoop.Token?
    var left = count
    look = try loop.addTimer { now in
      while left > 0 {
        left -= 1
        started.start(variables, without: "EARSHOT_")
        most = max(most, started.count)
      }
      if started.count == 0 { return loop.stop() }
      if let look { loop.setDeadline(look, now + .milliseconds(5)) }
    }
    if let look { loop.setDeadline(look, SystemClock.now) }
    loop.run()
    return (most, complaints.all)
  }

  @Test func `what happened stands in the environment as it was, and nothing reads it as words`()
    throws
  {
    let (output, name) = try Self.words(
      #"printf '%s|%s|%s|%s' "$#" "$EARSHOT_PEER" "$EARSHOT_OLD" "$(cat)""#)
    let peer = "$(touch /tmp/x); 'b'\n"
    unsafe setenv("EARSHOT_OLD", "ours", 1)
    let result = try Self.run([("EARSHOT_PEER", peer), ("BASH_ENV", name)])
    #expect(try Self.content(output) == "0|\(peer)||")
    #expect(result.complaints.isEmpty, "\(result)")
  }

  @Test func `signals that this process blocks end it`() throws {
    let (output, name) = try Self.words(#"exec sh -c 'kill -TERM $$; echo deaf'"#)
    _ = try Self.run([("BASH_ENV", name)])
    #expect(try Self.content(output).isEmpty)
  }

  @Test func `a program that hangs is ended, and so is what it has started`() throws {
    var limits = EventProgram.Limits()
    limits.longest = .milliseconds(100)
    limits.grace = .milliseconds(50)
    let (_, deaf) = try Self.words(#"trap '' TERM; sleep 1000; sleep 1000"#)
    let result = try Self.run([("BASH_ENV", deaf)], count: 1, limits)
    #expect(result.complaints.count == 1)
    #expect(result.complaints.first?.contains("is ended") == true, "\(result.complaints)")
  }

  @Test func `where as many run as may the oldest makes room for the newest`() throws {
    var limits = EventProgram.Limits()
    limits.most = 2
    limits.longest = .milliseconds(300)
    let (_, slow) = try Self.words("exec sleep 1000")
    let result = try Self.run([("BASH_ENV", slow)], count: 4, limits)
    #expect(result.most == 2)
    #expect(result.complaints.count { $0.contains("the oldest") } == 2, "\(result.complaints)")
    #expect(result.complaints.count == 4, "\(result.complaints)")
  }

  @Test func `a name is looked for along PATH, and what cannot be run is said at once`() throws {
    let loop = try EventLoop()
    let (_, name) = try Self.words("true")
    let found = try EventProgram("sh", on: loop) { _ in }
    #expect(found.path.hasPrefix("/") && found.path.hasSuffix("/sh") && found.count == 0)
    for wrong in [name, "/nowhere/hook", "/tmp", "no-such-program-of-earshot"] {
      #expect(throws: ReactorError.self, "\(wrong)") {
        try EventProgram(wrong, on: loop) { _ in }
      }
    }
  }
}
