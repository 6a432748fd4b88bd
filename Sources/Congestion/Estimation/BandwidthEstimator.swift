package import Primitives

/// How fast this host may send on one path, from what FEEDBACK says of each packet
/// (docs/congestion.md). All rates are in bit/s on the line, with IP and UDP headers.
///
/// Use: `handle` each outcome that `SentPacketHistory` polls, then `finishReport`; obey `estimate`,
/// `pacingRate` and `inFlightLimit`. Nothing is allocated after construction.
package struct BandwidthEstimator: Sendable {
  package let limits: EstimatorLimits
  /// Of flows that share a queue each gets a share by its weight; at first that of the limits.
  package var weight: Double
  /// What media and padding together may use.
  package internal(set) var estimate: Double
  package internal(set) var state = State.starting
  package internal(set) var reason = Reason.start

  package enum State: UInt8, Sendable, BitwiseCopyable {
    /// Doubling each round trip until the path answers.
    case starting
    /// Looking for more.
    case growing
    /// At what the path carries.
    case holding
    /// Waiting for a queue to empty.
    case draining
    /// Against traffic that fills the queue.
    case competing
    /// Nothing is reported.
    case silent
  }

  /// Why the estimate last changed.
  package enum Reason: UInt8, Sendable, BitwiseCopyable {
    case start, room, faster, queue, overload, drained, loss, congestionMarks, competition, silence
    case policer, prior
  }

  /// What its owner sends whatever the estimate, in bit/s: audio and reports. A queue that this
  /// alone keeps full is nobody else's.
  package var insistentRate = 0.0
  /// Whether there is more than that, which follows the estimate: without it there is nothing to
  /// compete with.
  package var isElastic = true
  /// Whether padding fills what media leaves of it.
  package var isFilled = false

  var tuning: EstimatorTuning { limits.tuning }

  var arrivals = ArrivalWindow()
  var least = LeastDelay()
  var foreign = ForeignDelay()
  /// Round trips without their queues, in microseconds.
  var roundTrip = RoundTripFloor()
  var losses = LossAccount()
  var marks = MarkAccount()
  var trial = LossTrial()

  /// Between reports, smoothed, in microseconds.
  var reportInterval = 25_000.0
  var lastReport: Instant?
  /// When last nothing was under way.
  var lastIdle: Instant?
  /// Queueing delay, in microseconds: the least of the last moments, and of the last packets.
  package internal(set) var standingDelay = 0.0
  var freshDelay = 0.0
  /// How far packets are scattered above the standing delay, in microseconds.
  var scatter = 0.0
  /// The same over many seconds.
  var usualScatter = 0.0
  /// What was acknowledged lately.
  package internal(set) var acknowledgedRate = 0.0

  /// What the path carried when last there was a queue.
  package internal(set) var capacity = 0.0
  /// Growth per round trip.
  var velocity: Double
  var nextVelocity = Instant.zero
  /// After a drain the queue is kept shorter until then, so that its floor is seen.
  var calmUntil = Instant.zero
  var isCalm = false
  /// The present queue: since when, and what the rates were before it.
  var spell: (began: Instant, estimate: Double, capacity: Double)?
  /// Until then less is sent, to see the least delay again; and when that may be next.
  var soundingEnd = Instant.zero
  var nextSounding = Instant.zero
  /// The standing delay over the last seconds.
  var slowDelay = 0.0
  /// What arrived over a few frames.
  var provenRate = 0.0
  /// The same, without what the line loses.
  var deliveredRate = 0.0
  /// The same over seconds.
  var usualRate = 0.0
  /// The path marks packets rather than queue them.
  var isMarking = false
  /// After an outage what was before it is tried until then.
  var resumption = Instant.zero
  var isResuming = false
  /// While draining.
  var drain = Drain()
  var competition = Competition()
  /// When the queue last was as short as we want it, over seconds and for a moment, and when it
  /// last overflowed.
  var longSince = Instant.zero
  var fullSince = Instant.zero
  var lastOverflow = Instant.zero

  package init(_ limits: EstimatorLimits = EstimatorLimits()) {
    self.limits = limits
    weight = limits.weight
    estimate = limits.start
    velocity = limits.tuning.startVelocity
    guard let prior = limits.prior else { return }
    estimate = min(max(prior * limits.tuning.priorShare, limits.least), limits.most)
    capacity = estimate
    state = .growing
    reason = .prior
    velocity = limits.tuning.leastVelocity
  }

  // MARK: Inputs

  /// What became of one packet.
  package mutating func handle(_ outcome: PacketOutcome) {
    let byteCount = outcome.packet.byteCount + EstimatorTuning.headerByteCount
    switch outcome.fate {
    case .acknowledged:
      let packet = ArrivedPacket(
        sent: Int64(clamping: outcome.packet.sent.nanoseconds / 1_000),
        arrival: outcome.arrivalTicks &* 250, byteCount: Int64(byteCount))
      arrivals.add(packet)
      foreign.add(packet, rate: estimate, tuning)
      least.add(packet)
      losses.addArrived()
      marks.add(isMarked: outcome.isCongestionExperienced)
    case .lost: losses.addLost()
    case .acknowledgedLate: losses.addLate()
    }
  }

  /// Draws the conclusions from one FEEDBACK whose outcomes have all been handled.
  ///
  /// - Parameters:
  ///   - sample: The round trip that it gave, in nanoseconds.
  ///   - bytesInFlight: What is still under way.
  package mutating func finishReport(
    roundTrip sample: UInt64?, bytesInFlight: Int, now: Instant
  ) {
    let elapsed = measure(sample, now: now)
    isResuming = now < resumption
    marks.finishReport(weight: tuning.markWeight * elapsed / cycle, now: now)
    isMarking = marks.isInUse(now: now)
    slowDelay += (standingDelay - slowDelay) * min(1, elapsed / tuning.slowMemory)
    if state != .competing, isContested(now: now) { beginCompetition(now: now) }
    noteSpell(now: now)
    lastReport = now
    if state == .silent { state = .holding }
    switch state {
    case .draining: continueDrain(elapsed: elapsed, now: now)
    case .competing: compete(elapsed: elapsed, now: now)
    case .starting, .growing, .holding, .silent:
      if isOverloaded(now: now) { return beginDrain(now: now) }
      if now >= resumption { adjust(elapsed: elapsed, now: now) }
    }
    endSpell(now: now)
    estimate = min(max(estimate, limits.least), limits.most)
  }

  /// Notices that nothing is reported any more; call it every 100 ms or so.
  package mutating func handleTimeout(bytesInFlight: Int, now: Instant) {
    let idle = bytesInFlight == 0 ? now : lastIdle ?? now
    lastIdle = idle
    let since = max(lastReport ?? .zero, idle)
    guard state != .silent, Double(now.nanoseconds(since: since)) / 1_000 > tuning.silence + cycle
    else { return }
    state = .silent
    reason = .silence
  }

  // MARK: Outputs

  /// What the pacer may send at: frames leave a little faster than they come.
  package var pacingRate: Double {
    // What fills the line makes it restless itself, though never so much.
    let free = isFilled ? tuning.filledRestlessness : 0
    let usual = isFilled && state != .starting ? tuning.filledPacingGain : tuning.pacingGain
    let plain = usual + tuning.restlessGain * max(0, (restlessness - free) / (1 - free))
    let gain = isMarking ? tuning.markedPacingGain : plain
    return estimate * (state == .draining ? 1.0 : gain)
  }

  /// What padding may fill the path up to, in bit/s: a little more than the estimate, as long as it
  /// is the queue that says when that is too much.
  package var fillRate: Double {
    switch state {
    case .starting: .infinity
    case .growing, .holding:
      isMarking || reason == .policer ? estimate : estimate * tuning.fillGain
    case .competing: knownRate
    case .draining, .silent: estimate
    }
  }

  /// Bytes that may be under way before less urgent packets wait.
  package var inFlightLimit: Int {
    let bits: Double
    if state == .draining {
      if isBurdened { return 0 }
      bits = drain.capacity * (roundTrip.value + reportInterval * 0.5) / 1e6 * 0.9
    } else if state == .competing {
      bits = estimate * (roundTrip.value + standingDelay + reportInterval * 1.2) / 1e6
    } else {
      let reportShare = tuning.reportShare - tuning.restlessReportShare * restlessness
      let time = roundTrip.value + reportInterval * reportShare + targetDelay + tuning.slack
      let proven = max(acknowledgedRate, provenRate) * tuning.flightShare
      let isKnown = state != .starting && proven > 0 && !isResuming
      let rate = isKnown ? min(estimate, proven + tuning.growthRate) : estimate
      bits = min(rate * time, mostRestlessFlight) / 1e6
    }
    // Two packets more; while a queue empties short ones, where a long one would take long.
    let packet = state == .draining ? min(1_200, max(300, estimate * 0.0015)) : 1_200
    return Int(min(bits / 8, 1e9)) + 2 * Int(packet)
  }

  /// The estimate as far as it is known: whoever competes asks for more than is sure to come.
  package var knownRate: Double {
    state == .competing ? min(estimate, acknowledgedRate * 1.3) : estimate
  }

  /// The estimate as far as something of it has arrived: at its start it asks for twice as much.
  package var supportedRate: Double {
    state == .starting ? min(estimate, max(acknowledgedRate, limits.start)) : estimate
  }

  /// What the fallback machines are told.
  package func sighting(now: Instant) -> FallbackMachine.Sighting {
    return FallbackMachine.Sighting(
      estimate: knownRate, loss: max(0, losses.recent), queueDelay: standingDelay,
      isHeard: lastReport.map { now.nanoseconds(since: $0) < 1_000_000_000 } ?? true,
      proven: provenRate, isRestless: restlessness > tuning.filledRestlessness)
  }

  /// What its owner insists on is so large a part of what the path carries that by the rest nothing
  /// can be told about others, nor the queue emptied beside it.
  var isBurdened: Bool { insistentRate > 0.65 * acknowledgedRate }

  /// What its owner insists on is all that the path carries.
  package var isOverburdened: Bool {
    insistentRate > 0.85 * acknowledgedRate && standingDelay > 2.5 * targetDelay
  }

  /// Without our own queue, in nanoseconds.
  package var baseRoundTrip: UInt64 { UInt64(roundTrip.value * 1_000) }

  /// Packets wait on the path.
  package var isQueued: Bool { isBusy }

  // MARK: Measuring

  private mutating func measure(_ sample: UInt64?, now: Instant) -> Double {
    var elapsed = reportInterval
    if let lastReport {
      elapsed = Double(now.nanoseconds(since: lastReport)) / 1_000
      // A silence says nothing of whose the queue is.
      if elapsed > tuning.silence / 2 {
        drain.waited = 0
        fullSince = now
        if state == .growing || state == .holding || state == .silent {
          resumption = now + .microseconds(Int64(min(cycle * tuning.resumption, 300_000)))
        }
      }
      reportInterval += (min(elapsed, 300_000) - reportInterval) * 0.125
    }
    guard let floor = least.value, let newest = arrivals.newest else { return elapsed }
    findQueue(above: floor)
    let newestDelay = Double(newest.delay &- floor)
    // Standstills that are known for what they are make no line restless.
    let unrest = min(abs(newestDelay - standingDelay), 50_000)
    usualScatter += (unrest - usualScatter) * min(1, elapsed / tuning.restlessMemory)
    // A peer may report any times of arrival.
    standingDelay = min(max(0, standingDelay - foreign.value), RoundTripFloor.most)
    freshDelay = min(max(0, freshDelay - foreign.value), RoundTripFloor.most)
    scatter += (min(abs(newestDelay - standingDelay), 50_000) - scatter) * 0.03
    if let sample { roundTrip.add(Double(sample) / 1_000 - newestDelay, now: now) }
    if let rates = arrivals.rates(over: Int64(tuning.rateSpan), atLeast: 8) {
      acknowledgedRate = rates.arrival * correction
    }
    if let rates = arrivals.rates(over: 150_000, atLeast: 8) {
      provenRate = rates.arrival
      deliveredRate = rates.arrival
      usualRate += (deliveredRate - usualRate) * min(1, elapsed / tuning.usualMemory)
    }
    losses.finishReport(isQueued: standingDelay > 2 * targetDelay)
    return min(elapsed, 200_000)
  }

  /// The standing delay, and that of the last packets.
  private mutating func findQueue(above floor: Int64) {
    let window = Int64(min(max(cycle / 2, 10 * scatter, 40_000), 100_000))
    let seen = state == .starting ? 2 : tuning.usuallySeen
    let standing = arrivals.leastDelay(
      over: window, atLeast: 2, usually: seen, within: tuning.longestSeen)
    standingDelay = Double((standing ?? floor) &- floor)
    freshDelay = Double((arrivals.leastDelay(over: 10_000, atLeast: 3) ?? floor) &- floor)
  }

  /// What the line loses has used the bottleneck all the same.
  var correction: Double { 1 / (1 - min(losses.inherent, 0.4)) }

  /// How restless the line is, 0...1: by how far the delay scatters beyond what frames, Wi-Fi and
  /// other flows make it. Its capacity then changes faster than reports can tell.
  var restlessness: Double {
    let packet = 9_600e6 / max(estimate, limits.start / 2)
    let free = tuning.restlessFrom + tuning.restlessPackets * packet
    return min(max((usualScatter - free) / tuning.restlessSpan, 0), 1)
  }

  /// Bits × 10⁶ that may be under way on a restless line: where its peak ends, what is under way
  /// leaves at the usual rate.
  private var mostRestlessFlight: Double {
    guard restlessness > 0, usualRate > 0 else { return .infinity }
    return usualRate * (roundTrip.value + tuning.usualFlight) / restlessness
  }

  /// More scatter counts for less where there always is some.
  var scatterGuard: Double {
    tuning.scatterGuard + tuning.restlessScatterGuard * restlessness
  }

  /// From a change of the rate to the report that shows its effect, in microseconds.
  var cycle: Double { max(roundTrip.value + reportInterval, 20_000) }

  /// The queueing delay to be held, in microseconds: it falls with the rate, so that flows that
  /// share a queue find equal shares.
  var targetDelay: Double {
    let rate = estimate / weight
    let delay = tuning.targetAtReference * EstimatorTuning.powerLaw(rate / tuning.reference)
    var target = max(delay, tuning.leastTarget)
    // Slow flows wait longer anyway; still a slower one's is longer than a faster one's.
    if target > tuning.mostTarget {
      target = tuning.mostTarget * (target / tuning.mostTarget).squareRoot().squareRoot()
    }
    target += tuning.scatterShare * min(max(scatter - tuning.scatterFree, 0), 10_000)
    let calmShare = tuning.calmShare + tuning.restlessCalm * restlessness
    return isCalm ? target * calmShare : target
  }
}
