internal import Glibc

/// A program of the user's that is started when something happens. What it is about stands in its
/// environment, never in its arguments, and no shell reads any of it. Nobody waits for it: its
/// input is empty, its output goes nowhere, its errors go where ours go.
package final class EventProgram {
  /// So many run at once; further starts are left out until one has ended.
  package static let most = 8

  private let path: String
  private var running: [pid_t] = []

  /// - Parameter path: A file, or a name that is looked for along `PATH`.
  /// - Throws: Where the file cannot be run.
  package init(_ path: String) throws(ReactorError) {
    self.path = path
    guard path.contains("/") else { return }
    guard unsafe access(path, X_OK) == 0 else { throw ReactorError("run", path, errno: errno) }
  }

  /// - Throws: `EAGAIN` while `most` run, and what the kernel says.
  package func start(_ variables: [(name: String, value: String)]) throws(ReactorError) {
    running.removeAll { waitpid($0, nil, WNOHANG) != 0 }
    guard running.count < Self.most else { throw ReactorError("run", path, errno: EAGAIN) }
    let added = variables.map { "\($0.name)=\($0.value)" }
    let names = variables.map { $0.name + "=" }
    let kept = Self.environment.filter { entry in !names.contains { entry.hasPrefix($0) } }
    running.append(try spawn(kept + added))
  }

  private func spawn(_ environment: [String]) throws(ReactorError) -> pid_t {
    var attributes = posix_spawnattr_t()
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawnattr_init(&attributes)
    unsafe posix_spawn_file_actions_init(&actions)
    defer {
      unsafe posix_spawnattr_destroy(&attributes)
      unsafe posix_spawn_file_actions_destroy(&actions)
    }
    // This process blocks the signals that it waits for, and ignores that of a broken pipe.
    var (none, all) = (sigset_t(), sigset_t())
    unsafe sigemptyset(&none)
    unsafe sigfillset(&all)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setsigdefault(&attributes, &all)
    unsafe posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    for number in 0...1 as ClosedRange<Int32> {
      unsafe posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
    }
    var words = unsafe [strdup(path), nil]
    var entries = unsafe environment.map { unsafe strdup($0) } + [nil]
    defer {
      unsafe (words + entries).forEach { unsafe free($0) }
    }
    var child = pid_t()
    let result = unsafe posix_spawnp(&child, path, &actions, &attributes, &words, &entries)
    guard result == 0 else { throw ReactorError("run", path, errno: result) }
    return child
  }

  private static var environment: [String] {
    var entries: [String] = []
    var next = unsafe environ
    while let entry = unsafe next.pointee {
      entries.append(unsafe String(cString: entry))
      unsafe next += 1
    }
    return entries
  }
}
