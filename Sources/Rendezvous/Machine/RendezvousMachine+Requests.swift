import Messaging
import Primitives
import Wire

/// LOOKUP and FORWARD (docs/protocol/rendezvous.md §3).
extension RendezvousMachine {
  mutating func answer(_ lookUp: LookUp, of slot: UInt32, now: Instant) {
    counters.lookUps &+= 1
    let isAllowed =
      registry[slot].lookUps.admit(limits.lookUpsPerClient, nowMilliseconds: now.millisecond)
      && limiter.takeLookUp(of: registry[slot].address, now: now)
    guard isAllowed else {
      return conclude(LookUpResult(request: lookUp.request, status: .tooManyRequests), slot, now)
    }
    let client = StoreWork.Client(slot: slot, connection: registry[slot].local)
    if !storeWork.park(.lookUp(lookUp, client), .find(lookUp.target), store, settings, now) {
      finish(lookUp, of: slot, now: now)
    }
  }

  /// The answer, now that the store can give it, or never will.
  mutating func finish(_ lookUp: LookUp, of slot: UInt32, now: Instant) {
    conclude(lookUp.result(for: registry[slot].id, in: &self, now: now), slot, now)
  }

  private mutating func conclude(_ result: LookUpResult, _ slot: UInt32, _ now: Instant) {
    if !result.status.isKnown { counters.lookUpsRefused &+= 1 }
    _ = send(
      RendezvousMessage.lookUpResult(result).bytes, to: slot, life: AnswerTerms.life, now: now)
  }

  mutating func pass(on forward: Forward, from slot: UInt32, now: Instant) {
    let (sender, to) = (registry[slot].id, forward.to)
    let kind = limiter.credits.spend(
      from: sender, to: to, byteCount: forward.body.count, now: now)
    let client = StoreWork.Client(slot: slot, connection: registry[slot].local)
    let route = ForwardRoute(forward: forward, sender: client, kind: kind)
    guard kind != .begun || mayBegin(to, from: slot, now: now) else {
      return conclude(route, .tooMany, now: now)
    }
    guard forward.body.count <= limits.forwardBodyByteCount else {
      return conclude(route, .bodyTooLong, now: now)
    }
    guard to != sender else { return conclude(route, .notAllowed, now: now) }
    if !storeWork.park(.forward(route), .find(.id(to)), store, settings, now) {
      finish(route, now: now)
    }
  }

  /// Passes it on, now that the store can tell of other nodes, or never will.
  mutating func finish(_ route: ForwardRoute, now: Instant) {
    guard let (status, count) = route.pass(in: &self, now: now) else { return }
    conclude(route, status, count, now: now)
  }

  mutating func conclude(
    _ route: ForwardRoute, _ status: ForwardResult.Status, _ count: UInt8 = 0, now: Instant
  ) {
    let (slot, forward) = (route.sender.slot, route.forward)
    let sender = registry[slot].id
    if status == .forwarded {
      counters.forwards &+= 1
      publish(.forwarded(from: sender, to: forward.to, byteCount: forward.body.count))
    } else {
      counters.forwardsRefused &+= 1
      publishRefusal(.forwardRefused(from: sender, to: forward.to, status), now: now)
    }
    let result = RendezvousMessage.forwardResult(
      ForwardResult(id: forward.id, status: status, count: count))
    _ = send(result.bytes, to: slot, life: AnswerTerms.life, now: now)
  }

  /// Whether the client's rate, and that of its prefixes towards `callee`, allow one more FORWARD.
  private mutating func mayBegin(_ callee: PeerID, from slot: UInt32, now: Instant) -> Bool {
    registry[slot].forwards.admit(limits.forwardsPerClient, nowMilliseconds: now.millisecond)
      && limiter.takeForward(of: registry[slot].address, to: callee, now: now)
  }
}

extension [Exchange.OpenForward] {
  /// Whether one more of the sender may be under way to the same program.
  func hasRoom(
    for sender: (id: PeerID, network: UInt64?), byteCount: Int, _ limits: ServerLimits
  ) -> Bool {
    guard count(where: { $0.from == sender.id }) < limits.openForwardsPerPair else { return false }
    guard let network = sender.network else {
      return count(where: { $0.network == nil }) < limits.openAnswersPerCaller
    }
    var (all, near) = ((count: 0, bytes: byteCount), (count: 0, bytes: byteCount))
    for open in self where open.network != nil {
      all = (all.count + 1, all.bytes + open.byteCount)
      if open.network == network { near = (near.count + 1, near.bytes + open.byteCount) }
    }
    return all.count < limits.openForwardsPerCallee
      && near.count < limits.openForwardsPerNetwork
      && all.bytes <= limits.openForwardBytesPerCallee
      && near.bytes <= limits.openForwardBytesPerNetwork
  }
}
