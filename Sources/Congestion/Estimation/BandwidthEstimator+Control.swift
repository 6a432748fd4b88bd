import Primitives

/// What follows from a report.
extension BandwidthEstimator {
  /// A queue that grows fast, and is not just scatter, nor what waited for the end of an outage.
  func isOverloaded(now: Instant) -> Bool {
    guard now >= resumption else { return false }
    let packets = 2 * 9_600e6 / estimate
    let guarding = tuning.overloadGuard + min(packets, 60_000) + scatterGuard * scatter
    return freshDelay > targetDelay + guarding
  }

  private var isInSpell: Bool { isBusy || freshDelay > busyDelay || state == .draining }

  mutating func noteSpell(now: Instant) {
    guard spell == nil, isInSpell else { return }
    spell = (began: now, estimate: estimate, capacity: capacity)
  }

  /// A queue that is gone before our answer to it can have reached the path went by itself: the
  /// line was served in bursts, and carries what it did.
  mutating func endSpell(now: Instant) {
    guard let spell, !isInSpell else { return }
    self.spell = nil
    guard state != .competing, state != .starting,
      Double(now.nanoseconds(since: spell.began)) / 1_000 < tuning.spellShare * cycle
    else { return }
    estimate = max(estimate, spell.estimate * tuning.spellReturn)
    capacity = max(capacity, min(spell.capacity, spell.estimate))
  }

  mutating func beginDrain(now: Instant) {
    let rates = arrivals.rates(over: 30_000, atLeast: 3)
    capacity = min(rates?.arrival ?? estimate, estimate)
    let isRelapse = now < calmUntil
    drain = Drain(
      capacity: capacity, firstArrival: arrivals.count,
      before: isRelapse ? max(estimate, drain.before) : estimate)
    state = .draining
    reason = .overload
    velocity = tuning.leastVelocity
    estimate = max(capacity * 0.9, limits.least)
  }

  mutating func continueDrain(elapsed: Double, now: Instant) {
    // A pause of the reports is the path's, and says nothing of whose the queue is.
    drain.waited += min(elapsed, 2 * reportInterval)
    drain.mostDelay = max(drain.mostDelay, standingDelay)
    if standingDelay < targetDelay {
      // The queue was gone; if it is there again that is another one.
      drain.waited = 0
      drain.mostDelay = standingDelay
    }
    if isDrainHopeless(now: now) { return beginCompetition(now: now) }
    if let rates = arrivals.rates(over: 100_000, atLeast: 4, notBefore: drain.firstArrival),
      freshDelay > 4_000
    {
      capacity = rates.arrival * correction
      drain.capacity = capacity
      estimate = min(max(capacity * 0.9, limits.least), limits.most)
    }
    // A packet of audio takes its time as well, where it is slow.
    if freshDelay < targetDelay * 0.8 + 1.2e9 / max(drain.capacity, 10_000) {
      state = .holding
      reason = .drained
      estimate = max(drain.capacity * 0.95, limits.least)
      nextVelocity = now
      calmUntil = now + .milliseconds(700)
    }
  }

  /// The usual: while there is a queue, the rate that keeps it at the target; without one, more.
  mutating func adjust(elapsed: Double, now: Instant) {
    let share = elapsed / cycle
    if state == .starting {
      guard standingDelay > targetDelay || losses.recent > tuning.startLoss else {
        return grow(share: share, now: now)
      }
      capacity = min(acknowledgedRate, estimate)
      state = .holding
    }
    isCalm = now < calmUntil
    let most = trial.update(
      losses, estimate: estimate, delivered: deliveredRate, cycle: cycle, now: now)
    if let most, !isBusy || trial.rate != nil {
      estimate = most
      reason = .policer
      state = .holding
      return
    }
    if isMarking, standingDelay < targetDelay * tuning.markedDelay {
      return obeyMarks(share: share, now: now)
    }
    guard isBusy else { return grow(share: share, now: now) }
    velocity = tuning.leastVelocity
    velocity += (tuning.mostVelocity - tuning.leastVelocity) * restlessness
    nextVelocity = now
    if freshDelay > busyDelay, isUsed {
      capacity += (acknowledgedRate - capacity) * min(1, elapsed / tuning.capacityMemory)
    }
    if standingDelay < targetDelay { capacity = max(capacity, min(provenRate, estimate)) }
    reason = .queue
    state = .holding
    if isSounding(now: now) {
      estimate = min(estimate, capacity * tuning.soundingShare)
      return
    }
    let quick = tuning.pull * (targetDelay - standingDelay) / cycle
    let slow = tuning.fairness * (targetDelay - slowDelay) / max(targetDelay, slowDelay)
    let wanted = capacity * (1 + min(max(quick + slow, -tuning.mostCut), tuning.mostRaise))
    estimate += (wanted - estimate) * min(1, share * 2)
  }

