import Glibc
import Testing

/// The program itself, on the loopback address: starts, says where it listens, stops.
@Suite(.serialized) struct ProgramTests {
  @Test(.enabled(if: Program.exists, "earshot-rendezvous is not built"))
  func `says where it listens, and stops within a second of SIGTERM`() throws {
    let scratch = "/tmp/earshot-program-\(getpid())"
    defer { Program.remove(scratch) }
    let program = try #require(
      Program(["--listen", "127.0.0.1:0", "--data", scratch, "--json"]))
    let line = program.readLine()
    #expect(line.hasPrefix("{\"type\":\"listening\",\"address\":\"127.0.0.1:"))
    #expect(line.contains("\",\"identity\":\""))
    let (code, seconds) = program.stop(SIGTERM)
    #expect(code == 0)
    #expect(seconds < 1)
    let again = try #require(
      Program(["--listen", "127.0.0.1:0", "--data", scratch, "--json"]))
    // The same identity, from the file.
    #expect(again.readLine().suffix(56) == line.suffix(56))
    #expect(again.stop(SIGINT).code == 0)
  }

  @Test(.enabled(if: Program.exists, "earshot-rendezvous is not built"))
  func `outlives the signals that ask a service for something else than its end`() throws {
    let scratch = "/tmp/earshot-program-signals-\(getpid())"
    defer { Program.remove(scratch) }
    let program = try #require(
      Program(["--listen", "127.0.0.1:0", "--data", scratch, "--json"]))
    #expect(program.readLine().contains("listening"))
    for number in [SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ] { program.signal(number) }
    let (code, seconds) = program.stop(SIGTERM)
    #expect(code == 0 && seconds < 1)
  }

  @Test(
    .enabled(if: Program.exists, "earshot-rendezvous is not built"),
    arguments: [
      ["backup"], ["restore", "f", "g"], ["--turn", "turn:h"], ["--turn-secret=f"],
      ["--turn", "http://h", "--turn-secret", "f"],
      ["--redis", "u"],
      ["--config"], ["--relay-key"], ["--drain", "601"],
      ["serve"],
    ])
  func `what is not there yet is refused, and a relay without its secret`(words: [String]) throws {
    #expect(try #require(Program(words)).wait() == 2)
  }

  @Test(.enabled(if: Program.exists, "earshot-rendezvous is not built"))
  func `lists and frees names while no server runs, and says so while one does`() throws {
    let scratch = "/tmp/earshot-program-names-\(getpid())"
    defer { Program.remove(scratch) }
    let missing = try #require(Program(["names", "list", "--data", scratch]))
    #expect(missing.wait() == 8)
    let server = try #require(Program(["--listen", "127.0.0.1:0", "--data", scratch]))
    #expect(server.readLine().hasPrefix("listening"))
    #expect(try #require(Program(["names", "list", "--data", scratch])).wait() == 8)
    #expect(server.stop(SIGTERM).code == 0)
    let list = try #require(Program(["names", "export", "--data", scratch]))
    #expect(list.readLine() == "" && list.wait() == 0)
    #expect(try #require(Program(["names", "free", "bob", "--data", scratch])).wait() == 1)
    #expect(try #require(Program(["names", "free", "no name", "--data", scratch])).wait() == 2)
    #expect(try #require(Program(["names", "lose", "--data", scratch])).wait() == 2)
  }

  @Test(.enabled(if: Program.exists, "earshot-rendezvous is not built"))
  func `is backed up while it runs, and restored`() throws {
    let scratch = "/tmp/earshot-program-backup-\(getpid())"
    let (file, other) = (scratch + ".file", scratch + "-2")
    defer {
      Program.remove(scratch)
      Program.remove(other)
      _ = unsafe unlink(file)
    }
    let server = try #require(Program(["--listen", "127.0.0.1:0", "--data", scratch, "--json"]))
    let line = server.readLine()
    #expect(try #require(Program(["backup", file, "--data", scratch])).wait() == 0)
    #expect(try #require(Program(["backup", file, "--data", scratch])).wait() == 8)
    #expect(server.stop(SIGTERM).code == 0)
    #expect(try #require(Program(["restore", file, "--data", other])).wait() == 0)
    let again = try #require(Program(["--listen", "127.0.0.1:0", "--data", other, "--json"]))
    #expect(again.readLine().suffix(56) == line.suffix(56), "the same identity")
    #expect(again.stop(SIGTERM).code == 0)
  }

  @Test(.enabled(if: Program.exists, "earshot-rendezvous is not built"))
  func `ends with the code of the contract when it cannot start`() throws {
    let scratch = "/tmp/earshot-program-codes-\(getpid())"
    defer { Program.remove(scratch) }
    let usage = try #require(Program(["--listen", "nowhere:at:all"]))
    #expect(usage.wait() == 2)
    let unknown = try #require(Program(["--lisen", "x"]))
    #expect(unknown.wait() == 2)
    let unwritable = try #require(Program(["--listen", "127.0.0.1:0", "--data", "/proc/none"]))
    #expect(unwritable.wait() == 8)
    let holder = try #require(
      Program(["--listen", "127.0.0.1:0", "--data", scratch, "--json"]))
    let address = holder.readLine().split(separator: "\"").first { $0.hasPrefix("127.") } ?? ""
    let taken = try #require(
      Program(["--listen", String(address), "--data", scratch + "-2"]))
    #expect(taken.wait() == 1)
    Program.remove(scratch + "-2")
    #expect(holder.stop(SIGTERM).code == 0)
    let help = try #require(Program(["--help"]))
    #expect(help.readLine().hasPrefix("usage: earshot-rendezvous"))
    #expect(help.wait() == 0)
  }
}

