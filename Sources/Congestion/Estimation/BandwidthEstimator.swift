package import Primitives

/// How fast this host may send on one path, from what FEEDBACK says of each packet
/// (docs/congestion.md). All rates are in bit/s on the line, with IP and UDP headers.
///
/// Use: `handle` each outcome that `SentPacketHistory` polls, then `finishReport`; obey `estimate`,
/// `pacingRate` and `inFlightLimit`. Nothing is allocated after construction.
package struct BandwidthEstimator: Sendable {
  package var limits: EstimatorLimits
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
  package var unpacedRate = 0.0
  /// Whether there is more than that, which follows the estimate: without it there is nothing to
  /// compete with.
  package var isElastic = true
  /// Whether that is no more than a probe: then what does not arrive was not sent.
  package var isLimited = false
  /// Whether padding fills what media leaves of it.
  package var isFilled = false
  /// Whether bulk is what fills it.
  package var hasBulk = false
  /// What the path carried when last there was a queue, in bit/s.
  package internal(set) var capacity = 0.0

  var path: PathMeasurement
  var target: TargetDelay
  var growth: RateGrowth
  var drain: OverloadDrain
  var busyPeriod: BusyPeriod
  var minRTTProbe: MinRTTProbe
  var ecn: ECNResponse
  var policer: PolicerDetector
  var competition: CompetitiveMode

  package init(_ limits: EstimatorLimits = EstimatorLimits()) {
    self.limits = limits
    weight = limits.weight
    estimate = limits.start
    let tuning = limits.tuning
    path = PathMeasurement(tuning)
    target = TargetDelay(tuning.target)
    growth = RateGrowth(tuning.growth, velocity: tuning.startUp.velocity)
    drain = OverloadDrain(tuning.drain)
    busyPeriod = BusyPeriod(tuning.busyPeriod)
    minRTTProbe = MinRTTProbe(tuning.minRTTProbe)
    ecn = ECNResponse(tuning.ecn)
    policer = PolicerDetector(tuning.policer)
    competition = CompetitiveMode(tuning.competition)
    guard let prior = limits.prior else { return }
    estimate = tuning.startUp.estimate(prior: prior, limits)
    capacity = estimate
    state = .growing
    reason = .prior
    growth.velocity = tuning.growth.leastVelocity
  }

  // MARK: Inputs

  /// What became of one packet.
  package mutating func handle(_ outcome: PacketOutcome) {
    let byteCount = outcome.packet.byteCount + Self.headerByteCount
    switch outcome.fate {
    case .acknowledged:
      var packet = ArrivedPacket(
        sent: Int64(clamping: outcome.packet.sent.nanoseconds / 1_000),
        arrival: outcome.arrivalTicks &* 250, byteCount: Int64(byteCount))
      if limits.hasGaps { packet.own = path.own.add(packet, rate: estimate) }
      path.appendArrival(packet, rate: estimate)
      ecn.appendArrival(isMarked: outcome.isCongestionExperienced)
    case .lost: path.losses.addLost(outcome.packet.number)
    case .acknowledgedLate: path.losses.addLate(outcome.packet.number)
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
    if state != .competing { watchForRivals(now: now) }
    beginBusyPeriod(now: now)
    if state == .silent { state = .holding }
    switch state {
    case .draining: continueDrain(elapsed: elapsed, now: now)
    case .competing: compete(elapsed: elapsed, now: now)
    case .starting, .growing, .holding, .silent:
      if isOverloaded { return beginDrain(now: now) }
      if !path.timing.isResuming { adjust(elapsed: elapsed, now: now) }
    }
    endBusyPeriod(now: now)
    estimate = min(max(estimate, limits.least), limits.most)
  }

  /// Notices that nothing is reported any more; call it every 100 ms or so.
  package mutating func handleTimeout(bytesInFlight: Int, now: Instant) {
    let isSilent = path.timing.isSilent(
      bytesInFlight: bytesInFlight, cycle: path.cycle, now: now)
    guard isSilent, state != .silent else { return }
    state = .silent
    reason = .silence
  }

  /// Measures anew; how much time the report counts for, µs.
  private mutating func measure(_ sample: UInt64?, now: Instant) -> Double {
    let elapsed = path.timing.elapsed(now: now)
    if path.timing.isPause(elapsed) {
      drain.waited = 0
      competition.contest.handlePause(now: now)
      if state == .growing || state == .holding || state == .silent {
        path.timing.resume(cycle: path.cycle, now: now)
      }
    }
    let hasArrivals = path.handleReport(
      roundTrip: sample, elapsed: elapsed, isStarting: state == .starting, now: now)
    if hasArrivals { path.losses.finishReport(isQueued: path.queue.standing > 2 * targetDelay) }
    let counted = hasArrivals ? min(elapsed, path.timing.constants.mostElapsed) : elapsed
    ecn.handleReport(elapsed: counted, cycle: path.cycle, now: now)
    path.queue.average(elapsed: counted)
    return counted
  }

  // MARK: Outputs

  /// What the pacer may send at: frames leave a little faster than they come.
  package var pacingRate: Double {
    if state == .draining { return estimate }
    let pacing = limits.tuning.pacing
    let gain = pacing.value(
      isFilled: isFilled, isStarting: state == .starting, variability: delayVariability)
    return estimate * (ecn.isActive ? pacing.marked : gain)
  }

  /// What padding may fill the path up to, in bit/s: a little more than the estimate, as long as it
  /// is the queue that says when that is too much.
  package var fillRate: Double {
    switch state {
    case .starting: .infinity
    case .growing, .holding:
      ecn.isActive || reason == .policer ? estimate : estimate * limits.tuning.pacing.fill
    case .competing: knownRate
    case .draining, .silent: estimate
    }
  }

  /// Bytes that may be under way before less urgent packets wait.
  package var inFlightLimit: Int {
    let flight = limits.tuning.flight
    let bits: Double
    if state == .draining {
      if isDominatedByUnpacedTraffic { return 0 }
      bits = flight.draining(path, capacity: drain.capacity)
    } else if state == .competing {
      bits = flight.competing(path, estimate: estimate)
    } else if hasBulk {
      let most = path.delivery.most + growth.constants.step
      let rate = state == .starting ? estimate : min(estimate, most)
      bits = flight.bulk(path, rate: rate, target: targetDelay)
    } else if limits.hasGaps, !isBusy {
      bits = flight.bulk(path, rate: estimate, target: targetDelay)
    } else {
      let isKnown = state != .starting && !path.timing.isResuming
      let rate =
        isKnown
        ? flight.rate(estimate, delivered: path.delivery.most, step: growth.constants.step)
        : estimate
      bits = flight.usual(path, rate: rate, target: targetDelay, variability: delayVariability)
    }
    return flight.byteCount(bits: bits, estimate: estimate, isDraining: state == .draining)
  }

  /// The estimate as far as it is known: whoever competes asks for more than is sure to come.
  package var knownRate: Double {
    state == .competing ? min(estimate, acknowledgedRate * limits.tuning.competingRoom) : estimate
  }

  /// The estimate as far as something of it has arrived: at its start it asks for twice as much.
  package var supportedRate: Double {
    state == .starting ? min(estimate, max(acknowledgedRate, limits.start)) : estimate
  }

  /// What the fallback machines are told.
  package func sighting(now: Instant) -> FallbackMachine.Sighting {
    let isUndecided =
      state == .draining && isElastic && !isLimited
      && competition.contest.isUndecided(drain, path, unpaced: unpacedRate)
    return FallbackMachine.Sighting(
      estimate: knownRate, loss: max(0, path.losses.recent), queueDelay: standingDelay,
      isHeard: path.timing.isHeard(now: now), deliveryRate: path.delivery.recent,
      isVariable: delayVariability > limits.tuning.pacing.filledVariability,
      isContested: state == .competing || competition.isSuspected, isUndecided: isUndecided)
  }

  /// How packets get lost lately, for whoever chooses a repair.
  package var losses: LossAccount { path.losses }

  /// What was acknowledged lately, in bit/s.
  package var acknowledgedRate: Double { path.delivery.acknowledged }

  /// The greatest delivery rate since the estimate began, in bit/s; 0 before the first report.
  package var maximumDeliveryRate: Double { path.delivery.maximum }

  /// Queueing delay, the least of the last moments: µs.
  package var standingDelay: Double { path.queue.standing }

  /// Unpaced traffic is so large a part of what the path carries that paced traffic can neither
  /// drain the queue beside it nor show other flows.
  var isDominatedByUnpacedTraffic: Bool {
    limits.tuning.unpaced.isDominant(unpacedRate, path.delivery)
  }

  /// Unpaced traffic is all that the path carries.
  var isOverloadedByUnpacedTraffic: Bool { isOverloadedByUnpacedTraffic(beyond: 0) }

  /// The same with a standing delay of `foreign` µs that is not its own.
  func isOverloadedByUnpacedTraffic(beyond foreign: Double) -> Bool {
    limits.tuning.unpaced.isOverload(unpacedRate, path, beyond: foreign, target: targetDelay)
  }

  /// Without our own queue, in nanoseconds.
  package var baseRoundTrip: UInt64 { UInt64(path.roundTrip.value * 1_000) }

  /// Packets wait on the path.
  package var isQueued: Bool { isBusy }

  /// How far the delay scatters beyond what frames, Wi-Fi and other flows make it, 0 to 1.
  var delayVariability: Double {
    path.variability.value(packetTime: PathMeasurement.packetBits / max(estimate, limits.start / 2))
  }

  /// The queueing delay to be held, in microseconds.
  var targetDelay: Double {
    let delay = target.value(
      rate: estimate / weight, scatter: path.queue.scatter, variability: delayVariability)
    return hasBulk ? delay + target.bulk(scatter: path.variability.scatter) : delay
  }

  /// IPv4 and UDP.
  private static let headerByteCount = 28
}
