internal import CLinux
internal import Glibc
package import Primitives
internal import Synchronization

/// One thread that waits for the kernel: sockets, one timer, and jobs handed to it.
///
/// It is an executor, so an actor can live on it and share its thread with the sockets. Everything
/// but `enqueue`, `stop`, `join`, `isCurrent` and the measurements is for the loop's own thread, or
/// for whoever builds the loop before it starts; the loop checks that. A turn takes what is ready
/// (at most 64 sources), fires what is due, runs the jobs that were waiting, and then sleeps.
///
/// While it sleeps, `lend` runs a source's closure on another thread, as if that were the loop's:
/// to wake the loop instead would cost a switch of threads.
@safe package final class EventLoop: @unchecked Sendable {
  // Sendable: `inbox` and the atomics are for all threads, everything else is for the thread that
  // holds `isAwake`.

  package struct Options: Sendable {
    package var name = "earshot-loop"
    /// Ask for `SCHED_FIFO`; without the permission the loop runs all the same. A loop that uses
    /// its core for long is ordinary for a second (`RealTimeBudget`).
    package var wantsRealTime = false

    package init() {}
  }

  /// A source or timer of one loop, until it is removed; afterwards it names nothing.
  package struct Token: Hashable, Sendable {
    let index: UInt32
    let generation: UInt32
  }

  package static let sourceLimit = 1024
  package static let timerLimit = 1024

  let inbox = Guarded(Inbox())
  /// The mark of the thread that runs the loop, or that it is lent to; 0 when none does.
  let owner = Atomic<UInt>(0)
  /// Held by the loop but while it sleeps, and by the thread that it is lent to.
  private let isAwake = Mutex(())
  private let key = LockKey.next()
  private let options: Options
  private let poll: FileDescriptor
  private let wakeUp: FileDescriptor
  private let alarm: FileDescriptor
  private var sources: [Slot<Source>] = []
  private var timers: [Slot<Timer>] = []
  private var ready = [earshot_readiness](
    repeating: earshot_readiness(), count: Int(earshot_batch_limit))
  private var jobs: [UnownedJob] = []
  /// When the kernel's timer will fire; lazily moved: never later than the least deadline.
  private var armed: Instant?
  private var turnEnd = Instant.zero
  private let longestTurn = Atomic<UInt64>(0)
  private let turns = Atomic<UInt64>(0)
  private let gotRealTime = Atomic<Bool>(false)
  private var budget: RealTimeBudget?

  package init(_ options: Options = Options()) throws(ReactorError) {
    self.options = options
    poll = FileDescriptor(owning: try earshot_poll_open().orThrow("open", "epoll"))
    wakeUp = FileDescriptor(owning: try earshot_wake_open().orThrow("open", "eventfd"))
    alarm = FileDescriptor(owning: try earshot_timer_open().orThrow("open", "timerfd"))
    // Edge-triggered, so that neither needs to be read: a new write, a new expiry is a new edge.
    for (fd, token) in [(wakeUp.number, Self.wakeUpToken), (alarm.number, Self.alarmToken)] {
      _ = try earshot_poll_add(poll.number, fd, UInt32(earshot_readable), 1, token)
        .orThrow("watch", "the loop's own events")
    }
  }

  /// Runs the loop on a thread of its own until `stop`.
  package func start() throws(ReactorError) {
    let loop = self
    var thread: JoinableThread? = try startThread(named: options.name) { loop.run() }
    inbox.withLock { $0.thread = thread.take() }
  }

  /// Runs the loop on the calling thread until `stop`.
  package func run() {
    inbox.withLock { inbox in
      precondition(inbox.phase == .idle, "an event loop runs once")
      inbox.phase = .running
    }
    owner.store(currentThreadMark(), ordering: .releasing)
    earshot_thread_sharpen_timers()
    if options.wantsRealTime, earshot_thread_go_real_time(Self.realTimePriority) == 0 {
      gotRealTime.store(true, ordering: .relaxed)
      budget = RealTimeBudget(now: SystemClock.now, used: earshot_thread_cpu_ns())
    }
    while let count = sleep() { awake { turn(count) } }
    awake {
      // The closures own what owns the loop; letting them go breaks the circles.
      sources.removeAll()
      timers.removeAll()
      owner.store(0, ordering: .releasing)
    }
    inbox.withLock { $0.phase = .ended }
    drainAfterEnd()
  }

  /// Ends the loop after the turn under way. Sources and timers are let go; jobs are still run.
  package func stop() {
    inbox.withLock { $0.isStopping = true }
    wake()
  }

  /// Waits until a loop that was started, and told to stop, has ended. Not from the loop itself.
  package func join() {
    precondition(!isCurrent, "the loop cannot wait for itself")
    inbox.withLock { $0.thread.take() }?.join()
  }

  /// Whether the caller runs on the loop's thread.
  package var isCurrent: Bool { owner.load(ordering: .relaxed) == currentThreadMark() }

  /// Whether the loop has run, and does nothing any more but jobs.
  package var hasEnded: Bool { inbox.withLock { $0.phase == .ended } }

  /// The longest turn so far, in nanoseconds: how late a datagram or timer may have been served.
  package var longestTurnNanoseconds: UInt64 { longestTurn.load(ordering: .relaxed) }
  /// How often the loop has woken.
  package var turnCount: UInt64 { turns.load(ordering: .relaxed) }
  /// Whether the loop runs in real time now: that was asked for, granted, and not used up.
  package var hasRealTimePriority: Bool { gotRealTime.load(ordering: .relaxed) }

  func wake() { _ = earshot_wake_write(wakeUp.number) }

  private static let wakeUpToken = UInt64.max
  private static let alarmToken = UInt64.max - 1
  /// One below `MediaWorker`'s: a flood of datagrams must not delay a tick, and a tick that is in
  /// the way of the loop is over in a millisecond or two. Below the kernel's own threads (50).
  private static let realTimePriority: Int32 = 10
}

