import Primitives

/// What follows from a report.
extension BandwidthEstimator {
  /// A queue that grows fast, and is not just scatter.
  var isOverloaded: Bool {
    let packets = 2 * 9_600e6 / estimate
    let guarding = Tuning.overloadGuard + min(packets, 60_000) + 3 * scatter
    return freshDelay > targetDelay + guarding
  }

  mutating func beginDrain(now: Instant) {
    let rates = arrivals.rates(over: 30_000, atLeast: 3)
    let capacity = min(rates?.arrival ?? estimate, estimate)
    drain = Drain(
      capacity: capacity, began: now, firstArrival: arrivals.count,
      before: max(estimate, drain.before))
    state = .draining
    reason = .overload
    velocity = Tuning.leastVelocity
    estimate = max(capacity * 0.9, limits.least)
  }

  mutating func continueDrain(now: Instant) {
    if let rates = arrivals.rates(over: 100_000, atLeast: 4, notBefore: drain.firstArrival),
      freshDelay > 4_000
    {
      drain.capacity = rates.arrival
      estimate = min(max(rates.arrival * 0.9, limits.least), limits.most)
    }
    if freshDelay < targetDelay * 0.8 {
      state = .holding
      reason = .drained
      estimate = max(drain.capacity * 0.97, limits.least)
      nextVelocity = now
    }
  }

  /// The usual: towards the target delay, and beyond while there is none.
  mutating func adjust(elapsed: Double, now: Instant) {
    let share = elapsed / cycle
    let error = (targetDelay - standingDelay) / targetDelay
    if error > 0.2 {
      grow(error: error, share: share, now: now)
    } else if error < 0 {
      velocity = Tuning.leastVelocity
      estimate *= 1 + max(error, -1) * Tuning.decrease * min(share, 1)
      reason = .queue
      state = .holding
    } else {
      velocity = Tuning.leastVelocity
      state = .holding
    }
  }

  private mutating func grow(error: Double, share: Double, now: Instant) {
    if now >= nextVelocity {
      if state != .starting {
        velocity = error > 0.4 ? min(velocity * 2, Tuning.mostVelocity) : Tuning.leastVelocity
      }
      nextVelocity = Instant(nanoseconds: now.nanoseconds &+ UInt64(cycle * 1_000))
    }
    let room = max(acknowledgedRate * 2, limits.start)
    let wanted = estimate * (1 + velocity * error * min(share, 1))
    if wanted <= room {
      estimate = wanted
    } else {
      estimate = max(estimate, room)
    }
    if state != .starting { state = .growing }
    reason = .room
  }
}

/// A queue that is being emptied.
struct Drain: Sendable, BitwiseCopyable {
  /// What the path carries, in bit/s.
  var capacity = 0.0
  var began = Instant.zero
  /// Arrivals before this one say nothing of it.
  var firstArrival = 0
  /// The estimate before it.
  var before = 0.0
}

struct Competition: Sendable, BitwiseCopyable {
}

/// The constants of the estimator, and where they come from (docs/decisions/0011).
enum Tuning {
  /// IPv4 and UDP.
  static let headerByteCount = 28
  /// Frames of 33 ms leave in 28.
  static let pacingGain = 1.2
  /// In flight above what the path and the target hold, in microseconds of the estimate.
  static let slack = 20_000.0
  static let rateSpan: Int64 = 60_000
  static let startVelocity = 1.0
  static let leastVelocity = 0.05
  static let mostVelocity = 0.5
  static let decrease = 0.25
  static let overloadGuard = 10_000.0
  static let reference = 2_000_000.0
  static let targetAtReference = 8_000.0
  static let leastTarget = 3_000.0
  static let mostTarget = 25_000.0

  /// ratio^−0.75 without a C library: two square roots.
  static func powerLaw(_ ratio: Double) -> Double {
    let root = max(ratio, 1e-6).squareRoot()
    return 1 / (root * root.squareRoot())
  }
}
