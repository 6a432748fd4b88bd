import Glibc

/// A redis-server of one test's own, on a free port of the loopback address.
final class RedisServer {
  private(set) var port: UInt16 = 0
  private var process: pid_t = 0
  private var output: Int32 = -1
  private let scratch: String
  private let more: [String]

  static let path = "/usr/bin/redis-server"
  static var exists: Bool { unsafe access(path, X_OK) == 0 }

  /// Starts it, and waits until it takes connections; `nil` when it does not.
  ///
  /// - Parameter more: Options.
  init?(_ more: [String] = []) {
    self.more = more
    var template = Array("/tmp/earshot-redis-XXXXXX".utf8CString)
    let isMade = unsafe template.withUnsafeMutableBufferPointer { buffer in
      unsafe buffer.baseAddress.map { unsafe mkdtemp($0) != nil } ?? false
    }
    scratch = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard isMade, (0..<Self.attempts).contains(where: { _ in isStarted() }) else { return nil }
  }

  /// A port that was free a moment ago may be another's before the server has it.
  private static let attempts = 8

  deinit {
    kill()
    for name in ["appendonly.aof", "dump.rdb"] { _ = unsafe unlink("\(scratch)/\(name)") }
    _ = unsafe rmdir(scratch)
  }

  /// As by `kill -9`.
  func kill() {
    if output >= 0 { close(output) }
    output = -1
    guard process > 0 else { return }
    _ = Glibc.kill(process, SIGKILL)
    var status: Int32 = 0
    unsafe waitpid(process, &status, 0)
    process = 0
  }

  private func isStarted() -> Bool {
    guard let port = Self.freePort() else { return false }
    if start(at: port) { return true }
    kill()
    return false
  }

  private func start(at port: UInt16) -> Bool {
    self.port = port
    var ends: [Int32] = [0, 0]
    guard unsafe pipe(&ends) == 0 else { return false }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    unsafe posix_spawn_file_actions_addclose(&actions, ends[0])
    let options = [
      Self.path, "--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--dir", scratch,
      "--logfile", "",
    ]
    var words = unsafe (options + more).map { unsafe strdup($0) }
    unsafe words.append(nil)
    let result = unsafe posix_spawn(&process, Self.path, &actions, nil, words, environ)
    unsafe words.forEach { unsafe free($0) }
    close(ends[1])
    output = ends[0]
    return result == 0 && isReady()
  }

  /// Reads its log until it says that it is ready; `false` at the log's end.
  private func isReady() -> Bool {
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while unsafe read(output, &byte, 1) == 1 {
      line.append(byte)
      guard byte == UInt8(ascii: "\n") else { continue }
      if String(decoding: line, as: UTF8.self).contains("eady to accept connections") {
        return true
      }
      line = []
    }
    return false
  }

  private static func freePort() -> UInt16? {
    let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard number >= 0 else { return nil }
    defer { close(number) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe bind(number, pointer, length) == 0 && getsockname(number, pointer, &length) == 0
      }
    }
    return isBound ? UInt16(bigEndian: address.sin_port) : nil
  }
}