// MARK: - Sources

/// What a source is ready for, or should be watched for.
package struct Readiness: OptionSet, Sendable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let readable = Readiness(rawValue: UInt32(earshot_readable))
  package static let writable = Readiness(rawValue: UInt32(earshot_writable))
  /// An error or a hang-up: always reported, need not be asked for.
  package static let hungUp = Readiness(rawValue: UInt32(earshot_hung_up))
}

extension EventLoop {
  /// A place in a table that is used again, with a number that tells its uses apart.
  private struct Slot<Content> {
    var content: Content?
    var generation: UInt32 = 0
  }
  private struct Source {
    var fd: Int32
    var body: (Readiness) -> Void
  }
  private struct Timer {
    var deadline: Instant?
    var body: (Instant) -> Void
  }

  /// Calls `body` in each turn in which `fd` is ready; the caller keeps `fd` open until `unwatch`.
  package func watch(
    _ fd: Int32, for readiness: Readiness, _ body: @escaping (Readiness) -> Void
  ) throws(ReactorError) -> Token {
    checkAccess()
    guard
      let token = Self.insert(Source(fd: fd, body: body), into: &sources, limit: Self.sourceLimit)
    else { throw ReactorError("watch", "file \(fd)", reason: "the loop has too many sources") }
    let result = earshot_poll_add(poll.number, fd, readiness.rawValue, 0, token.packed)
    if result < 0 {
      Self.remove(token, from: &sources)
      throw ReactorError("watch", "file \(fd)", errno: -result)
    }
    return token
  }

  package func change(_ token: Token, to readiness: Readiness) {
    checkAccess()
    guard let source = Self.content(of: token, in: sources) else { return }
    _ = earshot_poll_change(poll.number, source.fd, readiness.rawValue, token.packed)
  }

  package func unwatch(_ token: Token) {
    checkAccess()
    guard let source = Self.content(of: token, in: sources) else { return }
    _ = earshot_poll_remove(poll.number, source.fd)
    Self.remove(token, from: &sources)
  }

  /// A timer that does not run yet.
  package func addTimer(_ body: @escaping (Instant) -> Void) throws(ReactorError) -> Token {
    checkAccess()
    let timer = Timer(deadline: nil, body: body)
    guard let token = Self.insert(timer, into: &timers, limit: Self.timerLimit) else {
      throw ReactorError("add", "a timer", reason: "the loop has too many timers")
    }
    return token
  }

  /// Makes the timer fire once at `deadline` and not before; `nil` stops it.
  package func setDeadline(_ token: Token, _ deadline: Instant?) {
    checkAccess()
    let index = Int(token.index)
    guard index < timers.count, timers[index].generation == token.generation else { return }
    timers[index].content?.deadline = deadline
  }

  package func removeTimer(_ token: Token) {
    checkAccess()
    Self.remove(token, from: &timers)
  }

  private func checkAccess() {
    let mark = owner.load(ordering: .relaxed)
    precondition(mark == 0 || mark == currentThreadMark(), "only for the loop's own thread")
  }

  private static func insert<Content>(
    _ content: Content, into slots: inout [Slot<Content>], limit: Int
  ) -> Token? {
    var index = slots.firstIndex { $0.content == nil }
    if index == nil, slots.count < limit {
      index = slots.count
      slots.append(Slot())
    }
    guard let index else { return nil }
    slots[index].content = content
    return Token(index: UInt32(index), generation: slots[index].generation)
  }

  private static func content<Content>(of token: Token, in slots: [Slot<Content>]) -> Content? {
    let index = Int(token.index)
    guard index < slots.count, slots[index].generation == token.generation else { return nil }
    return slots[index].content
  }

  private static func remove<Content>(_ token: Token, from slots: inout [Slot<Content>]) {
    let index = Int(token.index)
    guard index < slots.count, slots[index].generation == token.generation else { return }
    slots[index].content = nil
    slots[index].generation &+= 1
  }
}

