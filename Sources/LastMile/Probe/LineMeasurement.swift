import Primitives

/// What a probe has measured so far, and the report about it (docs/protocol/probe.md §5).
struct LineMeasurement: Sendable {
  let plan: ProbePlan
  let path: PathFacts
  var up: ProbeSide
  var down: ProbeSide
  var trips = EchoTrips()
  /// By how much packets of trains left later than planned, in ns.
  private var lateness: [Int64] = []

  init(_ plan: ProbePlan, path: PathFacts) {
    self.plan = plan
    self.path = path
    up = ProbeSide(.uplink, plan: plan)
    down = ProbeSide(.downlink, plan: plan)
  }

  subscript(direction: LineDirection) -> ProbeSide {
    get { direction == .uplink ? up : down }
    _modify {
      if direction == .uplink { yield &up } else { yield &down }
    }
  }

  mutating func appendLateness(_ nanoseconds: UInt64) {
    lateness.append(Int64(clamping: nanoseconds))
  }

  // MARK: - The report

  func makeReport(
    _ ending: LineReport.Ending, schedule: ProbeSchedule, bytes: ProbeBytes, now: Instant
  ) -> LineReport {
    var report = LineReport(plan: plan, path: path, ending: ending)
    report.phases = schedule.spans
    report.cost = cost(bytes, seconds: Double(now.nanoseconds(since: schedule.began)) / 1e9)
    guard !trips.isEmpty else { return report }
    report.idleRoundTrip = idleRoundTrip
    if up.isProbed { report.uplink = directionReport(up, in: schedule.phase, now: now) }
    if down.isProbed { report.downlink = directionReport(down, in: schedule.phase, now: now) }
    report.path.largestUplinkPacket = largest(up)
    report.path.largestDownlinkPacket = largest(down)
    let drift = ClockDrift(up: up.packets.entries, down: down.packets.entries)
    report.clock = ClockQuality(
      resolutionUs: 16, driftPpm: drift?.partsPerMillion, driftUncertaintyPpm: drift?.uncertainty,
      sendLatenessP95Us: DelaySummary(nanoseconds: lateness).map { $0.p95Ms * 1000 })
    if plan.keepsPackets {
      report.packets = ProbedPacket.all(
        up: up.packets.entries, down: down.packets.entries, began: schedule.began,
        roundTripMs: report.idleRoundTrip?.delay.minimumMs ?? 0)
    }
    report.timeline = Timeline.points(up: up, down: down, began: schedule.began)
    let lacksBandwidth =
      (up.isProbed && report.uplink?.bandwidth == nil)
      || (down.isProbed && report.downlink?.bandwidth == nil)
    report.state = lacksBandwidth ? .incompleteNoBandwidth : .complete
    return report
  }

  private func cost(_ bytes: ProbeBytes, seconds: Double) -> ProbeCost {
    var cost = ProbeCost()
    cost.seconds = seconds
    cost.bytesSent = bytes.sent
    cost.bytesReceived = bytes.received
    cost.sendBudget = bytes.uplinkLimit
    cost.receiveBudget = bytes.downlinkLimit
    return cost
  }

  private func largest(_ side: ProbeSide) -> Int? {
    side.packets.entries.lazy.filter(\.isReceived).map { Int($0.byteCount) }.max()
  }

  private var idleRoundTrip: RoundTripReport? {
    guard var delay = DelaySummary(nanoseconds: trips.idle) else { return nil }
    let upward = up.packets.limitingDelay { $0.part != .loaded }
    let downward = down.packets.limitingDelay { $0.part != .loaded }
    if let upward, let downward {
      // The two were unwrapped from different origins: only the remainder means anything.
      let least = ((upward &+ downward) % Self.commonRange &+ Self.commonRange) % Self.commonRange
      delay.minimumMs = min(delay.minimumMs, Double(least) / 1e6)
    }
    return RoundTripReport(
      delay: delay, sent: max(trips.sentCount, trips.idle.count), answered: trips.idle.count)
  }

  /// 2^32 µs in ns, after which both times that cross the wire repeat.
  private static let commonRange: Int64 = (1 << 32) * 1000

  private func directionReport(
    _ side: ProbeSide, in phase: ProbePhase, now: Instant
  ) -> DirectionReport {
    let entries = side.packets.entries
    var report = DirectionReport(
      sent: entries.count, received: side.packets.receivedCount,
      reordered: side.packets.reordered, duplicated: side.packets.duplicated)
    var calm = LossCount()
    var loaded = LossCount()
    let settled = settledCount(side, in: phase, now: now)
    for entry in entries.prefix(settled) {
      switch entry.part {
      case .idle, .steady: calm.add(entry)
      case .loaded: loaded.add(entry)
      case .ramp, .last: break
      }
    }
    report.loss = calm.estimate
    report.ecn = ECNSurvival(
      received: side.packets.receivedCount, marked: side.packets.marked,
      bleached: side.packets.bleached)
    report.meanLossBurst = calm.meanBurst
    report.overloadLoss = loaded.estimate
    report.delayVariation = delayVariation(side)
    let fit = bandwidthFit(side)
    report.bandwidth = fit.map { bandwidth(side, $0) }
    report.loadedRoundTrip = loadedRoundTrip(side)
    report.otherEndLimit = side.otherLimit
    report.sentShare = side.sentShare
    report.isShared = isShared(side, fit) || report.bandwidth?.isUnsteady == true
    return report
  }

