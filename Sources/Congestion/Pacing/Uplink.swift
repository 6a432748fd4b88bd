package import Primitives

/// What a path may be used for: the estimate that its reports lead to, and the gate that spreads
/// packets by it (docs/congestion.md). One for each session that carries media.
package struct Uplink: Sendable {
  private let place = InPlace()
  package private(set) var estimator: BandwidthEstimator
  package private(set) var gate: PacingGate
  /// What audio took of the line lately, IP and UDP included: bit/s.
  package private(set) var audioRate = 0.0
  private var queueDelayLog = QueueDelayLog()
  /// What the endpoint's other links leave this one of the uplink: bit/s (`UplinkSharing`).
  package var share = Double.infinity {
    didSet { if share != oldValue { setGate() } }
  }
  /// While the path carries nothing audio waits, and looks for the end of it.
  package private(set) var hold = AudioHold()
  private var lastAudio: Instant?
  private var ceiling = AudioCeiling()
  package private(set) var nextCheck = Instant.zero
  /// What the link's media make of the path; bulk adds to it.
  private var mediaUse: MediaUse
  /// Messages that can wait take what media leaves.
  package private(set) var hasBulk = false

  private struct MediaUse {
    var isElastic = true
    var isLimited = false
    var isFilled = false
    var most: Double
  }

  package init(_ limits: EstimatorLimits) {
    estimator = BandwidthEstimator(limits)
    gate = PacingGate(rate: limits.start)
    mediaUse = MediaUse(most: limits.most)
  }

  /// Other limits while it is in use.
  package mutating func limit(to limits: EstimatorLimits) {
    mediaUse.most = limits.most
    setUse()
  }

  // MARK: Inputs

  package mutating func handle(_ outcome: PacketOutcome) {
    estimator.handle(outcome)
    guard outcome.fate == .acknowledged, let packet = estimator.path.arrivals.newest,
      let base = estimator.path.baseDelay.value
    else { return }
    queueDelayLog.add(packet, base: base)
  }

  /// All that one FEEDBACK said has been handled.
  package mutating func finishReport(roundTrip: UInt64?, bytesInFlight: Int, now: Instant) {
    estimator.finishReport(roundTrip: roundTrip, bytesInFlight: bytesInFlight, now: now)
    let reportRate = Self.reportBits * 1e9 / Double(max(reportInterval, 25_000_000))
    estimator.unpacedRate = audioRate + reportRate
    ceiling.handleReport(estimator, now: now)
    setGate()
  }

  /// Each FEEDBACK, also one that says that nothing has come.
  package mutating func handleReport(hasNews: Bool, overdue: UInt64, now: Instant) {
    hold.handleReport(
      hasNews: hasNews, overdue: overdue - min(overdue, usualGap),
      roundTrip: estimator.baseRoundTrip, now: now)
    gate.isProbed = hold.isProbing(now: now)
  }

  /// How long nothing comes now and then because the line loses packets, in nanoseconds: no outage.
  private var usualGap: UInt64 {
    let losses = estimator.losses
    return losses.share < Self.lossyShare
      ? 0 : UInt64(min(losses.run * Self.gapPerRun, Self.longestGap))
  }

  /// Notices silence, at most each 100 ms.
  package mutating func check(bytesInFlight: Int, now: Instant) {
    guard now >= nextCheck else { return }
    nextCheck = now + Self.checkInterval
    estimator.handleTimeout(bytesInFlight: bytesInFlight, now: now)
    gate.isProbed = hold.isProbing(now: now)
    setGate()
  }

  /// A packet of any class has left.
  package mutating func recordSent(byteCount: Int, hasMessages: Bool, now: Instant) {
    gate.noteSent(
      byteCount: byteCount + Self.headerByteCount, hasMessages: hasMessages, now: now)
  }

  /// How far apart reports must be, in nanoseconds, to take a tenth of what may be sent.
  package var reportInterval: UInt64 {
    UInt64(Self.reportBits / (Self.reportShare * max(estimator.knownRate, 10_000)) * 1e9)
  }

  /// One that carried audio: what video may use is what audio leaves.
  package mutating func recordAudio(byteCount: Int, now: Instant) {
    let bits = Double(byteCount + Self.headerByteCount) * 8
    let elapsed = lastAudio.map { Double(now.nanoseconds(since: $0)) / 1e9 } ?? 0
    audioRate = audioRate * max(0, 1 - elapsed / Self.audioMemory) + bits / Self.audioMemory
    lastAudio = now
    hold.noteSent(now: now)
  }

  /// Whether anything but audio goes out, or would if there were room.
  ///
  /// - Parameter isLimited: No more than a probe of it does.
  package mutating func setElastic(_ isElastic: Bool, isLimited: Bool = false) {
    mediaUse.isElastic = isElastic
    mediaUse.isLimited = isLimited
    setUse()
  }

  /// Whether padding fills what media leaves of the estimate.
  package mutating func setFilled(_ isFilled: Bool) {
    mediaUse.isFilled = isFilled
    setUse()
  }

  /// Whether bulk does: then the path is filled, whatever the media need.
  package mutating func setBulk(_ hasBulk: Bool) {
    guard hasBulk != self.hasBulk else { return }
    self.hasBulk = hasBulk
    setUse()
  }

  private mutating func setUse() {
    estimator.isElastic = mediaUse.isElastic || hasBulk
    estimator.isLimited = mediaUse.isLimited && !hasBulk
    estimator.isFilled = mediaUse.isFilled || hasBulk
    estimator.hasBulk = hasBulk
    estimator.limits.most = hasBulk ? max(mediaUse.most, Self.mostBulk) : mediaUse.most
  }

  /// The path is another one: nothing that was known holds.
  package mutating func restart() {
    let (use, bulk) = (mediaUse, hasBulk)
    queueDelayLog.settle()
    let delays = queueDelayLog
    self = Uplink(estimator.limits)
    (mediaUse, hasBulk, queueDelayLog) = (use, bulk, delays)
    setUse()
  }

  /// Its part of a queue that it shares, against the other flows there; 1 is usual.
  package var weight: Double {
    get { estimator.weight }
    set { estimator.weight = newValue }
  }

  /// How long each packet waited in queues on its way.
  package var queueDelays: DurationHistogram { queueDelayLog.whole }

  /// What all media of the link may take, in bit/s.
  package var allowance: Double { min(estimator.estimate, share) }

  /// What audio may take, in bit/s. The only judge of it. Where audio is all that goes out, or no
  /// more than a probe beside it, the estimate follows what is sent, and says nothing of what may.
  package var audioAllowance: Double {
    let isKnown = estimator.isElastic && !estimator.isLimited
    return min(isKnown ? estimator.knownRate : .infinity, share, ceiling.rate)
  }

  private mutating func setGate() {
    let part = allowance / max(estimator.estimate, 1)
    gate.rate = estimator.pacingRate * part
    gate.fillRate = estimator.fillRate * part
    gate.inFlightLimit = estimator.inFlightLimit
  }

  /// IPv4 and UDP.
  package static let headerByteCount = 28
  package static let checkInterval = Duration.milliseconds(100)
  /// Bit/s.
  private static let mostBulk = 100_000_000.0
  private static let lossyShare = 0.01
  /// Nanoseconds for each packet of a mean run: of runs with a mean of 3, one in 400 is longer.
  private static let gapPerRun = 100e6
  /// Nanoseconds: who waits longer for the end of an outage than for a loss hears it.
  private static let longestGap = 300e6
  /// A report as it is on the line, about.
  private static let reportBits = 1_200.0
  private static let reportShare = 0.1
  /// Seconds.
  private static let audioMemory = 1.0
}
