internal import CLinux
internal import Glibc
internal import Primitives

/// A program of the user's that is started when something happens. What it is about stands in its
/// environment, never in its arguments, and no shell reads any of it. Its input is empty, its
/// output goes nowhere, its errors go where ours go. One that hangs is ended: it must not keep
/// later ones from being started.
///
/// All of it is used on the loop's thread alone.
package final class EventProgram: @unchecked Sendable {
  package struct Limits: Sendable {
    /// So many run at once; where one more is to be started, the oldest is ended.
    package var most = 8
    /// How long one may run. A guess: time for a message over a slow network, and to try it again.
    package var longest = Duration.seconds(60)
    /// Between being asked to end (SIGTERM) and being ended (SIGKILL).
    package var grace = Duration.seconds(3)

    package init() {}
  }

  private final class Run {
    let process: pid_t
    /// Readable once it has ended.
    let end: FileDescriptor
    let began: Instant
    var watch: EventLoop.Token?
    var timer: EventLoop.Token?
    var isAsked = false

    init(_ process: pid_t, _ end: consuming FileDescriptor, began: Instant) {
      self.process = process
      self.end = end
      self.began = began
    }
  }

  /// Of the file, from the root or from where this program was started.
  package let path: String
  private let loop: EventLoop
  private let limits: Limits
  /// Told of each program that was ended, or could not be started.
  private let complain: (String) -> Void
  private var running: [Run] = []

  /// - Parameter name: A file, or a name that is looked for along `PATH`.
  /// - Throws: Where there is no such file, or it cannot be run.
  package init(
    _ name: String, on loop: EventLoop, _ limits: Limits = Limits(),
    complain: @escaping (String) -> Void
  ) throws(ReactorError) {
    path = try Self.find(name)
    (self.loop, self.limits, self.complain) = (loop, limits, complain)
  }

  /// How many run.
  package var count: Int { running.count }

  /// From any thread.
  ///
  /// - Parameter variables: Of the environment. It has all others of ours but those that begin with
  ///   `prefix`.
  package func start(
    _ variables: [(name: String, value: String)], without prefix: String
  ) {
    guard loop.isCurrent else {
      Task(executorPreference: loop) { self.start(variables, without: prefix) }
      return
    }
    if running.count >= limits.most, let oldest = running.first {
      complain(
        "\(path) runs \(limits.most) times: process \(oldest.process), the oldest, is ended."
      )
      end(oldest, SIGKILL)
      collect(oldest, waiting: true)
    }
    let names = variables.map { $0.name + "=" }
    let kept = Self.environment.filter { entry in
      !entry.hasPrefix(prefix) && !names.contains { entry.hasPrefix($0) }
    }
    do throws(ReactorError) {
      let process = try spawn(kept + variables.map { "\($0.name)=\($0.value)" })
      do throws(ReactorError) {
        try follow(process)
      } catch {
        // Nobody would see its end: then it is not to run.
        kill(-process, SIGKILL)
        waitpid(process, nil, 0)
        throw error
      }
    } catch {
      complain("\(error).")
    }
  }

  // MARK: - Its end

  private func follow(_ process: pid_t) throws(ReactorError) {
    let number = try earshot_process_open(process).orThrow("watch", "process \(process)")
    let run = Run(process, FileDescriptor(owning: number), began: SystemClock.now)
    let timer = try loop.addTimer { [weak self] _ in self?.handleTimeout(run) }
    run.timer = timer
    do throws(ReactorError) {
      run.watch = try loop.watch(number, for: .readable) { [weak self] _ in
        self?.collect(run, waiting: false)
      }
    } catch {
      loop.removeTimer(timer)
      throw error
    }
    loop.setDeadline(timer, run.began + limits.longest)
    running.append(run)
  }

  private func handleTimeout(_ run: Run) {
    if run.isAsked { return end(run, SIGKILL) }
    run.isAsked = true
    complain(
      "\(path) (process \(run.process)) ran for \(limits.longest.milliseconds / 1000) s, "
        + "and is ended.")
    end(run, SIGTERM)
    if let timer = run.timer { loop.setDeadline(timer, SystemClock.now + limits.grace) }
  }

  /// It leads a group of its own, in which all are that it has started.
  private func end(_ run: Run, _ signal: Int32) { kill(-run.process, signal) }

  private func collect(_ run: Run, waiting: Bool) {
    // Where it was ended, so are those that it has started. Its group has its number until then.
    if run.isAsked { end(run, SIGKILL) }
    guard waitpid(run.process, nil, waiting ? 0 : WNOHANG) != 0 else { return }
    if let watch = run.watch { loop.unwatch(watch) }
    if let timer = run.timer { loop.removeTimer(timer) }
    running.removeAll { $0 === run }
  }

  // MARK: - Its begin

  private static func find(_ name: String) throws(ReactorError) -> String {
    if name.contains("/") {
      let reason = refusal(name)
      guard reason == 0 else { throw ReactorError("run", name, errno: reason) }
      return name
    }
    let places = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? usualPlaces
    var reason = ENOENT
    for place in places.split(separator: ":") {
      let found = refusal("\(place)/\(name)")
      if found == 0 { return "\(place)/\(name)" }
      if found != ENOENT, found != ENOTDIR { reason = found }
    }
    guard reason == ENOENT else { throw ReactorError("run", name, errno: reason) }
    throw ReactorError("run", name, errno: ENOENT, reason: "no folder of PATH has such a program")
  }

  /// Why it cannot be run: an errno, or 0.
  private static func refusal(_ path: String) -> Int32 {
    guard unsafe access(path, X_OK) == 0 else { return errno }
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return errno }
    return status.st_mode & S_IFMT == S_IFREG ? 0 : EACCES
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
    unsafe posix_spawnattr_setpgroup(&attributes, 0)
    unsafe posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
    for number in 0...1 as ClosedRange<Int32> {
      unsafe posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
    }
    var words = unsafe [strdup(path), nil]
    var entries = unsafe environment.map { unsafe strdup($0) } + [nil]
    defer {
      unsafe (words + entries).forEach { unsafe free($0) }
    }
    var child = pid_t()
    let result = unsafe posix_spawn(&child, path, &actions, &attributes, &words, &entries)
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

  /// As `execvp` has it where `PATH` is not set.
  private static let usualPlaces = "/bin:/usr/bin"
}
