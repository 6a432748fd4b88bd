import Primitives

/// What a prober does in each phase.
extension Prober {
  mutating func beginPhase(now: Instant) {
    switch phase {
    case .asking: break
    case .idle: echoes.start(at: now)
    case .ramp: echoes.stop()
    case .steady: beginSteady(now: now)
    case .loadedDownlink: beginLoad(.downlink, now: now)
    case .loadedUplink: beginLoad(.uplink, now: now)
    case .loadedBoth:
      beginLoad(.downlink, now: now)
      beginLoad(.uplink, now: now)
    case .finishing:
      trains.stop(&line)
      requests.askForReport()
      // The clocks' drift shows in what the same packets need now.
      if plan.measuresBandwidth { echoes.start(at: now + Self.drain) }
    }
  }

  mutating func advancePhase(now: Instant) {
    switch phase {
    case .asking: break
    case .idle: advanceIdle(now: now)
    case .ramp: advanceRamp(now: now)
    case .steady: advanceSteady(now: now)
    case .loadedDownlink, .loadedUplink, .loadedBoth: advanceLoad(now: now)
    case .finishing: advanceFinish(now: now)
    }
  }

  private mutating func advanceIdle(now: Instant) {
    guard schedule.hasLasted(schedule.idleTime, now: now) else { return }
    enter(plan.measuresBandwidth ? .ramp : .finishing, now: now)
  }

  // MARK: - Ramp

  private mutating func advanceRamp(now: Instant) {
    let isLate =
      schedule.hasLasted(schedule.longestRamp, now: now)
      || now >= schedule.latestRamp
    let upIsDone = advanceRamp(.uplink, isLate: isLate, now: now)
    let downIsDone = advanceRamp(.downlink, isLate: isLate, now: now)
    guard upIsDone, downIsDone else { return }
    trains.stop(&line)
    enter(.steady, now: now)
  }

  /// Whether the direction's ramp is over.
  private mutating func advanceRamp(
    _ direction: LineDirection, isLate: Bool, now: Instant
  ) -> Bool {
    guard let rate = line[direction].nextRampRate else { return true }
    guard let train = line[direction].train else {
      startRampTrain(direction, rate: rate, now: now)
      return false
    }
    let isSettled = line[direction].isSettled(train, roundTrip: line.trips.roundTrip, now: now)
    guard isSettled || isLate else { return false }
    // Half a train would look like a train of which half was lost.
    if isSettled { line[direction].concludeRamp(of: train) }
    guard let next = line[direction].nextRampRate, !isLate else {
      line[direction].endRamp()
      return true
    }
    startRampTrain(direction, rate: next, now: now)
    return false
  }

  private mutating func startRampTrain(
    _ direction: LineDirection, rate: Double, now: Instant
  ) {
    let size = ProbeSide.payloadByteCount(rate: rate, overhead: bytes.overhead)
    let count = max(20, Int(rate * 0.1 / Double(8 * (size + bytes.overhead))))
    startTrain(direction, .ramp, rate: rate, payloadByteCount: size, count: count, now: now)
  }

  // MARK: - Steady

  private mutating func beginSteady(now: Instant) {
    let loads =
      plan.loading == .atOnce
      ? 1.0 : Double((line.up.rough == nil ? 0 : 1) + (line.down.rough == nil ? 0 : 1))
    let seconds = schedule.steadySeconds(roundTrip: line.trips.roundTrip, loads: loads, now: now)
    schedule.beginSteady(seconds: seconds * affordableShare(ofSteady: seconds), now: now)
    for direction in LineDirection.allCases {
      guard let rate = line[direction].roughRate else { continue }
      // The same size as under load, so that the delays compare.
      let size = ProbeSide.payloadByteCount(rate: rate, overhead: bytes.overhead)
      startTrain(
        direction, .steady, rate: ProbeSide.steadyShare * rate, payloadByteCount: size,
        count: Int(UInt16.max), now: now)
    }
  }

  /// How much of a steady part, and of the load after it, the byte limits allow.
  private func affordableShare(ofSteady seconds: Double) -> Double {
    var share = 1.0
    for side in [line.up, line.down] {
      guard let rate = side.roughRate else { continue }
      let load = ProbeSide.loadShare * ProbeSchedule.loadShare * seconds
      let wanted = rate * (ProbeSide.steadyShare * seconds + load) / 8
      let limit = Double(bytes.left(side.direction)) * 0.85
      if wanted > limit { share = min(share, limit / wanted) }
    }
    return share
  }

  private mutating func advanceSteady(now: Instant) {
    if now >= schedule.steadyEnds { return leaveSteady(now: now) }
    for direction in LineDirection.allCases {
      guard let train = line[direction].train, line[direction].rough != nil,
        now >= train.began + line.trips.roundTrip + .milliseconds(300),
        line[direction].isOverloaded(train, overhead: bytes.overhead)
      else { continue }
      // What the ramp showed was too much: its lesson is taken back, and so is this part's.
      line[direction].retreat(from: train)
      startTrain(
        direction, .steady, rate: train.rate * ProbeSide.retreatShare,
        payloadByteCount: train.payloadByteCount, count: Int(UInt16.max), now: now)
      schedule.prolongSteady()
    }
  }

  private mutating func leaveSteady(now: Instant) {
    trains.stop(&line)
    let (hasDown, hasUp) = (line.down.rough != nil, line.up.rough != nil)
    // A report now would be in the way of the downlink's load.
    if line.up.isProbed, !hasDown { requests.askForReport() }
    if plan.loading == .atOnce, hasDown, hasUp {
      enter(.loadedBoth, now: now)
    } else if hasDown {
      enter(.loadedDownlink, now: now)
    } else {
      enter(hasUp ? .loadedUplink : .finishing, now: now)
    }
  }

  // MARK: - Load

  private mutating func beginLoad(_ direction: LineDirection, now: Instant) {
    guard let load = line[direction].beginLoad(now: now), let rate = line[direction].roughRate
    else { return }
    schedule.beginLoad(now: now)
    startTrain(
      direction, .loaded, rate: load,
      payloadByteCount: ProbeSide.payloadByteCount(rate: rate, overhead: bytes.overhead),
      count: Int(UInt16.max), now: now)
  }

  private mutating func advanceLoad(now: Instant) {
    guard now < schedule.loadEnds else {
      trains.stop(&line)
      let isNext = phase == .loadedDownlink && line.up.rough != nil
      if line.up.isProbed { requests.askForReport() }
      return enter(isNext ? .loadedUplink : .finishing, now: now)
    }
    for direction in LineDirection.allCases {
      guard let rate = line[direction].steerLoad(roundTrip: line.trips.roundTrip, now: now),
        direction == .uplink
      else { continue }
      trains.changePace(rate: rate, overhead: bytes.overhead, now: now)
    }
  }

  // MARK: - The end

  private mutating func advanceFinish(now: Instant) {
    let isComplete = Int(requests.reportedThrough) >= line.up.packets.entries.count
    let patience = line.trips.roundTrip + .milliseconds(isComplete ? 120 : 400)
    if schedule.hasLasted(patience, now: now) { finish(.finished, now: now) }
  }

  private mutating func startTrain(
    _ direction: LineDirection, _ part: TestPackets.Part, rate: Double, payloadByteCount: Int,
    count: Int, now: Instant
  ) {
    trains.start(
      part, rate: rate, payloadByteCount: payloadByteCount, count: count,
      overhead: bytes.overhead, side: &line[direction], now: now)
    if direction == .downlink { requests.hasten(now: now) }
  }

  /// Until the queue of the last load is gone.
  private static let drain = Duration.milliseconds(100)
}
