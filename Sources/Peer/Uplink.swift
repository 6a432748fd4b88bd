import Congestion
import Primitives

/// What a path may be used for: the estimate that its reports lead to, and the gate that spreads
/// packets by it (docs/decisions/0012). One for each session that carries media.
struct Uplink: Sendable {
  private(set) var estimator: BandwidthEstimator
  private(set) var gate: PacingGate
  /// What audio took of the line lately, IP and UDP included: bit/s.
  private(set) var audioRate = 0.0
  /// The standing queue, as each report found it.
  private(set) var queueDelays = DurationHistogram()
  private var lastAudio: Instant?
  private var nextCheck = Instant.zero

  init(_ limits: EstimatorLimits) {
    estimator = BandwidthEstimator(limits)
    gate = PacingGate(rate: limits.start)
  }

  // MARK: Inputs

  mutating func handle(_ outcome: PacketOutcome) { estimator.handle(outcome) }

  /// All that one FEEDBACK said has been handled.
  mutating func finishReport(roundTrip: UInt64?, bytesInFlight: Int, now: Instant) {
    estimator.finishReport(roundTrip: roundTrip, bytesInFlight: bytesInFlight, now: now)
    queueDelays.add(UInt64(max(0, estimator.standingDelay) * 1_000))
    setGate()
  }

  /// Notices silence, at most each 100 ms.
  mutating func check(bytesInFlight: Int, now: Instant) {
    guard now >= nextCheck else { return }
    nextCheck = now + Self.checkInterval
    estimator.handleTimeout(bytesInFlight: bytesInFlight, now: now)
    setGate()
  }

  /// A packet of any class has left.
  mutating func noteSent(byteCount: Int, now: Instant) {
    gate.noteSent(byteCount: byteCount + Self.headerByteCount, now: now)
  }

  /// One that carried audio: what video may use is what audio leaves.
  mutating func noteAudio(byteCount: Int, now: Instant) {
    let bits = Double(byteCount + Self.headerByteCount) * 8
    let elapsed = lastAudio.map { Double(now.nanoseconds(since: $0)) / 1e9 } ?? 0
    audioRate = audioRate * max(0, 1 - elapsed / Self.audioMemory) + bits / Self.audioMemory
    lastAudio = now
  }

  /// The path is another one: nothing that was known holds.
  mutating func restart() { self = Uplink(estimator.limits) }

  private mutating func setGate() {
    gate.rate = estimator.pacingRate
    gate.inFlightLimit = estimator.inFlightLimit
  }

  /// IPv4 and UDP.
  static let headerByteCount = 28
  static let checkInterval = Duration.milliseconds(100)
  /// Seconds.
  private static let audioMemory = 1.0
}
