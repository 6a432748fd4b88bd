import Primitives
import Wire

/// From one part of the probe to the next.
extension Prober {
  /// What small packets count as, now.
  var echoPart: TestPackets.Part {
    switch phase {
    case .asking, .idle: .idle
    case .finishing: plan.measuresBandwidth ? .last : .idle
    case .ramp: .ramp
    // The other direction's load does not touch them; their own train's does.
    case .steady, .loadedDownlink, .loadedUplink, .loadedBoth: .ramp
    }
  }

  /// The round trip, with what may come on top of it.
  var roundTrip: Duration {
    guard !roundTrips.isEmpty else { return .nanoseconds(latestRoundTrip ?? 300_000_000) }
    let recent = roundTrips.suffix(64)
    return .nanoseconds(recent.max() ?? 0)
  }

  mutating func advance(now: Instant) {
    if now >= deadline { return finish(hasNothing ? .noAnswer : .finished, now: now) }
    if now >= lastHeard + .seconds(2) { return finish(.noAnswer, now: now) }
    switch phase {
    case .asking: break
    case .idle:
      if now >= phaseBegan + idleTime {
        enter(plan.measuresBandwidth ? .ramp : .finishing, now: now)
      }
    case .ramp: advanceRamp(now: now)
    case .steady: advanceSteady(now: now)
    case .loadedDownlink, .loadedUplink, .loadedBoth: advanceLoad(now: now)
    case .finishing: advanceFinish(now: now)
    }
    tellFirstGrade(now: now)
    if ending == nil, now >= nextProgress {
      nextProgress = now + .milliseconds(100)
      let share = Double(now.nanoseconds(since: began)) / 1e9 / plan.seconds
      events.append(
        .progressed(
          share: min(1, share), latestRoundTripMs: latestRoundTrip.map { Double($0) / 1e6 }))
    }
  }

  private var hasNothing: Bool { roundTrips.isEmpty }

  private func tellFirstGradeDue(_ now: Instant) -> Bool {
    guard !hasToldFirstGrade, phase != .asking, phase != .idle else { return false }
    return now >= phaseBegan + roundTrip + .milliseconds(60) || now >= began + .milliseconds(1900)
  }

  private mutating func tellFirstGrade(now: Instant) {
    let isLate = !hasToldFirstGrade && now >= began + .milliseconds(1900) && !roundTrips.isEmpty
    guard ending == nil, isLate || tellFirstGradeDue(now) else { return }
    hasToldFirstGrade = true
    events.append(.firstGrade(makeReport(.underWay, now: now)))
  }

  mutating func enter(_ next: ProbePhase, now: Instant) {
    phases.append(span(now: now))
    phase = next
    phaseBegan = now
    events.append(.phaseBegan(next))
    nextRequest = now
    nextTick = now
    switch next {
    case .idle: nextEcho = now
    case .ramp: nextEcho = nil
    case .steady: beginSteady(now: now)
    case .loadedDownlink: beginLoad(.downlink, now: now)
    case .loadedUplink: beginLoad(.uplink, now: now)
    case .loadedBoth:
      beginLoad(.downlink, now: now)
      beginLoad(.uplink, now: now)
    case .finishing:
      stopTrains()
      wantsReport = true
      // The clocks' drift shows in what the same packets need now.
      if plan.measuresBandwidth { nextEcho = now + Self.drain }
    case .asking: break
    }
  }

  func span(now: Instant) -> PhaseSpan {
    PhaseSpan(
      phase: phase, from: Double(phaseBegan.nanoseconds(since: began)) / 1e9,
      to: Double(now.nanoseconds(since: began)) / 1e9)
  }

  private var idleTime: Duration { plan.measuresBandwidth ? .milliseconds(1200) : .seconds(1) }

  // MARK: - Ramp

  private mutating func advanceRamp(now: Instant) {
    let isLate = now >= phaseBegan + .milliseconds(2500) || now >= deadline - .milliseconds(2300)
    let upIsDone = advanceRamp(.uplink, isLate: isLate, now: now)
    let downIsDone = advanceRamp(.downlink, isLate: isLate, now: now)
    guard upIsDone, downIsDone else { return }
    stopTrains()
    enter(.steady, now: now)
  }

