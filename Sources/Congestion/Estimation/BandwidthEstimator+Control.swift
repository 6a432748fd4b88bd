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
    capacity = min(rates?.arrival ?? estimate, estimate)
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
      capacity = rates.arrival / (1 - min(losses.inherent, 0.5))
      drain.capacity = capacity
      estimate = min(max(capacity * 0.9, limits.least), limits.most)
    }
    if freshDelay < targetDelay * 0.8 {
      state = .holding
      reason = .drained
      estimate = max(drain.capacity * 0.95, limits.least)
      nextVelocity = now
      calmUntil = now + .milliseconds(700)
    }
  }

  /// The usual: while there is a queue, the rate that keeps it at the target; without one, more.
  mutating func adjust(elapsed: Double, now: Instant) {
    let share = elapsed / cycle
    if state == .starting {
      guard standingDelay > targetDelay else { return grow(share: share, now: now) }
      capacity = min(acknowledgedRate, estimate)
      state = .holding
    }
    isCalm = now < calmUntil
    guard isBusy else { return grow(share: share, now: now) }
    velocity = Tuning.leastVelocity
    nextVelocity = now
    if freshDelay > busyDelay {
      capacity += (acknowledgedRate - capacity) * min(1, elapsed / Tuning.capacityMemory)
    }
    if standingDelay < targetDelay { capacity = max(capacity, min(provenRate, estimate)) }
    slowDelay += (standingDelay - slowDelay) * min(1, elapsed / Tuning.slowMemory)
    let quick = Tuning.pull * (targetDelay - standingDelay) / cycle
    let slow = Tuning.fairness * (targetDelay - slowDelay) / max(targetDelay, slowDelay)
    let wanted = capacity * (1 + min(max(quick + slow, -Tuning.mostCut), Tuning.mostRaise))
    estimate += (wanted - estimate) * min(1, share * 2)
    reason = .queue
    state = .holding
  }

  /// Whether packets wait, beyond what scatters.
  var isBusy: Bool { standingDelay > busyDelay }
  var busyDelay: Double { max(Tuning.leastBusy, targetDelay * 0.4) }

  private mutating func grow(share: Double, now: Instant) {
    if now >= nextVelocity {
      if state != .starting, estimate > capacity * 1.02 {
        velocity = min(velocity * 2, Tuning.mostVelocity)
      }
      nextVelocity = Instant(nanoseconds: now.nanoseconds &+ UInt64(cycle * 1_000))
    }
    let room = max(acknowledgedRate * 2, limits.start)
    // What carried before is tried at once, what is beyond step by step.
    let speed = estimate < capacity * 0.97 ? Tuning.returnVelocity : velocity
    var wanted = estimate * (1 + speed * min(share, 1))
    if estimate < capacity, state != .starting { wanted = min(wanted, capacity * 1.01) }
    estimate = wanted <= room ? wanted : max(estimate, room)
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
  static let pacingGain = 1.15
  /// In flight above what the path and the target hold, in microseconds of the estimate.
  static let slack = 20_000.0
  static let rateSpan: Int64 = 60_000
  static let startVelocity = 1.0
  static let leastVelocity = 0.05
  static let mostVelocity = 0.5
  static let returnVelocity = 0.5
  /// For the force between flows that share a queue, in microseconds.
  static let slowMemory = 2_000_000.0
  static let fairness = 0.1
  static let leastBusy = 3_000.0
  /// How fast the capacity follows what arrives, in microseconds.
  static let capacityMemory = 120_000.0
  static let pull = 0.3
  static let mostCut = 0.25
  static let mostRaise = 0.1
  static let overloadGuard = 10_000.0
  static let reference = 2_000_000.0
  static let targetAtReference = 5_700.0
  static let leastTarget = 3_000.0
  static let calmShare = 0.5
  static let mostTarget = 14_000.0

  /// ratio^−0.75 without a C library: two square roots.
  static func powerLaw(_ ratio: Double) -> Double {
    let root = max(ratio, 1e-6).squareRoot()
    return 1 / (root * root.squareRoot())
  }
}
