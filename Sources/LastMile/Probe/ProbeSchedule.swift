import Primitives

/// Where a probe is: its phase, those before it, and when the timed ones end.
struct ProbeSchedule: Sendable {
  let began: Instant
  private(set) var phase = ProbePhase.asking
  private(set) var phaseBegan: Instant
  /// The phases that are over.
  private(set) var spans: [PhaseSpan] = []
  private(set) var steadyEnds = Instant.zero
  private(set) var loadEnds = Instant.zero
  /// What the loaded phases take, each.
  private var loadTime = Duration.zero
  private let length: Duration
  /// How long the idle part takes.
  let idleTime: Duration
  /// What the estimate takes: longer, the more packets there are.
  private let reckoning: Duration
  /// How long the ramp may take: fast ones have more steps.
  let longestRamp: Duration

  init(_ plan: ProbePlan, now: Instant) {
    let expected = max(plan.expectedUplink, plan.expectedDownlink)
    reckoning = .milliseconds(100 + Int64(max(0, expected - Self.usualRate) / 400_000))
    longestRamp = .milliseconds(expected > Self.usualRate ? 3800 : 2500)
    // Of a short test no more than a fifth; 20 echoes are the least that says something.
    let idle = min(1.2, max(0.75, plan.seconds * 0.15))
    idleTime = plan.measuresBandwidth ? .milliseconds(Int64(idle * 1000)) : .seconds(1)
    began = now
    phaseBegan = now
    length = .nanoseconds(Int64(plan.seconds * 1e9))
  }

  /// The probe's deadline, with time to reckon.
  var deadline: Instant { began + length - reckoning }

  /// When the ramp ends at the latest: what comes after it needs 2.3 s, or half of a short test.
  var latestRamp: Instant { deadline - min(.milliseconds(2300), length / 2) }

  mutating func enter(_ next: ProbePhase, now: Instant) {
    closePhase(now: now)
    phase = next
    phaseBegan = now
  }

  /// The phase is over, and so may be the probe.
  mutating func closePhase(now: Instant) {
    spans.append(
      PhaseSpan(
        phase: phase, from: Double(phaseBegan.nanoseconds(since: began)) / 1e9,
        to: Double(now.nanoseconds(since: began)) / 1e9))
  }

  /// The time since the phase began is at least so long.
  func hasLasted(_ time: Duration, now: Instant) -> Bool { now >= phaseBegan + time }

  /// How long the steady part may take if what follows has as much time as it needs, in seconds.
  ///
  /// - Parameter loads: How many loaded phases follow.
  func steadySeconds(roundTrip: Duration, loads: Double, now: Instant) -> Double {
    let finish = Double(roundTrip.nanoseconds) / 1e9 + 0.45
    let left = max(0.6, Double(deadline.nanoseconds(since: now)) / 1e9 - finish)
    // Loss wants as many packets as the rate does.
    return left / (1 + max(1, loads) * Self.loadShare)
  }

  mutating func beginSteady(seconds: Double, now: Instant) {
    steadyEnds = now + .nanoseconds(Int64(seconds * 1e9))
    loadTime = .nanoseconds(Int64(seconds * Self.loadShare * 1e9))
  }

  /// The steady part began too high: it takes longer, and the load has less time.
  mutating func prolongSteady() {
    steadyEnds = steadyEnds + Self.retreatTime
    loadTime = max(.milliseconds(400), loadTime - Self.retreatTime)
  }

  mutating func beginLoad(now: Instant) { loadEnds = now + loadTime }

  /// Bit/s.
  private static let usualRate = 5_000_000
  private static let retreatTime = Duration.milliseconds(150)
  /// A loaded phase against the steady part.
  static let loadShare = 1.1
}