  /// Whether the direction's ramp is over.
  private mutating func advanceRamp(
    _ direction: LineDirection, isLate: Bool, now: Instant
  ) -> Bool {
    guard let rate = self[direction].nextRampRate else { return true }
    guard let train = self[direction].train else {
      startRampTrain(direction, rate: rate, now: now)
      return false
    }
    let isSettled = self[direction].isSettled(train, roundTrip: roundTrip, now: now)
    guard isSettled || isLate else { return false }
    // Half a train would look like a train of which half was lost.
    if isSettled { conclude(train, of: direction) }
    guard let next = self[direction].nextRampRate, !isLate else {
      self[direction].nextRampRate = nil
      return true
    }
    startRampTrain(direction, rate: next, now: now)
    return false
  }

  private mutating func startRampTrain(
    _ direction: LineDirection, rate: Double, now: Instant
  ) {
    let size = ProbeSide.payloadByteCount(rate: rate, overhead: overhead)
    let count = max(20, Int(rate * 0.1 / Double(8 * (size + overhead))))
    startTrain(direction, .ramp, rate: rate, payloadByteCount: size, count: count, now: now)
  }

  /// Draws the lesson of a ramp's train, and sets the next one's rate.
  private mutating func conclude(_ train: ProbeSide.Train, of direction: LineDirection) {
    let side = self[direction]
    guard
      let verdict = TrainVerdict(
        side.entries(of: train), idleLoss: side.idleLoss)
    else {
      // Nearly nothing came: far too much, or the line is down.
      self[direction].nextRampRate = nil
      return
    }
    if verdict.isDoubtful, side.doubtedRate != train.rate {
      // The same once more: a line that loses much must not look like a slow one.
      self[direction].doubtedRate = train.rate
      return
    }
    self[direction].rough = max(verdict.rate, (side.rough ?? 0) * 0.4)
    self[direction].isSaturated = verdict.isSaturated
    let isTop = verdict.sentRate >= side.expected * 0.97
    self[direction].nextRampRate =
      verdict.isSaturated || isTop ? nil : min(side.expected, verdict.sentRate * 2.5)
  }

  // MARK: - Steady

  private mutating func beginSteady(now: Instant) {
    let finish = Double(roundTrip.nanoseconds) / 1e9 + 0.45
    let left = max(0.6, Double(deadline.nanoseconds(since: now)) / 1e9 - finish)
    let loads =
      plan.loading == .atOnce
      ? 1.0 : Double((up.rough == nil ? 0 : 1) + (down.rough == nil ? 0 : 1))
    // Loss wants as many packets as the rate does.
    let steady = left / (1 + max(1, loads) * 1.1)
    var scale = 1.0
    for side in [up, down] {
      guard let rough = side.rough else { continue }
      let rate = min(rough, side.expected)
      let bytes = rate * (0.75 * steady + 1.05 * 1.1 * steady) / 8
      let limit = Double(byteLimit(side.direction)) * 0.85
      if bytes > limit { scale = min(scale, limit / bytes) }
    }
    steadyEnds = now + .nanoseconds(Int64(steady * scale * 1e9))
    loadTime = .nanoseconds(Int64(steady * scale * 1.1 * 1e9))
    for direction in LineDirection.allCases {
      guard let rough = self[direction].rough else { continue }
      let side = self[direction]
      let rate = ProbeSide.steadyShare * min(rough, side.expected)
      // The same size as under load, so that the delays compare.
      let size = ProbeSide.payloadByteCount(rate: min(rough, side.expected), overhead: overhead)
      startTrain(
        direction, .steady, rate: rate, payloadByteCount: size, count: Int(UInt16.max), now: now)
    }
  }

  private mutating func advanceSteady(now: Instant) {
    if now >= steadyEnds { return leaveSteady(now: now) }
    for direction in LineDirection.allCases {
      guard let train = self[direction].train, let rough = self[direction].rough,
        now >= train.began + roundTrip + .milliseconds(300),
        self[direction].isOverloaded(train, overhead: overhead)
      else { continue }
      // What the ramp showed was too much: its lesson is taken back, and so is this part's.
      self[direction].packets.reassign(train: train.id, to: .ramp)
      self[direction].parts[train.id] = .ramp
      self[direction].rough = rough * Self.retreat
      startTrain(
        direction, .steady, rate: train.rate * Self.retreat,
        payloadByteCount: train.payloadByteCount, count: Int(UInt16.max), now: now)
      let extra = Duration.milliseconds(150)
      steadyEnds = steadyEnds + extra
      loadTime = max(.milliseconds(400), loadTime - extra)
    }
  }

