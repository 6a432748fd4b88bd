import Foundation
import Glibc
import Reactor
import Testing

@Suite struct EventProgramTests {
  /// A pipe with a name, and words of a shell that write into it. The shell reads them before its
  /// own input: a script that has just been written may still be open in a child of another test.
  private static func words(_ text: String) throws -> (pipe: String, name: String) {
    let folder = NSTemporaryDirectory() + "event-program-\(UUID())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let pipe = folder + "/pipe"
    try #require(unsafe mkfifo(pipe, 0o600) == 0)
    let name = folder + "/words"
    try Data("\(text) > '\(pipe)'\n".utf8).write(to: URL(fileURLWithPath: name))
    return (pipe, name)
  }

  @Test func `what happened stands in the environment as it was, and nothing reads it as words`()
    throws
  {
    let (pipe, name) = try Self.words(#"printf '%s|%s|%s' "$#" "$EARSHOT_PEER" "$(cat)""#)
    let peer = "$(touch /tmp/x); 'b'\n"
    try EventProgram("/bin/bash").start([("EARSHOT_PEER", peer), ("BASH_ENV", name)])
    let told = try ProcessSurroundings.contents(of: pipe, limit: 1000)
    #expect(String(decoding: told, as: UTF8.self) == "0|\(peer)|")
  }

  @Test func `signals that this process blocks end it, and no more than eight run`() throws {
    let (pipe, name) = try Self.words(#"(exec sh -c 'kill -TERM $$; echo deaf')"#)
    let program = try EventProgram("bash")
    try program.start([("BASH_ENV", name)])
    #expect(try ProcessSurroundings.contents(of: pipe, limit: 100).isEmpty)
    let (gate, slow) = try Self.words("echo")
    let others = try EventProgram("/bin/bash")
    // Each waits until somebody reads.
    for _ in 0..<EventProgram.most { try others.start([("BASH_ENV", slow)]) }
    #expect(throws: ReactorError.self) { try others.start([]) }
    var lines = 0
    while lines < EventProgram.most {
      lines += try ProcessSurroundings.contents(of: gate, limit: 100).count
    }
  }

  @Test func `what cannot be run is said at once`() throws {
    let (_, name) = try Self.words("true")
    #expect(throws: ReactorError.self) { try EventProgram(name) }
    #expect(throws: ReactorError.self) { try EventProgram("/nowhere/hook") }
  }
}
