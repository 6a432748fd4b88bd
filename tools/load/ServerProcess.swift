import Arguments
import Glibc
import Primitives

/// The server under measurement: a process of its own, pinned to one core.
final class ServerProcess {
  private(set) var pid: pid_t = 0
  let address: SocketAddress

  convenience init(_ program: String, data: String, core: Int) throws(UsageError) {
    try self.init(
      [
        program, "--listen", "127.0.0.1:0", "--data", data, "--json", "--limits", "measurement",
        "--log-level", "error",
      ], core: core)
  }

  /// A program that first says where it listens.
  init(_ command: [String], core: Int) throws(UsageError) {
    let program = command.first ?? ""
    var pipeEnds: [Int32] = [0, 0]
    guard unsafe pipe(&pipeEnds) == 0 else { throw UsageError("no pipe") }
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    unsafe posix_spawn_file_actions_adddup2(&actions, pipeEnds[1], 1)
    unsafe posix_spawn_file_actions_addclose(&actions, pipeEnds[0])
    let words = ["taskset", "-c", "\(core)"] + command
    let pid = unsafe Self.spawn(words, &actions)
    close(pipeEnds[1])
    guard let pid else { throw UsageError("cannot start \(program)") }
    self.pid = pid
    let line = Self.readLine(pipeEnds[0])
    guard let start = line.firstRange(of: "\"address\":\""),
      let address = SocketAddress(String(line[start.upperBound...].prefix { $0 != "\"" }))
    else { throw UsageError("\(program) did not say where it listens: '\(line)'") }
    self.address = address
  }

  static func pinSelf(core: Int) {
    let words = ["taskset", "-cp", "\(core)", "\(getpid())"]
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    unsafe posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    guard let pid = unsafe Self.spawn(words, &actions) else { return }
    var status: Int32 = 0
    unsafe waitpid(pid, &status, 0)
  }

  private static func spawn(
    _ words: [String], _ actions: UnsafeMutablePointer<posix_spawn_file_actions_t>
  ) -> pid_t? {
    var arguments: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) }
    unsafe arguments.append(nil)
    defer { unsafe arguments.forEach { unsafe free($0) } }
    var pid: pid_t = 0
    let result = unsafe posix_spawnp(&pid, "taskset", actions, nil, arguments, environ)
    return result == 0 ? pid : nil
  }

  private static func readLine(_ number: Int32) -> String {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while bytes.count < 4096, unsafe read(number, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Resident memory in bytes.
  var residentByteCount: Int {
    let text = Self.readFile("/proc/\(pid)/status")
    for line in text.split(separator: "\n") where line.hasPrefix("VmRSS:") {
      return (Int(line.filter(\.isNumber)) ?? 0) * 1024
    }
    return 0
  }

  /// Processor time used so far, in seconds.
  var processorSeconds: Double {
    let fields =
      Self.readFile("/proc/\(pid)/stat").split(separator: ")").last?
      .split(separator: " ") ?? []
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
      return 0
    }
    return (user + system) / 100
  }

  /// Processor time of this program so far, in seconds.
  static var ownProcessorSeconds: Double {
    var time = timespec()
    guard unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { return 0 }
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private static func readFile(_ path: String) -> String {
    let number = unsafe open(path, O_RDONLY)
    guard number >= 0 else { return "" }
    defer { close(number) }
    var bytes = [UInt8](repeating: 0, count: 8192)
    let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(number, $0.baseAddress, 8192) }
    return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
  }

  /// Tells it to stop; its exit code.
  func stop() -> Int32 {
    kill(pid, SIGTERM)
    var status: Int32 = 0
    unsafe waitpid(pid, &status, 0)
    return (status >> 8) & 0xFF
  }
}
