import Channels
import Forwarding
import LastMile
package import Primitives
import Wire

/// What happens without a packet: silence, ends of lives, repetitions, the store's batches.
extension RendezvousMachine {
  package mutating func handleTimeout(now: Instant) {
    HandshakeQueue.resume(&self, now: now)
    while let index = exchanges.popDue(now: now) { handleTimeout(of: index, now: now) }
    if let due = sweepClock.due, due <= now { sweep(now: now) }
    endTokens(now: now)
    driveChannels(now: now)
    channels.hub?.handleTimeout(now: now)
    StoreWork.handleTimeout(of: &self, now: now)
    reflector.handleTimeout(now: now)
  }

  package var nextDeadline: Instant? {
    var next = earliest(exchanges.nextDeadline, sweepClock.due)
    next = earliest(next, gate.waiting.nextDeadline)
    next = earliest(next, storeWork.nextDeadline)
    next = earliest(next, tokens.nextDeadline)
    next = earliest(next, channels.nextDeadline)
    next = earliest(next, farewells.nextDeadline)
    next = earliest(next, goingAway?.nextDeadline)
    next = earliest(next, reflector.nextDeadline)
    return next
  }

  private mutating func handleTimeout(of index: UInt32, now: Instant) {
    let slot = exchanges[index].slot
    if exchanges[index].isStale(now: now) {
      close(slot, .limits, .protocolViolated, now: now)
      return
    }
    exchanges.with(index) { exchange in
      if let move = exchange.move, move.nextDeadline <= now { exchange.move = nil }
      exchange.handleTimeout(now: now)
    }
    settle(slot, now: now)
    if let index = exchange(of: slot),
      exchanges[index].isHopeless(patience: limits.patience, now: now)
    {
      giveUp(index, now: now)
    }
  }

  /// Looks at a tenth of the clients, every 100 ms: each of them once a second.
  private mutating func sweep(now: Instant) {
    let count = registry.slotLimit
    let share = (count + Self.sweepSlices - 1) / Self.sweepSlices
    for _ in 0..<share {
      if sweepClock.slot >= count { sweepClock.slot = 0 }
      let slot = UInt32(sweepClock.slot)
      sweepClock.slot += 1
      if registry.isUsed(slot), registry[slot].isConfirmed { look(at: slot, now: now) }
    }
    while let slot = unconfirmed.oldest, registry[slot].age(now: now) >= limits.confirmationSeconds
    {
      forgetUnconfirmed(slot)
    }
    noteLoad(now: now)
    recentAnswers.forgetOld(now: now)
    let isIdle = registry.count == 0 && recentAnswers.count == 0 && !wasUnderLoad
    sweepClock.due = isIdle ? nil : now + Self.sweepPace
  }

  private mutating func look(at slot: UInt32, now: Instant) {
    if registry[slot].silence(now: now) > limits.silenceSeconds {
      remove(slot, .silent)
    } else if registry[slot].age(now: now) >= limits.keyLifeSeconds {
      close(slot, .keyLifeEnded, .expired, now: now)
    }
  }

  /// Tells when INITs begin to need cookies, and when they no longer do, also without clients.
  mutating func noteLoad(now: Instant) {
    let isUnderLoad = gate.isUnderLoad(now: now)
    guard isUnderLoad != wasUnderLoad else { return }
    wasUnderLoad = isUnderLoad
    if sweepClock.due == nil { sweepClock.due = now + Self.sweepPace }
    publish(.loadChanged(isUnderLoad: isUnderLoad))
  }

  private static var sweepSlices: Int { 10 }
  static var sweepPace: Duration { .milliseconds(100) }

  // MARK: - The store

  /// Notes that the open batch has something in it.
  mutating func noteWrite(now: Instant) {
    if storeWork.commitDue == nil { storeWork.commitDue = now + limits.storeBatch }
  }

  mutating func noteStoreFailure(_ failure: StoreFailure) {
    counters.storeFailures &+= 1
    publish(.storeFailed(failure))
    StoreWork.reviewBatch(of: &self, failure)
  }
}

/// When the clients are looked at, and whose turn it is.
struct SweepClock {
  var due: Instant?
  var slot = 0
}