extension EventLoop.Token {
  fileprivate var packed: UInt64 { UInt64(generation) << 32 | UInt64(index) }
  fileprivate init(packed: UInt64) {
    self.init(
      index: UInt32(truncatingIfNeeded: packed),
      generation: UInt32(truncatingIfNeeded: packed >> 32))
  }
}

// MARK: - One turn

extension EventLoop {
  /// Runs `body` with `isAwake` held, which ThreadSanitizer is told.
  private func awake<Result>(_ body: () -> Result) -> Result {
    isAwake.withLock { _ in
      earshot_lock_taken(key)
      defer { earshot_lock_left(key) }
      return body()
    }
  }

  /// Waits for what is ready, and says how much; `nil` when the loop is to end.
  private func sleep() -> Int32? {
    let (hasJobs, isStopping) = inbox.withLock { (!$0.jobs.isEmpty, $0.isStopping) }
    if isStopping, !hasJobs { return nil }
    let mayWait = awake { armAlarm() } && !hasJobs && !isStopping
    return unsafe ready.withUnsafeMutableBufferPointer { buffer in
      unsafe earshot_poll_wait(
        poll.number, buffer.baseAddress, Int32(clamping: buffer.count),
        mayWait ? -1 : 0)
    }
  }

  /// Serves what is ready, what is due, and what was handed in.
  private func turn(_ count: Int32) {
    let start = SystemClock.now
    var index = 0
    while index < count {
      serve(ready[index])
      index += 1
    }
    fireTimers(now: SystemClock.now)
    runJobs()
    turnEnd = SystemClock.now
    let spent = turnEnd.nanoseconds(since: start)
    if spent > longestTurn.load(ordering: .relaxed) {
      longestTurn.store(spent, ordering: .relaxed)
    }
    turns.add(1, ordering: .relaxed)
    if budget != nil { keepBudget(turn: spent) }
  }

  /// Runs the closure of `token` at once, on the calling thread, if the loop sleeps. From any
  /// thread but the loop's own.
  ///
  /// - Returns: `false` where the loop is awake, or has ended: nothing was run.
  func lend(to token: Token) -> Bool {
    isAwake.withLockIfAvailable { _ in
      earshot_lock_taken(key)
      defer { earshot_lock_left(key) }
      guard owner.load(ordering: .relaxed) != 0,
        let source = Self.content(of: token, in: sources)
      else { return false }
      let sleeper = owner.exchange(currentThreadMark(), ordering: .relaxed)
      source.body([])
      turnEnd = SystemClock.now
      // The loop sleeps on: what is due now or sooner than before wakes it, and so do jobs.
      if let least = leastDeadline { arm(for: least) }
      owner.store(sleeper, ordering: .relaxed)
      if mustWakeForJobs() { wake() }
      return true
    } ?? false
  }

  /// Leaves the real-time class, or returns to it.
  private func keepBudget(turn spent: UInt64) {
    switch budget?.verdict(after: spent, now: turnEnd, used: earshot_thread_cpu_ns) {
    case .leave:
      if earshot_thread_leave_real_time() == 0 { gotRealTime.store(false, ordering: .relaxed) }
    case .enter:
      let isGranted = earshot_thread_go_real_time(Self.realTimePriority) == 0
      gotRealTime.store(isGranted, ordering: .relaxed)
    case .stay, nil: break
    }
  }

  private func serve(_ event: earshot_readiness) {
    switch event.token {
    case Self.wakeUpToken: break  // Waking was all it was for.
    case Self.alarmToken: armed = nil
    default:
      // A source that an earlier one of this turn removed is gone, and so is its token.
      let token = Token(packed: event.token)
      Self.content(of: token, in: sources)?.body(Readiness(rawValue: event.events))
    }
  }

  private func fireTimers(now: Instant) {
    var index = 0
    while index < timers.count {
      if let deadline = timers[index].content?.deadline, deadline <= now {
        timers[index].content?.deadline = nil
        timers[index].content?.body(now)
      }
      index += 1
    }
  }

  /// Sees to it that the kernel wakes the loop for the least deadline; `false` when that has come.
  ///
  /// Moves the kernel's timer only when it would fire too late: one that fires too early costs a
  /// turn, once, where moving it with every packet would cost a system call each.
  private func armAlarm() -> Bool {
    guard let least = leastDeadline else { return true }
    return least > turnEnd && arm(for: least)
  }

  private var leastDeadline: Instant? {
    var least: Instant?
    for slot in timers {
      if let deadline = slot.content?.deadline { least = earliest(least, deadline) }
    }
    return least
  }

  /// - Returns: `false` where the kernel does not set its timer.
  @discardableResult
  private func arm(for deadline: Instant) -> Bool {
    if let armed, armed <= deadline { return true }
    guard earshot_timer_arm(alarm.number, deadline.nanoseconds) == 0 else { return false }
    armed = deadline
    return true
  }

  private func runJobs() {
    inbox.withLock { inbox in
      inbox.isWoken = false
      swap(&inbox.jobs, &jobs)
    }
    for job in jobs { runNow(job) }
    jobs.removeAll(keepingCapacity: true)
  }
}
