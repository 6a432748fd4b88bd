internal import Primitives

/// How much of its core a real-time thread may use, so that a flood of datagrams, or a mistake,
/// cannot keep everything else on the host waiting.
///
/// Pure. `RLIMIT_RTTIME` would end the process instead; the kernel's own limit
/// (`sched_rt_runtime_us`) leaves 5 % of the core to everybody else.
struct RealTimeBudget {
  enum Verdict { case stay, leave, enter }

  /// Nanoseconds of the core in `window`, half of it. A call of audio and video takes a tenth.
  static let limit: UInt64 = 50_000_000
  static let window = Duration.milliseconds(100)
  /// How long a thread that used more is an ordinary one.
  static let pause = Duration.seconds(1)

  private var began: Instant
  private var usedAtBegin: UInt64
  /// Length of the window's turns. A turn that waits for a disk is long and uses nothing, so this
  /// only says when to ask for the core's time.
  private var spent: UInt64 = 0
  private var isPausing = false

  /// - Parameter used: The thread's time on its core so far, in nanoseconds.
  init(now: Instant, used: UInt64) {
    began = now
    usedAtBegin = used
  }

  /// Takes one turn of the thread into account.
  ///
  /// - Parameters:
  ///   - turn: Its length in nanoseconds.
  ///   - used: Gives the thread's time on its core so far, in nanoseconds; asked at most once.
  mutating func verdict(after turn: UInt64, now: Instant, used: () -> UInt64) -> Verdict {
    spent &+= turn
    if isPausing {
      guard now >= began + Self.pause else { return .stay }
      begin(now: now, used: used())
      isPausing = false
      return .enter
    }
    if spent >= Self.limit {
      let total = used()
      guard total &- usedAtBegin < Self.limit else {
        begin(now: now, used: total)
        isPausing = true
        return .leave
      }
      if now >= began + Self.window { begin(now: now, used: total) }
    } else if now >= began + Self.window {
      begin(now: now, used: used())
    }
    return .stay
  }

  private mutating func begin(now: Instant, used: UInt64) {
    began = now
    usedAtBegin = used
    spent = 0
  }
}