  /// What was sent lately may be on its way, or its report may.
  private func settledCount(_ side: ProbeSide, in phase: ProbePhase, now: Instant) -> Int {
    let entries = side.packets.entries
    let last = entries.lastIndex(where: \.isReceived) ?? -1
    guard side.direction == .uplink, phase == .finishing else { return last + 1 }
    let recent = Int64(clamping: (now - trips.roundTrip - .milliseconds(300)).nanoseconds)
    return max(last + 1, entries.firstIndex { $0.sent > recent } ?? entries.count)
  }

  private func delayVariation(_ side: ProbeSide) -> DelaySummary? {
    let delays = side.packets.entries.lazy.filter {
      $0.isReceived && ($0.part == .idle || $0.part == .steady)
    }.map(\.delay)
    guard let least = side.packets.leastDelay(where: { $0.part == .idle || $0.part == .steady })
    else { return nil }
    return DelaySummary(nanoseconds: delays.map { $0 - least })
  }

  private func loadedRoundTrip(_ side: ProbeSide) -> DelaySummary? {
    guard let idle = DelaySummary(nanoseconds: trips.idle) else { return nil }
    var quiet: [Int64] = []
    var loaded: [Int64] = []
    for entry in side.packets.entries where entry.isReceived {
      if entry.part == .idle { quiet.append(entry.delay) }
      if entry.part == .loaded { loaded.append(entry.delay) }
    }
    guard loaded.count >= 20, !quiet.isEmpty else { return nil }
    quiet.sort()
    let zero = quiet[quiet.count / 2] - Int64(idle.p50Ms * 1e6)
    return DelaySummary(nanoseconds: loaded.map { $0 - zero })
  }

  private func bandwidthFit(_ side: ProbeSide) -> BandwidthFit? {
    let loaded = side.packets.entries.filter { $0.part == .loaded }
    guard loaded.count >= 20, let base = side.base, let longest = side.packets.longestDelay
    else { return nil }
    let isDense = Self.isDense(loaded)
    var fit = BandwidthFit(
      loaded, base: base, calm: side.calmLoss, longest: longest,
      before: isDense ? [] : side.packets.entries.filter { $0.part == .steady },
      idle: side.packets.entries.filter { $0.part == .idle })
    if isDense { fit?.error += Self.denseDoubt }
    return fit
  }

  private func bandwidth(_ side: ProbeSide, _ fit: BandwidthFit) -> BandwidthEstimate {
    let limit = side.expected
    let isLimited = fit.rate >= limit * 0.985
    var estimate = BandwidthEstimate(
      bitsPerSecond: min(limit, fit.rate), low: max(0, min(limit, fit.low)),
      high: isLimited || !fit.isBusy ? limit : min(limit, fit.high),
      limitedByTest: isLimited,
      isUnsteady: fit.isUnsteady)
    guard !isLimited, !fit.isBusy else { return estimate }
    estimate.heldByHost = (side.sentShare ?? 1) < Self.leastShare
    estimate.ranOutOfTime = !estimate.heldByHost
    return estimate
  }

  /// Where packets are close, jitter that keeps their order delays them the longer the closer they
  /// are: what was sent at another pace is not measured by the same zero.
  private static func isDense(_ loaded: [TestPackets.Entry]) -> Bool { gap(loaded) < leastGap }

  /// From one packet to the next, in ns; infinite where there are none.
  private static func gap(_ loaded: [TestPackets.Entry]) -> Double {
    guard let first = loaded.first, let last = loaded.last, last.sent > first.sent else {
      return .infinity
    }
    return Double(last.sent - first.sent) / Double(loaded.count)
  }

  /// ns: below those of 5 Mbit/s.
  private static let leastGap = 1.67e6
  /// Added to the half width, as a share: tuned so that the interval holds the rate
  /// (`tools/probe-accuracy --fast`). What is lost behind a fast line is not known to a packet.
  private static let denseDoubt = 0.0025
  /// Standard deviation of the delays, in gaps.
  private static let mostSpread = 1.5

  /// Below it, what was sent was not what the test meant to send.
  private static let leastShare = 0.9

  /// The mean delay of a shared line holds somebody else's queue; the least may not.
  private func isShared(_ side: ProbeSide, _ fit: BandwidthFit?) -> Bool {
    let entries = side.packets.entries
    if ForeignQueue.isSeen(in: entries.filter { $0.part == .idle }) { return true }
    guard let base = side.base, fit?.isHeldUp != true else { return false }
    let least = side.packets.leastDelay { $0.part == .steady }.map { Double($0) } ?? base
    let loaded = entries.filter { $0.part == .loaded }
    // Jitter of many packets' length leaves nothing of what stood between two of them.
    guard !Self.isDense(loaded) || side.spread < Self.mostSpread * Self.gap(loaded) else {
      return false
    }
    return ForeignGaps.isSeen(in: loaded, base: min(base, least))
  }
}
