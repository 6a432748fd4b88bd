package import Earshot

/// What a probe found, read again from its `probe` line. Nobody has checked the line: a figure that
/// is none, or out of any range, is absent.
extension LineReport {
  /// `nil` for a line that is no probe's.
  package init?(probeLine line: JSONValue) {
    guard let state = line["state"]?.asString.flatMap(State.init),
      let ending = line["ending"]?.asString.flatMap(Ending.init)
    else { return nil }
    self.init(plan: Self.plan(line["plan"]), path: PathFacts(line["path"]), ending: ending)
    self.state = state
    if let delay = DelaySummary(line["rttMs"]) {
      let echoes = line["echoes"]
      idleRoundTrip = RoundTripReport(
        delay: delay, sent: Int(echoes.figure("sent") ?? 0),
        answered: Int(echoes.figure("answered") ?? 0))
    }
    uplink = DirectionReport(line["uplink"])
    downlink = DirectionReport(line["downlink"])
    clock = ClockQuality(line["clock"])
    cost = ProbeCost(line["cost"])
    phases = PhaseSpan.all(line["phases"])
    timeline = LineDirection.allCases.flatMap { TimelinePoint.all(line["timeline"], $0) }
      .sorted { $0.at < $1.at }
  }

  private static func plan(_ value: JSONValue?) -> ProbePlan {
    var plan = ProbePlan()
    let (up, down) = (value.figure("expectedUplinkBps"), value.figure("expectedDownlinkBps"))
    if up != nil || down != nil {
      (plan.probesUplink, plan.probesDownlink) = (up != nil, down != nil)
    }
    plan.expectedUplink = up.map { Int($0) } ?? plan.expectedUplink
    plan.expectedDownlink = down.map { Int($0) } ?? plan.expectedDownlink
    plan.seconds = value.figure("seconds") ?? plan.seconds
    plan.loading = value?["loading"]?.asString.flatMap(ProbePlan.Loading.init) ?? plan.loading
    plan.measuresBandwidth = value?["bandwidth"]?.asBoolean ?? true
    return plan
  }
}

extension JSONValue? {
  /// A number of an object that can be one of ours: neither negative nor endless.
  fileprivate func figure(_ name: String) -> Double? {
    self?[name]?.asNumber.flatMap { (0...1e15).contains($0) ? $0 : nil }
  }

  fileprivate func count(_ name: String) -> Int { figure(name).map { Int($0) } ?? 0 }

  fileprivate func share(_ name: String) -> Double? {
    figure(name).flatMap { $0 <= 1 ? $0 : nil }
  }

  /// Two numbers.
  fileprivate func pair(_ name: String) -> (Double, Double)? {
    guard case .array(let values)? = self?[name], values.count == 2,
      let low = values[0].asNumber, let high = values[1].asNumber, low <= high,
      (0...1e15).contains(low), (0...1e15).contains(high)
    else { return nil }
    return (low, high)
  }
}

extension DelaySummary {
  fileprivate init?(_ value: JSONValue?) {
    guard let p50 = value.figure("p50"), let p95 = value.figure("p95"),
      let p99 = value.figure("p99")
    else { return nil }
    self.init(
      minimumMs: value.figure("min") ?? 0, p50Ms: p50, p95Ms: p95, p99Ms: p99, sampleCount: 0)
    meanMs = value.figure("mean")
  }
}

extension ShareEstimate {
  /// The line has shares and intervals, and not of how many.
  fileprivate init?(_ share: Double?, _ interval: (Double, Double)?) {
    guard let share else { return nil }
    self.init(hits: Int((share * 1e6).rounded()), of: 1_000_000)
    guard let interval, interval.1 <= 1 else { return }
    (low, high) = interval
  }
}

extension DirectionReport {
  fileprivate init?(_ value: JSONValue?) {
    guard let value else { return nil }
    let side: JSONValue? = value
    self.init(
      sent: side.count("packetsSent"), received: side.count("packetsReceived"),
      reordered: side.count("reordered"), duplicated: side.count("duplicated"))
    loss = ShareEstimate(side.share("packetLossRate"), side.pair("lossInterval95"))
    overloadLoss = ShareEstimate(side.share("overloadLossRate"), nil)
    meanLossBurst = side.figure("meanLossBurst")
    delayVariation = DelaySummary(value["jitterMs"])
    loadedRoundTrip = DelaySummary(value["loadedRttMs"])
    ecn = value["ecn"]?.asString.flatMap(ECNSurvival.init)
    bandwidth = BandwidthEstimate(side)
    otherEndLimit = side.figure("otherEndLimitBps")
    sentShare = side.figure("sentShare")
    isShared = value["shared"]?.asBoolean ?? false
  }
}

