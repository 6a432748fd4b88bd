internal import CLinux
package import Primitives
internal import Synchronization

/// A thread that does something at even intervals: read, encode, decode, play.
///
/// Every tick is due at a fixed multiple of the period after the first, on an absolute timer, so
/// lateness does not add up. A late thread catches up, at most `catchUpLimit` ticks in a row; what
/// it could not catch up is skipped and counted. A tick may do the work of some that follow: the
/// thread then sleeps through these.
package final class MediaWorker: Sendable {
  package struct Options: Sendable {
    package var name = "earshot-media"
    package var period = Duration.milliseconds(20)
    /// Ticks that may follow without a pause: 5 × 20 ms bridges an ordinary hiccup of a machine.
    package var catchUpLimit = 5
    /// Ask for `SCHED_FIFO`; without the permission the thread runs all the same.
    package var wantsRealTime = true

    package init() {}
  }

  package struct Tick: Sendable {
    /// Counts periods since the start, the skipped ones included.
    package let index: UInt64
    package let due: Instant
    /// When the body was called for it.
    package let now: Instant
  }

  private let options: Options
  private let wakeUp: FileDescriptor
  private let alarm: FileDescriptor
  private let isStopping = Atomic<Bool>(false)
  private let skipped = Atomic<UInt64>(0)
  private let thread = Mutex<JoinableThread?>(nil)
  /// The mark of the worker's own thread; 0 before it runs.
  private let mark = Atomic<UInt>(0)

  /// Starts at once: the first tick is due now. `body` runs on the new thread only.
  package convenience init(
    _ options: Options = Options(), _ body: @escaping @Sendable (Tick) -> Void
  ) throws(ReactorError) {
    try self.init(options) { tick, _ in body(tick) }
  }

  /// - Parameter body: may say how many of the ticks that follow it has made ahead.
  package init(
    _ options: Options = Options(), _ body: @escaping @Sendable (Tick, inout Int) -> Void
  ) throws(ReactorError) {
    precondition(options.period > .zero && options.catchUpLimit >= 1)
    self.options = options
    wakeUp = FileDescriptor(owning: try earshot_wake_open().orThrow("open", "eventfd"))
    alarm = FileDescriptor(owning: try earshot_timer_open().orThrow("open", "timerfd"))
    let start = SystemClock.now
    let worker = self
    var started: JoinableThread? = try startThread(named: options.name) {
      worker.run(from: start, body)
    }
    thread.withLock { $0 = started.take() }
  }

  /// Ends the thread after the tick under way.
  package func stop() {
    isStopping.store(true, ordering: .releasing)
    _ = earshot_wake_write(wakeUp.number)
  }

  /// Waits for the end of a worker that was told to stop. On its own thread it only lets the thread
  /// go, which ends after the tick under way.
  package func join() {
    let thread = thread.withLock { $0.take() }
    if mark.load(ordering: .relaxed) != currentThreadMark() { thread?.join() }
  }

  /// Ticks left out because the thread was too late for them.
  package var skippedTicks: UInt64 { skipped.load(ordering: .relaxed) }

  private func run(from start: Instant, _ body: (Tick, inout Int) -> Void) {
    mark.store(currentThreadMark(), ordering: .relaxed)
    earshot_thread_sharpen_timers()
    if options.wantsRealTime { _ = earshot_thread_go_real_time(Self.realTimePriority) }
    var schedule = TickSchedule(
      start: start, period: UInt64(options.period.nanoseconds),
      catchUpLimit: UInt64(options.catchUpLimit))
    while !isStopping.load(ordering: .acquiring) {
      let now = SystemClock.now
      let (tick, left) = schedule.next(now: now)
      skipped.add(left, ordering: .relaxed)
      if let tick {
        var ahead = 0
        body(tick, &ahead)
        schedule.skip(ahead)
      } else {
        _ = earshot_timer_arm(alarm.number, schedule.due.nanoseconds)
        _ = earshot_timer_wait(alarm.number, wakeUp.number)
      }
    }
  }

  /// Above the loop's: a tick is short, and late audio is heard.
  private static let realTimePriority: Int32 = 11
}

/// Which tick is due when; pure, so that it can be tested without a clock.
struct TickSchedule {
  private(set) var due: Instant
  private var index: UInt64 = 0
  private let period: UInt64
  private let catchUpLimit: UInt64

  /// - Parameter period: In nanoseconds.
  init(start: Instant, period: UInt64, catchUpLimit: UInt64) {
    due = start
    self.period = period
    self.catchUpLimit = catchUpLimit
  }

  /// The tick that is due at `now`, or `nil`, and how many were skipped to get there.
  mutating func next(now: Instant) -> (MediaWorker.Tick?, skipped: UInt64) {
    guard due <= now else { return (nil, 0) }
    let behind = now.nanoseconds(since: due) / period
    let skipped = behind >= catchUpLimit ? behind &- catchUpLimit &+ 1 : 0
    move(by: skipped)
    let tick = MediaWorker.Tick(index: index, due: due, now: now)
    move(by: 1)
    return (tick, skipped)
  }

  /// So many ticks need not be made.
  mutating func skip(_ ticks: Int) { move(by: UInt64(max(0, ticks))) }

  private mutating func move(by ticks: UInt64) {
    index &+= ticks
    due.nanoseconds &+= ticks &* period
  }
}
