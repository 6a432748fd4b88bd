import Primitives

/// What follows from a report.
extension BandwidthEstimator {
  // MARK: Overload

  var isOverloaded: Bool {
    !path.timing.isResuming
      && drain.isDue(
        path.queue, target: targetDelay, packetTime: PathMeasurement.packetBits / estimate,
        variability: delayVariability)
  }

  mutating func beginDrain(now: Instant) {
    drain.begin(
      path.arrivals, estimate: estimate, isRelapse: now < target.calmUntil, now: now)
    capacity = drain.capacity
    state = .draining
    reason = .overload
    growth.velocity = growth.constants.leastVelocity
    estimate = max(capacity * drain.constants.rateShare, limits.least)
  }

  mutating func continueDrain(elapsed: Double, now: Instant) {
    drain.handleReport(path, elapsed: elapsed, target: targetDelay)
    let isHopeless = competition.contest.isHopeless(
      drain, path, target: targetDelay, unpaced: unpacedRate, isLimited: isLimited)
    if isHopeless, isElastic, !competition.isBarred(now: now) { return beginCompetition(now: now) }
    if drain.measure(path) {
      capacity = drain.capacity
      estimate = min(max(capacity * drain.constants.rateShare, limits.least), limits.most)
    }
    guard drain.isOver(path.queue, target: targetDelay) else { return }
    state = .holding
    reason = .drained
    estimate = max(drain.capacity * drain.constants.rateAfter, limits.least)
    growth.reset(now: now)
    target.beginCalm(now: now)
  }

  // MARK: Busy periods

  /// Whether packets wait, beyond what scatters.
  var isBusy: Bool { path.queue.standing > target.busyDelay(targetDelay) }

  private var isFreshlyBusy: Bool { path.queue.fresh > target.busyDelay(targetDelay) }

  private var isInBusyPeriod: Bool { isBusy || isFreshlyBusy || state == .draining }

  mutating func beginBusyPeriod(now: Instant) {
    guard isInBusyPeriod else { return }
    busyPeriod.begin(estimate: estimate, capacity: capacity, now: now)
  }

  mutating func endBusyPeriod(now: Instant) {
    guard !isInBusyPeriod, let before = busyPeriod.end(cycle: path.cycle, now: now),
      state != .competing, state != .starting
    else { return }
    estimate = max(estimate, before.estimate)
    capacity = max(capacity, before.capacity)
  }

  // MARK: Control

  /// The usual: while there is a queue, the rate that keeps it at the target; without one, more.
  mutating func adjust(elapsed: Double, now: Instant) {
    let share = elapsed / path.cycle
    if state == .starting {
      guard limits.tuning.startUp.isOver(path, target: targetDelay) else {
        return grow(share: share, now: now)
      }
      capacity = min(acknowledgedRate, estimate)
      state = .holding
    }
    target.update(now: now)
    if let most = policedRate(now: now) {
      estimate = most
      reason = .policer
      state = .holding
      return
    }
    if ecn.isActive, path.queue.standing < targetDelay * ecn.constants.mostQueue {
      return obeyMarks(share: share, now: now)
    }
    guard isBusy else { return grow(share: share, now: now) }
    hold(elapsed: elapsed, now: now)
  }

  private mutating func policedRate(now: Instant) -> Double? {
    // Where little of the estimate is sent, what is lost is not lost for its rate.
    let sent = path.delivery.recent / max(1 - path.losses.inherent, 0.05)
    let isShown = !limits.hasGaps || sent > estimate * policer.constants.shownShare
    let most = policer.handleReport(
      path.losses, estimate: estimate, delivered: isShown ? path.delivery.recent : 0,
      cycle: path.cycle, now: now)
    return !isBusy || policer.trialRate != nil ? most : nil
  }

