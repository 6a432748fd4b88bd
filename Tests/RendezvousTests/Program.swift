import Glibc

/// A program as a child process with one of its outputs in a pipe and the other thrown away.
final class Program {
  static let rendezvous = "earshot-rendezvous", relay = "earshot-relay", peer = "earshot"

  private var pid: pid_t = 0
  private var output: Int32 = -1

  /// Beside the tests, where the build put them.
  private static let folder: String = {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = unsafe buffer.withUnsafeMutableBufferPointer { room in
      unsafe room.baseAddress.map { unsafe readlink("/proc/self/exe", $0, 4095) } ?? 0
    }
    let own = String(
      decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return own.lastIndex(of: "/").map { String(own[..<$0]) } ?? "."
  }()

  static var exists: Bool { areThere(rendezvous, relay) }

  static func areThere(_ names: String...) -> Bool {
    names.allSatisfy { unsafe access("\(folder)/\($0)", X_OK) == 0 }
  }

  /// - Parameters:
  ///   - stream: 1 to read standard output, 2 to read standard error.
  ///   - isCut: Its standard input is closed.
  init?(
    _ arguments: [String], of name: String = Program.rendezvous, reading stream: Int32 = 1,
    isCut: Bool = false
  ) {
    let path = "\(Self.folder)/\(name)"
    var ends: [Int32] = [0, 0]
    guard unsafe pipe(&ends) == 0 else { return nil }
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], stream)
    unsafe posix_spawn_file_actions_addopen(&actions, 3 - stream, "/dev/null", O_WRONLY, 0)
    unsafe posix_spawn_file_actions_addclose(&actions, ends[0])
    if isCut { unsafe posix_spawn_file_actions_addclose(&actions, 0) }
    var words = unsafe ([path] + arguments).map { unsafe strdup($0) }
    unsafe words.append(nil)
    let result = unsafe posix_spawn(&pid, path, &actions, nil, words, environ)
    unsafe words.forEach { unsafe free($0) }
    close(ends[1])
    output = ends[0]
    if result != 0 { return nil }
  }

  deinit {
    close(output)
    if pid > 0 { kill(pid, SIGKILL) }
  }

  /// What one of its descriptors leads to; empty where it has none of the number.
  func target(of number: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 256)
    let path = "/proc/\(pid)/fd/\(number)"
    let count = unsafe buffer.withUnsafeMutableBufferPointer { room in
      unsafe room.baseAddress.map { unsafe readlink(path, $0, 255) } ?? 0
    }
    return String(
      decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  func readLine() -> String {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while bytes.count < 4096, unsafe read(output, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Reads on until a line has the words in it.
  ///
  /// - Returns: That line; `nil` if it ends without.
  func readLine(with words: String) -> String? { readLine { $0.contains(words) } }

  func readLine(where isMeant: (String) -> Bool) -> String? {
    while true {
      let line = readLine()
      if line.isEmpty || isMeant(line) { return line.isEmpty ? nil : line }
    }
  }

  /// All that it says until its end, and its exit code.
  func finish() -> (said: String, code: Int32) {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while unsafe read(output, &byte, 1) == 1 { bytes.append(byte) }
    return (String(decoding: bytes, as: UTF8.self), wait())
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
    let database = "registrations.db"
    for name in ["identity", "boots", database, database + "-wal", database + "-shm"] {
      _ = unsafe unlink("\(directory)/\(name)")
    }
    _ = unsafe rmdir(directory)
  }
}