extension BandwidthEstimate {
  fileprivate init?(_ side: JSONValue?) {
    guard let rate = side.figure("availableBandwidthBps") else { return nil }
    let interval = side.pair("bandwidthInterval95Bps") ?? (rate, rate)
    self.init(
      bitsPerSecond: rate, low: interval.0, high: interval.1,
      limitedByTest: side?["cappedByTest"]?.asBoolean ?? false,
      isUnsteady: side?["unsteady"]?.asBoolean ?? false)
    heldByHost = side?["heldByHost"]?.asBoolean ?? false
    ranOutOfTime = side?["ranOutOfTime"]?.asBoolean ?? false
  }
}

extension PathFacts {
  fileprivate init(_ value: JSONValue?) {
    self.init()
    kind = value?["kind"]?.asString.flatMap(Kind.init)
    remote = value?["remote"]?.asString.flatMap { SocketAddress($0) }
    seenAs = value?["seenAs"]?.asString.flatMap { SocketAddress($0) }
    mapping = value?["mapping"]?.asString.flatMap(Mapping.init)
    largestUplinkPacket = value.figure("largestUplinkPacketBytes").map { Int($0) }
    largestDownlinkPacket = value.figure("largestDownlinkPacketBytes").map { Int($0) }
  }
}

extension ClockQuality {
  fileprivate init?(_ value: JSONValue?) {
    guard let step = value.figure("resolutionUs") else { return nil }
    let drift = value?["driftPpm"]?.asNumber.flatMap { abs($0) < 1e6 ? $0 : nil }
    self.init(
      resolutionUs: step, driftPpm: drift,
      driftUncertaintyPpm: value.figure("driftUncertaintyPpm"),
      sendLatenessP95Us: value.figure("sendLatenessP95Us"),
      stamps: value?["arrivalStamps"]?.asString.flatMap(Stamps.init))
  }
}

extension ProbeCost {
  fileprivate init(_ value: JSONValue?) {
    self.init()
    seconds = value.figure("seconds") ?? 0
    bytesSent = value.count("bytesSent")
    bytesReceived = value.count("bytesReceived")
    sendBudget = value.count("sendBudgetBytes")
    receiveBudget = value.count("receiveBudgetBytes")
    refusedByHost = value.count("packetsRefusedByHost")
    overflowedHere = value.count("packetsOverflowedHere")
  }
}

extension PhaseSpan {
  /// More are none of a probe's.
  private static let most = 20

  fileprivate static func all(_ value: JSONValue?) -> [PhaseSpan] {
    guard case .array(let values)? = value else { return [] }
    return values.prefix(most).compactMap { one in
      let span: JSONValue? = one
      guard let phase = one["phase"]?.asString.flatMap(ProbePhase.init),
        let from = span.figure("fromMs"), let to = span.figure("toMs"), to >= from
      else { return nil }
      return PhaseSpan(phase: phase, from: from / 1000, to: to / 1000)
    }
  }
}

extension TimelinePoint {
  /// Of each direction (`LineReport.timeline`).
  private static let most = 300

  /// Rows of `[atMs, sent, lost, sentBps]`, with `[…, meanMs, mostMs]` where packets arrived.
  fileprivate static func all(_ value: JSONValue?, _ direction: LineDirection) -> [TimelinePoint] {
    guard case .array(let rows)? = value?[direction.word] else { return [] }
    return rows.prefix(most).compactMap { row in
      guard case .array(let values) = row else { return nil }
      let numbers = values.compactMap { $0.asNumber.flatMap { (0...1e12).contains($0) ? $0 : nil } }
      guard numbers.count == values.count, [4, 6].contains(numbers.count) else { return nil }
      var point = TimelinePoint(direction: direction, at: numbers[0] / 1000)
      (point.sent, point.lost) = (Int(numbers[1]), Int(numbers[2]))
      point.sentRate = numbers[3]
      guard numbers.count == 6 else { return point }
      (point.addedDelayMs, point.largestAddedDelayMs) = (numbers[4], numbers[5])
      return point
    }
  }
}