  private mutating func hold(elapsed: Double, now: Instant) {
    let control = limits.tuning.control
    growth.restart(variability: delayVariability, now: now)
    let isUsed = control.isUsed(path, estimate: estimate, capacity: capacity, target: targetDelay)
    if isFreshlyBusy, isUsed {
      capacity += (acknowledgedRate - capacity) * min(1, elapsed / control.capacityMemory)
    }
    if path.queue.standing < targetDelay {
      capacity = max(capacity, min(path.delivery.recent, estimate))
    }
    reason = .queue
    state = .holding
    let isProbing = minRTTProbe.isProbing(
      unseen: path.unseenBaseDelay, queue: path.queue, cycle: path.cycle, now: now)
    if isProbing {
      estimate = min(estimate, capacity * minRTTProbe.constants.rateShare)
      return
    }
    let wanted = control.wanted(
      path.queue, capacity: capacity, target: targetDelay, cycle: path.cycle)
    estimate += (wanted - estimate) * min(1, elapsed / path.cycle * control.speed)
  }

  private mutating func obeyMarks(share: Double, now: Instant) {
    if ecn.isMarked {
      capacity = ecn.capacity(capacity, acknowledged: acknowledgedRate, elapsed: share)
      estimate = ecn.reduced(estimate, capacity: capacity, elapsed: share)
      let velocity = ecn.velocity(ratio: estimate / weight / target.constants.reference)
      growth.restart(velocity: min(velocity, growth.constants.leastVelocity), now: now)
      reason = .congestionMarks
      state = .holding
    } else {
      let isDoubling = estimate > capacity * ecn.constants.doublingFrom
      growth.advance(isDoubling: isDoubling, cycle: path.cycle, now: now)
      let isBelow = estimate < capacity * ecn.constants.returnTo
      let speed = isBelow ? growth.constants.leastVelocity : growth.velocity
      let room = growth.most(delivered: path.delivery.most)
      estimate = max(estimate, min(estimate * (1 + speed * min(share, 1)), room))
      reason = .room
      state = .growing
    }
  }

  private mutating func grow(share: Double, now: Instant) {
    let isStarting = state == .starting
    let isDoubling = !isStarting && estimate > capacity * growth.constants.doublingFrom
    growth.advance(isDoubling: isDoubling, cycle: path.cycle, now: now)
    var wanted = growth.wanted(estimate, capacity: isStarting ? nil : capacity, share: share)
    // What a drain has just measured holds for a moment.
    if now + growth.constants.calmEnd < target.calmUntil, delayVariability == 0 {
      wanted = min(wanted, max(estimate, capacity))
    }
    let room = isStarting ? startRoom : growth.most(delivered: path.delivery.most)
    estimate = wanted <= room ? wanted : max(estimate, room)
    if !isStarting { state = .growing }
    reason = .room
  }

  private var startRoom: Double {
    let proven = path.delivery.most * limits.tuning.startUp.room + growth.constants.step
    return max(proven, limits.start)
  }

  // MARK: Competitive mode

  mutating func watchForRivals(now: Instant) {
    competition.contest.handleReport(
      path, target: targetDelay, isSilent: state == .silent, now: now)
    let isAlone = !isElastic || isLimited
    competition.isSuspected =
      isAlone && !limits.hasGaps && !competition.isBarred(now: now)
      && competition.contest.isSuspect(path, target: targetDelay, unpaced: unpacedRate, now: now)
    if isElastic, competition.isSuspected { return beginCompetition(now: now) }
    // Audio alone may be what fills the path: then its drain tells.
    guard isElastic, !isLimited, !isOverloadedByUnpacedTraffic, !competition.isBarred(now: now),
      competition.contest.isContested(
        path, target: targetDelay, hasGaps: limits.hasGaps, now: now)
    else { return }
    beginCompetition(now: now)
  }

  mutating func beginCompetition(now: Instant) {
    state = .competing
    reason = .competition
    path.baseDelay.isHeld = true
    estimate = competition.begin(path, after: drain, isLimited: isLimited, now: now)
  }

  mutating func compete(elapsed: Double, now: Instant) {
    let step = competition.handleReport(
      path, estimate: estimate, target: targetDelay,
      traffic: CompetitiveMode.Traffic(
        isElastic: isElastic, isLimited: isLimited, hasGaps: limits.hasGaps),
      elapsed: elapsed, now: now)
    switch step {
    case .goesOn(let rate, let isReduced):
      estimate = rate
      if isReduced { reason = .loss }
    case .ends(let reason):
      state = .holding
      self.reason = reason
      path.baseDelay.isHeld = false
      capacity = max(acknowledgedRate, limits.least)
      estimate = capacity
    }
  }
}
