import Messaging
import Primitives
import Wire

/// A FORWARD that its sender may send, and where it goes: to programs here and at other nodes
/// (docs/protocol/rendezvous.md §3, cluster.md §4).
struct ForwardRoute {
  let forward: Forward
  let sender: StoreWork.Client
  let kind: ForwardCredits.Kind

  /// What became of it, and how many programs it was passed on to; `nil` where another node is to
  /// say that first.
  func pass(
    in machine: inout RendezvousMachine, now: Instant
  ) -> (ForwardResult.Status, UInt8)? {
    let (id, to) = (machine.registry[sender.slot].id, forward.to)
    // Whoever was written to may answer, whether or not it is in the audience.
    let isAnswer = kind == .answer
    let programs = isAnswer ? machine.registry.all(of: to) : machine.registry.all(of: to, for: id)
    let callees = machine.registry.destinations(among: programs, forward.presence, now: now)
    let remote = remotes(beside: callees, from: id, in: &machine)
    guard !callees.isEmpty || !remote.programs.isEmpty else {
      return (remote.isKnown ? .notOnline : .unavailable, 0)
    }
    let network = machine.limiter.network(of: machine.registry[sender.slot].address)
    let body = Forwarded(
      forward, from: id, presence: machine.registry[sender.slot].presence.id,
      name: machine.registry.name(of: sender.slot))
    let local = Delivery(body: body, network: isAnswer ? nil : network)
    let count = local.pass(to: callees, in: &machine, now: now)
    let sent = passToNodes(remote.programs, network: network, body, count, in: &machine, now: now)
    guard count + sent > 0 else { return (callees.isEmpty ? .unavailable : .tooMany, 0) }
    machine.limiter.credits.recordPassed(
      from: id, to: to, byteCount: forward.body.count, kind, count: count + sent, now: now)
    return sent > 0 ? nil : (.forwarded, UInt8(clamping: count))
  }

  // MARK: - Parts

  /// Programs at other nodes that it goes to, and whether that is all there is to know.
  private func remotes(
    beside callees: [UInt32], from id: PeerID, in machine: inout RendezvousMachine
  ) -> (programs: [RemotePresence], isKnown: Bool) {
    guard let shared = machine.store.shared else { return ([], true) }
    do throws(StoreFailure) {
      let all = try shared.programs(of: forward.to)
        .filter { kind == .answer || $0.isVisible(to: id) }
      return (destinations(among: all, beside: callees), shared.isFoundWhole)
    } catch {
      machine.noteStoreFailure(error)
      return ([], false)
    }
  }

  private func destinations(
    among all: [RemotePresence], beside callees: [UInt32]
  ) -> [RemotePresence] {
    switch forward.presence {
    case .every: return all.filter { $0.record.presence.kind.isInvited }
    case .anyOne:
      // One that is here comes first; of others a node that was heard of lately.
      guard callees.isEmpty else { return [] }
      let answering = all.filter { $0.record.presence.kind == .answering }
      return (answering.first { $0.isSure } ?? answering.first).map { [$0] } ?? []
    default: return all.filter { $0.record.presence.id == forward.presence }
    }
  }

  /// Hands it to each node that has programs of the receiver, and waits for what they say.
  ///
  /// - Parameter count: To how many programs here it was passed on.
  /// - Returns: How many programs are at those nodes.
  private func passToNodes(
    _ programs: [RemotePresence], network: UInt64, _ body: Forwarded, _ count: Int,
    in machine: inout RendezvousMachine, now: Instant
  ) -> Int {
    guard let shared = machine.store.shared, !programs.isEmpty,
      machine.storeWork.deliveries.hasRoom
    else { return 0 }
    let receipt = NodeMessage.Receipt(node: shared.node.number, number: machine.random.next())
    var nodes: [UInt64] = []
    var sent = 0
    for node in programs.map(\.record.node)
    where !nodes.contains(node) && node != shared.node.number {
      let there = programs.filter { $0.record.node == node }.map(\.record.presence.id)
      var message = NodeMessage(
        forward, from: body.from, presence: body.presence, name: body.name,
        isAnswer: kind != .begun,  // The programs are chosen here.
        network: network, programs: there)
      message.receipt = receipt
      guard shared.send(.message(message), to: node) else { continue }
      nodes.append(node)
      sent += there.count
    }
    if sent > 0 {
      machine.storeWork.deliveries.insert(
        AwaitedDelivery(route: self, nodes: nodes, count: count), receipt.number, now: now)
    }
    return sent
  }
}

/// A body for programs at this node, from a client here or at another node.
struct Delivery {
  let body: Forwarded
  /// Stands for the sender's network; `nil` for an answer.
  let network: UInt64?

  /// How many of the programs it is on its way to.
  func pass(to callees: [UInt32], in machine: inout RendezvousMachine, now: Instant) -> Int {
    let life = min(Duration.seconds(Int64(body.lifeSeconds)), machine.limits.longestLife)
    let named = RendezvousMessage.forwarded(body).bytes
    var nameless = body
    nameless.name = nil
    let plain = RendezvousMessage.forwarded(nameless).bytes
    return callees.count { callee in
      let message = machine.registry[callee].flags.contains(.wantsNames) ? named : plain
      return pass(on: message, to: callee, life, in: &machine, now: now)
    }
  }

  /// Sends a body to one program; `false` if too much waits for it already.
  private func pass(
    on message: [UInt8], to callee: UInt32, _ life: Duration,
    in machine: inout RendezvousMachine, now: Instant
  ) -> Bool {
    let sender = (id: body.from, network: network)
    if let index = machine.exchange(of: callee),
      !machine.exchanges[index].forwards.hasRoom(
        for: sender, byteCount: message.count, machine.limits)
    {
      return false
    }
    guard let tag = machine.send(message, to: callee, life: life, now: now) else { return false }
    machine.withOpenExchange(of: callee) {
      $0.forwards.append(
        .init(tag: tag, from: sender.id, network: sender.network, byteCount: message.count))
    }
    return true
  }
}

extension NodeMessage {
  /// Passes what another node handed over to the programs here that it is for.
  func deliver(in machine: inout RendezvousMachine, now: Instant) {
    guard machine.storeWork.deliveries.isNew(receipt.number) else { return }
    let all = isAnswer ? machine.registry.all(of: to) : machine.registry.all(of: to, for: from)
    let callees = all.filter { programs.contains(machine.registry[$0].presence.id) }
    let delivery = Delivery(body: forwarded, network: isAnswer ? nil : network)
    let count = delivery.pass(to: callees, in: &machine, now: now)
    if let shared = machine.store.shared {
      let taken = BodyTaken(
        number: receipt.number, node: shared.node.number, count: UInt8(clamping: count))
      shared.send(.taken(taken), to: receipt.node)
    }
    guard count > 0 else {
      machine.counters.forwardsRefused &+= 1
      return
    }
    machine.counters.forwards &+= 1
    machine.publish(.forwarded(from: from, to: to, byteCount: body.count))
    machine.limiter.credits.recordPassed(
      from: from, to: to, byteCount: body.count, isAnswer ? .answer : .begun, count: count,
      now: now)
  }
}