  /// Enough is sent, or queued, for what arrives to be what the path carries.
  private var isUsed: Bool {
    acknowledgedRate > min(tuning.usedShare * estimate, capacity)
      || standingDelay > 2 * targetDelay
  }

  /// A path that marks says so before there is a queue: what arrives while it marks is what it
  /// carries. Then less, by the share of the packets that were marked; else back to that at once
  /// and on from there slowly, faster the longer nothing is marked.
  private mutating func obeyMarks(share: Double, now: Instant) {
    if marks.isMarked {
      capacity += (acknowledgedRate - capacity) * min(1, share * tuning.markedMemory)
      let cut = min(max(marks.share, marks.latest), 1) * tuning.markedCut * min(share, 1)
      let least = min(estimate, capacity * tuning.markedLeast)
      estimate = max(min(estimate, capacity) * (1 - cut), least)
      // The slower of two flows grows the faster: their shares become equal.
      let ratio = estimate / weight / tuning.reference
      velocity = min(tuning.markedGrowth * EstimatorTuning.powerLaw(ratio), tuning.leastVelocity)
      nextVelocity = now
      reason = .congestionMarks
      state = .holding
    } else {
      if now >= nextVelocity {
        if estimate > capacity * 1.03 { velocity = min(velocity * 2, tuning.mostVelocity) }
        nextVelocity = Instant(nanoseconds: now.nanoseconds &+ UInt64(cycle * 1_000))
      }
      let isBelow = estimate < capacity * tuning.markedReturn
      let speed = isBelow ? tuning.leastVelocity : velocity
      let room = max(acknowledgedRate, provenRate) * tuning.growthShare + tuning.growthRate
      estimate = max(estimate, min(estimate * (1 + speed * min(share, 1)), room))
      reason = .room
      state = .growing
    }
  }

  /// For a moment less is sent, because the least delay has not been seen for long: a queue that
  /// never empties would be taken for the path itself once that is forgotten.
  private mutating func isSounding(now: Instant) -> Bool {
    if now < soundingEnd { return freshDelay > 1_000 }
    guard let newest = arrivals.newest, now >= nextSounding,
      newest.arrival &- least.lastTouched > tuning.mostUntouched
    else { return false }
    let needed = standingDelay / (1 - tuning.soundingShare) + cycle
    soundingEnd = now + .microseconds(Int64(min(needed, 1_000_000)))
    nextSounding = now + .seconds(4)
    return true
  }

  /// Whether packets wait, beyond what scatters.
  var isBusy: Bool { standingDelay > busyDelay }
  var busyDelay: Double { max(tuning.leastBusy, targetDelay * 0.4) }

  private mutating func grow(share elapsed: Double, now: Instant) {
    if now >= nextVelocity {
      if state != .starting, estimate > capacity * 1.02 {
        velocity = min(velocity * 2, tuning.mostVelocity)
      }
      nextVelocity = Instant(nanoseconds: now.nanoseconds &+ UInt64(cycle * 1_000))
    }
    let share = state == .starting ? 2 : tuning.growthShare
    let proven = max(acknowledgedRate, provenRate) * share + tuning.growthRate
    let room = state == .starting ? max(proven, limits.start) : proven
    // What carried before is tried at once, what is beyond step by step.
    let speed = estimate < capacity * 0.97 ? tuning.returnVelocity : velocity
    var wanted = estimate * (1 + speed * min(elapsed, 1))
    if estimate < capacity, state != .starting { wanted = min(wanted, capacity * 1.01) }
    // What a drain has just measured holds for a moment.
    if now + .milliseconds(350) < calmUntil, restlessness == 0 {
      wanted = min(wanted, max(estimate, capacity))
    }
    estimate = wanted <= room ? wanted : max(estimate, room)
    if state != .starting { state = .growing }
    reason = .room
  }
}

/// A queue that is being emptied.
struct Drain: Sendable, BitwiseCopyable {
  /// What the path carries, in bit/s.
  var capacity = 0.0
  /// How long it has lasted, in microseconds.
  var waited = 0.0
  /// Arrivals before this one say nothing of it.
  var firstArrival = 0
  /// The estimate before it.
  var before = 0.0
  /// The longest delay in it, in microseconds.
  var mostDelay = 0.0
}
