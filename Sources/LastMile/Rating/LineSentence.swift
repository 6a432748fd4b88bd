/// Puts a report into one sentence: what the line is good for, which side is weak and why, and what
/// to expect when it is full.
enum LineSentence {
  static func text(
    _ report: LineReport, _ fitness: Fitness, uplink: LineGrade, downlink: LineGrade
  ) -> String {
    guard report.state != .unavailable else { return unavailable(report) }
    var parts = [use(fitness)]
    if let side = side(report, uplink, downlink) { parts.append(side) }
    if let bloat = bloat(report) { parts.append(bloat) }
    if report.uplink?.isShared == true || report.downlink?.isShared == true {
      parts.append("somebody else seems to use the line")
    }
    if let host = host(report) { parts.append(host) }
    if let short = short(report) { parts.append(short) }
    if let missing = missing(report) { parts.append(missing) }
    return parts.joined(separator: "; ") + "."
  }

  // MARK: - What it is good for

  private static func use(_ fitness: Fitness) -> String {
    if fitness.hd == .yes { return "Good for voice and 720p video" }
    if fitness.video == .yes { return "Good for voice and 360p video" }
    let because = fitness.limit.map { " (\($0))" } ?? ""
    switch (fitness.voice, fitness.video) {
    case (.yes, .maybe): return "Good for voice, perhaps for 360p video" + because
    case (.yes, _): return "Good for voice, not for video" + because
    case (.maybe, _): return "Voice will work, not always well" + because
    case (.no, _): return "Not fit for a call" + because
    }
  }

  // MARK: - Which side is weak

  private static func side(
    _ report: LineReport, _ uplink: LineGrade, _ downlink: LineGrade
  ) -> String? {
    guard let up = report.uplink, let down = report.downlink else {
      return (report.uplink ?? report.downlink).flatMap { only in
        let found = facts(only)
        let direction = report.uplink == nil ? LineDirection.downlink : .uplink
        return found.isEmpty ? nil : "the \(direction.word) alone was tested: \(found)"
      }
    }
    guard let weak = weaker(up, down, uplink, downlink) else {
      let found = facts(up)
      return found.isEmpty ? nil : "both directions alike: \(found)"
    }
    let found = facts(weak == .uplink ? up : down)
    return "the \(weak.word) is the weak side" + (found.isEmpty ? "" : ": \(found)")
  }

  /// By grade, then by rate, then by loss; `nil` when neither is clearly weaker.
  private static func weaker(
    _ up: DirectionReport, _ down: DirectionReport, _ uplink: LineGrade, _ downlink: LineGrade
  ) -> LineDirection? {
    if uplink != downlink { return uplink > downlink ? .uplink : .downlink }
    if let one = up.bandwidth, let other = down.bandwidth {
      // A rate at which the test ended says nothing of which line is the faster one.
      let (first, second) = (one.bitsPerSecond, other.bitsPerSecond)
      if !one.isLowerBound, first * 1.2 < second { return .uplink }
      if !other.isLowerBound, second * 1.2 < first { return .downlink }
    }
    let difference = (up.loss?.share ?? 0) - (down.loss?.share ?? 0)
    if abs(difference) > 0.01 { return difference > 0 ? .uplink : .downlink }
    return nil
  }

  private static func facts(_ direction: DirectionReport) -> String {
    var facts: [String] = []
    if let bandwidth = direction.bandwidth {
      let rate = Figures.rate(bandwidth.bitsPerSecond)
      facts.append(bandwidth.isLowerBound ? "at least \(rate)" : rate)
    }
    if let loss = direction.loss ?? direction.overloadLoss, loss.share >= 0.005 {
      facts.append("loss \(Figures.percent(loss.share))")
    }
    if let variation = direction.delayVariation, variation.p95Ms > 20 {
      facts.append("jitter \(Figures.milliseconds(variation.p95Ms))")
    }
    return facts.joined(separator: ", ")
  }

  // MARK: - What else there is

  /// Delay that a full line adds, where people would notice it.
  private static func bloat(_ report: LineReport) -> String? {
    guard let idle = report.idleRoundTrip else { return nil }
    let loaded = LineDirection.allCases.compactMap { direction in
      report[direction]?.loadedRoundTrip.map { (direction, $0.p50Ms - idle.delay.p50Ms) }
    }
    guard let worst = loaded.max(by: { $0.1 < $1.1 }), worst.1 >= 100 else { return nil }
    return "a full \(worst.0.word) adds \(Figures.milliseconds(worst.1)) of delay"
  }

  /// What a host did to the test, and the line did not.
  private static func host(_ report: LineReport) -> String? {
    if report.cost.refusedByHost > 0 || report.uplink?.bandwidth?.heldByHost == true {
      return "this host could not send as fast as the test, which may hide what the line carries"
    }
    if report.cost.overflowedHere > 0 {
      return "this host was too slow for some packets that came, which count as lost"
    }
    if report.downlink?.bandwidth?.heldByHost == true {
      return "the other host could not send as fast as the test"
    }
    return nil
  }

  /// Where the test's time was over before its load had found the line's rate.
  private static func short(_ report: LineReport) -> String? {
    let sides = LineDirection.allCases.filter { report[$0]?.bandwidth?.ranOutOfTime == true }
    guard let first = sides.first else { return nil }
    let which = sides.count == 2 ? "both directions" : "the \(first.word)"
    return "time was over before \(which) could be filled: a longer --duration finds the rate"
  }

  private static func missing(_ report: LineReport) -> String? {
    switch report.ending {
    case .cancelled: return "interrupted, so this is not the whole of it"
    case .sessionLost, .noAnswer: return "the other end fell silent before the end"
    case .callInProgress: return "a call began before the end"
    case .budgetSpent: return "the other end had sent all it was asked for before the end"
    case .underWay: return "bandwidth is still being measured"
    default:
      return report.state == .incompleteNoBandwidth && report.plan.measuresBandwidth
        ? "bandwidth could not be measured" : nil
    }
  }

  private static func unavailable(_ report: LineReport) -> String {
    let seconds = Figures.short(report.plan.seconds)
    switch report.ending {
    case .noAnswer:
      // Whoever is not known, or not online, is told of at once.
      let isEarly = report.cost.seconds > 0 && report.cost.seconds < 0.9 * report.plan.seconds
      return isEarly
        ? "The other end is not there, or fell silent."
        : "The other end did not answer within \(seconds) s."
    case .noPath:
      return "The other end accepted, and no path between the two hosts carried packets; earshot "
        + "doctor on both hosts says what is in the way."
    case .busy: return "The other end is busy with a call or with other probes; try again later."
    case .notAllowed: return "The other end does not let itself be probed."
    case .callInProgress: return "A call is in progress here, and has priority."
    case .sessionLost: return "Contact with the other end was lost before anything was measured."
    case .budgetSpent: return "The other end had nothing more to send before anything was measured."
    case .notSupported: return "The other end runs a version that knows no probes."
    case .unknownPeer: return "Nobody is known by that name or ID."
    case .ownIdentity:
      return "That is this identity itself: probe another one, or give it --identity of its own."
    case .notOnline: return "The other end is not online."
    case .identityChanged: return "The other end is not who it was; its line was not probed."
    case .cancelled: return "Interrupted before anything was measured."
    case .underWay: return "Nothing is known yet."
    case .finished: return "Nothing could be measured."
    }
  }
}
