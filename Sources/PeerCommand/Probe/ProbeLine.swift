package import Earshot

/// The `probe` line: the result as JSON, in the contract's words first, ours after them. What was
/// not measured is absent.
package enum ProbeLine {
  /// - Parameter isAlone: The line has the test over time as well, from which `inspect --report`
  ///   draws the probe's page again.
  package static func write(
    _ report: LineReport, _ rating: LineRating, isAlone: Bool = false, to lines: JSONLines
  ) {
    lines.write("probe") { object in
      Self.fill(&object, report, rating)
      if isAlone { addOverTime(report, to: &object) }
    }
  }

  package static func fill(
    _ object: inout JSONObject, _ report: LineReport, _ rating: LineRating
  ) {
    object.add("state", report.state.rawValue)
    object.add("quality", rating.grade.rawValue)
    object.add("rttMs", report.idleRoundTrip.map { milliseconds($0.delay) })
    object.add("loadedRttMs", worstLoaded(report).map(milliseconds))
    let residual = (rating.speech?.uplinkResidualLoss, rating.speech?.downlinkResidualLoss)
    object.add("uplink", report.uplink.map { direction($0, rating.uplinkGrade, residual.0) })
    object.add(
      "downlink", report.downlink.map { direction($0, rating.downlinkGrade, residual.1) })
    if report.state != .unavailable { object.add("fit", fit(rating.fitness)) }
    object.add("recommended", rating.recommended.map(settings))
    object.add("cost", cost(report.cost))
    object.add("mos", rating.speech.map { rounded($0.mos, 100) })
    object.add("mosBasis", rating.speech?.basis)
    object.add("conversationMos", rating.speech.map { rounded($0.conversationMos, 100) })
    object.add("ending", report.ending.rawValue)
    object.add("sentence", rating.sentence)
    object.add("basis", rating.recommended.map(basis))
    object.add("path", path(report.path))
    object.add("clock", report.clock.map(clock))
    object.add("plan", plan(report.plan))
    object.add("echoes", report.idleRoundTrip.map(echoes))
  }

  package static func addOverTime(_ report: LineReport, to object: inout JSONObject) {
    guard !report.timeline.isEmpty else { return }
    let phases = report.phases.map { span in
      var phase = JSONObject()
      phase.add("phase", span.phase.rawValue)
      phase.add("fromMs", rounded(span.from * 1000, 1))
      phase.add("toMs", rounded(span.to * 1000, 1))
      return phase.value
    }
    object.add("phases", JSONValue.array(phases))
    var timeline = JSONObject()
    for direction in LineDirection.allCases {
      let rows = report.timeline.filter { $0.direction == direction }.map(row)
      if !rows.isEmpty { timeline.add(direction.word, JSONValue.array(rows)) }
    }
    object.add("timeline", timeline)
  }

  /// `[atMs, sent, lost, sentBps]`; where packets arrived, the delay above the least: mean, most.
  private static func row(_ point: TimelinePoint) -> JSONValue {
    var row = [
      rounded(point.at * 1000, 1), Double(point.sent), Double(point.lost), point.sentRate.rounded(),
    ]
    if let mean = point.addedDelayMs, let most = point.largestAddedDelayMs {
      row += [rounded(max(0, mean), 100), rounded(max(0, most), 100)]
    }
    return .array(row.map(JSONValue.number))
  }

  // MARK: - Parts

  private static func worstLoaded(_ report: LineReport) -> DelaySummary? {
    [report.uplink, report.downlink].compactMap { $0?.loadedRoundTrip }
      .max { $0.p50Ms < $1.p50Ms }
  }

  private static func milliseconds(_ delay: DelaySummary) -> JSONObject {
    var object = JSONObject()
    object.add("min", rounded(delay.minimumMs, 1000))
    object.add("p50", rounded(delay.p50Ms, 1000))
    object.add("p95", rounded(delay.p95Ms, 1000))
    object.add("p99", rounded(delay.p99Ms, 1000))
    object.add("mean", delay.meanMs.map { rounded($0, 1000) })
    return object
  }

  private static func direction(
    _ side: DirectionReport, _ grade: LineGrade, _ residual: Double?
  ) -> JSONObject {
    var object = JSONObject()
    object.add("packetLossRate", side.loss.map { rounded($0.share, 1e6) })
    object.add("lossInterval95", side.loss.map { pair($0.low, $0.high, 1e6) })
    object.add("meanLossBurst", side.meanLossBurst.map { rounded($0, 1000) })
    if let variation = side.delayVariation {
      var jitter = JSONObject()
      jitter.add("p50", rounded(variation.p50Ms, 1000))
      jitter.add("p95", rounded(variation.p95Ms, 1000))
      jitter.add("p99", rounded(variation.p99Ms, 1000))
      object.add("jitterMs", jitter)
    }
    object.add("reordered", side.reordered)
    object.add("duplicated", side.duplicated)
    if let bandwidth = side.bandwidth {
      object.add("availableBandwidthBps", bandwidth.bitsPerSecond.rounded())
      object.add("bandwidthInterval95Bps", pair(bandwidth.low, bandwidth.high, 1))
      object.add("cappedByTest", bandwidth.limitedByTest)
      object.add("unsteady", bandwidth.isUnsteady)
      object.add("heldByHost", bandwidth.heldByHost)
      object.add("ranOutOfTime", bandwidth.ranOutOfTime)
    }
    object.add("otherEndLimitBps", side.otherEndLimit.map { $0.rounded() })
    object.add("sentShare", side.sentShare.map { rounded($0, 1000) })
    object.add("shared", side.isShared)
    object.add("quality", grade.rawValue)
    object.add("overloadLossRate", side.overloadLoss.map { rounded($0.share, 1e6) })
    object.add("loadedRttMs", side.loadedRoundTrip.map(milliseconds))
    if let trip = side.loadedRoundTrip?.p50Ms, trip > 0 {
      object.add("roundTripsPerMinute", (60_000 / trip).rounded())
    }
    object.add("ecn", side.ecn?.rawValue)
    object.add("packetsSent", side.sent)
    object.add("packetsReceived", side.received)
    object.add("predictedResidualLossRate", residual.map { rounded($0, 1e6) })
    return object
  }

  private static func fit(_ fitness: Fitness) -> JSONObject {
    var object = JSONObject()
    for use in LineUse.allCases { object.add(use.rawValue, fitness[use].rawValue) }
    object.add("limit", fitness.limit)
    return object
  }

  private static func settings(_ settings: RecommendedSettings) -> JSONObject {
    var object = JSONObject()
    object.add("audioBitrateBps", settings.audioBitrate)
    object.add("fec", settings.usesFEC)
    object.add("jitterBufferStartMs", settings.jitterBufferStartMs)
    object.add("videoMaxBps", settings.videoCeiling)
    object.add("frameMs", settings.frameMilliseconds)
    return object
  }

  private static func basis(_ settings: RecommendedSettings) -> JSONObject {
    var object = JSONObject()
    object.add("audioBitrateBps", settings.audioBasis)
    object.add("fec", settings.fecBasis)
    object.add("jitterBufferStartMs", settings.jitterBufferBasis)
    object.add("videoMaxBps", settings.videoBasis)
    return object
  }

  private static func echoes(_ trip: RoundTripReport) -> JSONObject {
    var object = JSONObject()
    object.add("sent", trip.sent)
    object.add("answered", trip.answered)
    return object
  }

  private static func cost(_ cost: ProbeCost) -> JSONObject {
    var object = JSONObject()
    object.add("seconds", rounded(cost.seconds, 1000))
    object.add("bytesSent", cost.bytesSent)
    object.add("bytesReceived", cost.bytesReceived)
    if cost.sendBudget > 0 { object.add("sendBudgetBytes", cost.sendBudget) }
    if cost.receiveBudget > 0 { object.add("receiveBudgetBytes", cost.receiveBudget) }
    if cost.refusedByHost > 0 { object.add("packetsRefusedByHost", cost.refusedByHost) }
    if cost.overflowedHere > 0 { object.add("packetsOverflowedHere", cost.overflowedHere) }
    return object
  }

  private static func path(_ path: PathFacts) -> JSONObject {
    var object = JSONObject()
    object.add("kind", path.kind?.rawValue)
    object.add("remote", path.remote.map { "\($0)" })
    object.add("seenAs", path.seenAs.map { "\($0)" })
    object.add("family", path.family.map { $0 == .v4 ? "IPv4" : "IPv6" })
    object.add("mapping", path.mapping?.rawValue)
    object.add("largestUplinkPacketBytes", path.largestUplinkPacket)
    object.add("largestDownlinkPacketBytes", path.largestDownlinkPacket)
    return object
  }

  private static func clock(_ clock: ClockQuality) -> JSONObject {
    var object = JSONObject()
    object.add("resolutionUs", clock.resolutionUs)
    object.add("driftPpm", clock.driftPpm.map { rounded($0, 10) })
    object.add("driftUncertaintyPpm", clock.driftUncertaintyPpm.map { rounded($0, 10) })
    object.add("sendLatenessP95Us", clock.sendLatenessP95Us)
    object.add("arrivalStamps", clock.stamps?.rawValue)
    return object
  }

  private static func plan(_ plan: ProbePlan) -> JSONObject {
    var object = JSONObject()
    if plan.probesUplink { object.add("expectedUplinkBps", plan.expectedUplink) }
    if plan.probesDownlink { object.add("expectedDownlinkBps", plan.expectedDownlink) }
    object.add("seconds", plan.seconds)
    object.add("loading", plan.loading.rawValue)
    object.add("bandwidth", plan.measuresBandwidth)
    return object
  }

  private static func pair(_ low: Double, _ high: Double, _ scale: Double) -> JSONValue {
    .array([.number(rounded(low, scale)), .number(rounded(high, scale))])
  }

  private static func rounded(_ value: Double, _ scale: Double) -> Double {
    (value * scale).rounded() / scale
  }
}
