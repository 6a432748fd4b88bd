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
    let result =
      isAllowed
      ? find(lookUp, for: registry[slot].id, now: now)
      : LookUpResult(request: lookUp.request, status: .tooManyRequests)
    if result.status == .tooManyRequests { counters.lookUpsRefused &+= 1 }
    _ = send(
      RendezvousMessage.lookUpResult(result).bytes, to: slot, life: AnswerTerms.life, now: now)
  }

  /// A store that fails makes every answer "too many requests": try again later.
  private mutating func find(
    _ lookUp: LookUp, for asker: PeerID, now: Instant
  ) -> LookUpResult {
    let request = lookUp.request
    defer { if store.isBatchOpen { noteWrite(now: now) } }
    do throws(StoreFailure) {
      let found: PeerID?
      switch lookUp.target {
      case .id(let id): found = id
      case .name(let name): found = try store.owner(of: name, now: settings.unixSeconds(now))
      }
      guard let id = found, let card = try store.card(of: id), !card.isEmpty,
        card.count <= LookUpResult.maximumCardByteCount
      else { return LookUpResult(request: request, status: .unknown) }
      let isThere = registry.isCallable(id, by: asker)
      return LookUpResult(request: request, status: isThere ? .online : .offline, card: card)
    } catch {
      noteStoreFailure(error)
      return LookUpResult(request: request, status: .tooManyRequests)
    }
  }

  mutating func pass(on forward: Forward, from slot: UInt32, now: Instant) {
    let sender = registry[slot].id
    let (id, to, byteCount) = (forward.id, forward.to, forward.body.count)
    let (status, count) = tryToPass(on: forward, from: slot, now: now)
    if status == .forwarded {
      counters.forwards &+= 1
      publish(.forwarded(from: sender, to: to, byteCount: byteCount))
    } else {
      counters.forwardsRefused &+= 1
      publishRefusal(.forwardRefused(from: sender, to: to, status), now: now)
    }
    let result = RendezvousMessage.forwardResult(
      ForwardResult(id: id, status: status, count: count))
    _ = send(result.bytes, to: slot, life: AnswerTerms.life, now: now)
  }

  /// What became of it, and how many programs of the callee it goes to.
  private mutating func tryToPass(
    on forward: consuming Forward, from slot: UInt32, now: Instant
  ) -> (ForwardResult.Status, UInt8) {
    let (sender, to) = (registry[slot].id, forward.to)
    let isAnswer = limiter.answers.spend(from: sender, to: to, now: now)
    guard isAnswer || mayBegin(to, from: slot, now: now) else { return (.tooMany, 0) }
    guard forward.body.count <= limits.forwardBodyByteCount else { return (.bodyTooLong, 0) }
    guard to != sender else { return (.notAllowed, 0) }
    // Whoever was written to may answer, whether or not it is in the audience.
    let programs = isAnswer ? registry.all(of: to) : registry.all(of: to, for: sender)
    let callees = registry.destinations(among: programs, forward.presence, now: now)
    guard !callees.isEmpty else { return (.notOnline, 0) }
    let life = min(Duration.seconds(Int64(forward.lifeSeconds)), limits.longestLife)
    var forwarded = Forwarded(forward, from: sender, presence: registry[slot].presence.id)
    let plain = RendezvousMessage.forwarded(forwarded).bytes
    forwarded.name = registry.name(of: slot)
    let named = RendezvousMessage.forwarded(forwarded).bytes
    let network = isAnswer ? nil : limiter.network(of: registry[slot].address)
    var count: UInt8 = 0
    for callee in callees {
      let message = registry[callee].flags.contains(.wantsNames) ? named : plain
      if pass(on: message, to: callee, from: (sender, network), life, now: now) { count &+= 1 }
    }
    guard count > 0 else { return (.tooMany, 0) }
    if !isAnswer { limiter.answers.grant(to: to, from: sender, count: Int(count), now: now) }
    return (.forwarded, count)
  }

  /// Whether the client's rate, and that of its prefixes towards `callee`, allow one more FORWARD.
  private mutating func mayBegin(_ callee: PeerID, from slot: UInt32, now: Instant) -> Bool {
    registry[slot].forwards.admit(limits.forwardsPerClient, nowMilliseconds: now.millisecond)
      && limiter.takeForward(of: registry[slot].address, to: callee, now: now)
  }

  /// Sends a body to one program; `false` if too much waits for it already.
  private mutating func pass(
    on message: [UInt8], to callee: UInt32, from sender: (id: PeerID, network: UInt64?),
    _ life: Duration, now: Instant
  ) -> Bool {
    if let index = exchange(of: callee), !exchanges[index].forwards.hasRoom(for: sender, limits) {
      return false
    }
    guard let tag = send(message, to: callee, life: life, now: now) else { return false }
    withOpenExchange(of: callee) {
      $0.forwards.append(.init(tag: tag, from: sender.id, network: sender.network))
    }
    return true
  }
}

extension [Exchange.OpenForward] {
  /// Whether one more of the sender may be under way to the same program.
  func hasRoom(for sender: (id: PeerID, network: UInt64?), _ limits: ServerLimits) -> Bool {
    guard count(where: { $0.from == sender.id }) < limits.openForwardsPerPair else { return false }
    guard let network = sender.network else {
      return count(where: { $0.network == nil }) < limits.openAnswersPerCaller
    }
    return count(where: { $0.network != nil }) < limits.openForwardsPerCallee
      && count(where: { $0.network == network }) < limits.openForwardsPerNetwork
  }
}