/// A child process with its standard output in a pipe and its standard error thrown away.
private final class Program {
  private var pid: pid_t = 0
  private var output: Int32 = -1

  /// Beside the tests, where the build put it.
  static let path: String = {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = unsafe buffer.withUnsafeMutableBufferPointer { room in
      unsafe room.baseAddress.map { unsafe readlink("/proc/self/exe", $0, 4095) } ?? 0
    }
    let own = String(
      decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let directory = own.lastIndex(of: "/").map { String(own[..<$0]) } ?? "."
    return directory + "/earshot-rendezvous"
  }()

  static var exists: Bool { unsafe access(path, X_OK) == 0 }

  init?(_ arguments: [String]) {
    var ends: [Int32] = [0, 0]
    guard unsafe pipe(&ends) == 0 else { return nil }
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    unsafe posix_spawn_file_actions_addclose(&actions, ends[0])
    var words = unsafe ([Self.path] + arguments).map { unsafe strdup($0) }
    unsafe words.append(nil)
    let result = unsafe posix_spawn(&pid, Self.path, &actions, nil, words, environ)
    unsafe words.forEach { unsafe free($0) }
    close(ends[1])
    output = ends[0]
    if result != 0 { return nil }
  }

  deinit {
    close(output)
    if pid > 0 { kill(pid, SIGKILL) }
  }

  func readLine() -> String {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while bytes.count < 4096, unsafe read(output, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  func wait() -> Int32 {
    var status: Int32 = 0
    unsafe waitpid(pid, &status, 0)
    pid = 0
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
  }

  func signal(_ number: Int32) { kill(pid, number) }

  func stop(_ signal: Int32) -> (code: Int32, seconds: Double) {
    let start = ContinuousClock.now
    kill(pid, signal)
    let code = wait()
    let duration = start.duration(to: .now)
    return (
      code,
      Double(duration.components.attoseconds) / 1e18
        + Double(duration.components.seconds)
    )
  }

  static func remove(_ directory: String) {
    for name in ["identity", "registrations.db", "registrations.db-wal", "registrations.db-shm"] {
      _ = unsafe unlink("\(directory)/\(name)")
    }
    _ = unsafe rmdir(directory)
  }
}
