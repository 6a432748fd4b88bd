import Messaging
import Primitives
import Wire

/// LOOKUP and FORWARD (docs/protocol/rendezvous.md §3).
extension RendezvousMachine {
  mutating func answer(_ lookUp: LookUp, of slot: UInt32, now: Instant) {
    counters.lookUps &+= 1
    let isAllowed =
      registry[slot].lookUps.take(limits.lookUpsPerClient, nowMilliseconds: now.millisecond)
      && limiter.takeLookUp(of: registry[slot].address, now: now)
    let result =
      isAllowed
      ? find(lookUp, now: now) : LookUpResult(request: lookUp.request, status: .tooManyRequests)
    if result.status == .tooManyRequests { counters.lookUpsRefused &+= 1 }
    _ = send(
      RendezvousMessage.lookUpResult(result).bytes, to: slot, life: Self.answerLife, now: now)
  }

  /// A store that fails makes every answer "too many requests": try again later.
  private mutating func find(_ lookUp: LookUp, now: Instant) -> LookUpResult {
    let request = lookUp.request
    do throws(StoreFailure) {
      let found: PeerID?
      switch lookUp.target {
      case .id(let id): found = id
      case .name(let name): found = try store.owner(of: name, now: settings.unixSeconds(now))
      }
      if store.isBatchOpen { noteWrite(now: now) }
      guard let id = found, let card = try store.card(of: id), !card.isEmpty,
        card.count <= LookUpResult.maximumCardByteCount
      else { return LookUpResult(request: request, status: .unknown) }
      let isOnline = registry.find(id) != nil
      return LookUpResult(request: request, status: isOnline ? .online : .offline, card: card)
    } catch {
      noteStoreFailure(error)
      return LookUpResult(request: request, status: .tooManyRequests)
    }
  }

  mutating func pass(on forward: Forward, from slot: UInt32, now: Instant) {
    let sender = registry[slot].id
    let (id, to, byteCount) = (forward.id, forward.to, forward.body.count)
    let status = tryToPass(on: forward, from: slot, now: now)
    if status == .forwarded {
      counters.forwards &+= 1
      publish(.forwarded(from: sender, to: to, byteCount: byteCount))
    } else {
      counters.forwardsRefused &+= 1
      publishRefusal(.forwardRefused(from: sender, to: to, status), now: now)
    }
    let result = RendezvousMessage.forwardResult(ForwardResult(id: id, status: status))
    _ = send(result.bytes, to: slot, life: Self.answerLife, now: now)
  }

  private mutating func tryToPass(
    on forward: consuming Forward, from slot: UInt32, now: Instant
  ) -> ForwardResult.Status {
    let sender = registry[slot].id
    guard
      registry[slot].forwards.take(limits.forwardsPerClient, nowMilliseconds: now.millisecond)
    else { return .tooMany }
    guard forward.body.count <= limits.forwardBodyByteCount else { return .bodyTooLong }
    guard forward.to != sender else { return .notAllowed }
    guard let callee = registry.find(forward.to) else { return .notOnline }
    if let index = exchange(of: callee) {
      let open = exchanges[index].forwards
      guard open.count < limits.openForwardsPerCallee,
        open.count(where: { $0.from == sender }) < limits.openForwardsPerPair
      else { return .tooMany }
    }
    let life = min(Duration.seconds(Int64(forward.lifeSeconds)), limits.longestLife)
    let message = RendezvousMessage.forwarded(Forwarded(forward, from: sender))
    guard let tag = send(message.bytes, to: callee, life: life, now: now) else { return .tooMany }
    withOpenExchange(of: callee) { $0.forwards.append(.init(tag: tag, from: sender)) }
    return .forwarded
  }

  /// How long an answer is repeated: as long as anybody waits for one (docs/protocol/frames.md §3).
  private static var answerLife: Duration { .seconds(8) }
}