  func byteLimit(_ direction: LineDirection) -> Int {
    direction == .uplink ? Self.byteBudget - bytesSent : byteLimitDown - bytesReceived
  }

  private mutating func leaveSteady(now: Instant) {
    stopTrains()
    let (hasDown, hasUp) = (down.rough != nil, up.rough != nil)
    // A report now would be in the way of the downlink's load.
    if up.isProbed, !hasDown { wantsReport = true }
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
    let side = self[direction]
    guard let rough = side.rough, let base = side.base else { return }
    loadEnds = now + loadTime
    let control = LoadControl(
      centre: min(rough, side.expected), ceiling: side.expected * 1.05, base: base,
      spread: side.spread,
      loss: side.idleLoss, full: (side.packets.longestDelay ?? base) - base,
      opening: side.isSaturated ? 1.06 + min(0.15, 0.6 * side.idleLoss) : 1.02, now: now)
    self[direction].control = control
    self[direction].loadedFrom = side.packets.entries.count
    let size = ProbeSide.payloadByteCount(rate: min(rough, side.expected), overhead: overhead)
    startTrain(
      direction, .loaded, rate: control.rate, payloadByteCount: size, count: Int(UInt16.max),
      now: now)
  }

  private mutating func advanceLoad(now: Instant) {
    guard now < loadEnds else {
      stopTrains()
      let isNext = phase == .loadedDownlink && up.rough != nil
      if up.isProbed { wantsReport = true }
      return enter(isNext ? .loadedUplink : .finishing, now: now)
    }
    for direction in LineDirection.allCases where self[direction].train?.part == .loaded {
      steer(direction, now: now)
    }
  }

  private mutating func steer(_ direction: LineDirection, now: Instant) {
    let trip = Double(roundTrip.nanoseconds)
    let side = self[direction]
    guard let train = side.train, train.part == .loaded, now < loadEnds else { return }
    let entries = side.packets.entries
    let start = entries[min(side.loadedFrom, entries.count)...].firstIndex {
      $0.train == train.id
    }
    guard let start else { return }
    self[direction].control?.update(entries[start...], roundTrip: trip, now: now)
    guard let rate = self[direction].control?.rate else { return }
    self[direction].train?.rate = rate
    if direction == .uplink { pacer.change(rate: UInt64(rate), overhead: overhead, now: now) }
  }

  // MARK: - The end

  private mutating func advanceFinish(now: Instant) {
    let isComplete = Int(reportedThrough) >= up.packets.entries.count
    let patience = roundTrip + .milliseconds(isComplete ? 120 : 400)
    if now >= phaseBegan + patience { finish(.finished, now: now) }
  }

  mutating func finish(_ reason: LineReport.Ending, now: Instant) {
    guard ending == nil else { return }
    phases.append(span(now: now))
    stopTrains()
    nextEcho = nil
    let report = makeReport(reason, now: now)
    ending = reason
    events.append(.finished(report))
    farewells = 2
    nextRequest = now
  }

  private static let retreat = 0.7
  /// Until the queue of the last load is gone.
  private static let drain = Duration.milliseconds(100)

  // MARK: - Trains

  subscript(direction: LineDirection) -> ProbeSide {
    get { direction == .uplink ? up : down }
    set { if direction == .uplink { up = newValue } else { down = newValue } }
  }

  mutating func startTrain(
    _ direction: LineDirection, _ part: TestPackets.Part, rate: Double, payloadByteCount: Int,
    count: Int, now: Instant
  ) {
    nextTrain = nextTrain == .max ? 1 : nextTrain + 1
    let bits = Double(8 * (payloadByteCount + overhead))
    let length = part == .ramp ? Double(count) * bits / rate : 0
    let train = ProbeSide.Train(
      id: nextTrain, rate: rate, payloadByteCount: payloadByteCount, count: count, part: part,
      began: now, ends: now + .nanoseconds(Int64(length * 1e9)),
      first: self[direction].packets.entries.count)
    self[direction].train = train
    self[direction].parts[train.id] = part
    if direction == .uplink {
      pacer.start(
        rate: UInt64(rate), payloadByteCount: payloadByteCount, overhead: overhead, count: count,
        now: now)
    } else {
      nextRequest = now
    }
  }

  mutating func stopTrains() {
    pacer.stop()
    up.train = nil
    down.train = nil
  }
}
