import Primitives
import Rendezvous
import Simulation
import Wire

/// Several nodes with one Redis, and clients of theirs, in simulated time.
final class ClusterWorld {
  let redis = RedisModel()
  private(set) var nodes: [Server] = []
  /// Nodes that were killed: nothing of them happens any more.
  private var dead: Set<Int> = []
  /// Clients that say every 10 s that they are there, each at its node.
  private var alive: [(client: TestClient, node: Int)] = []
  private var sincePing = Duration.zero

  init(nodeCount: Int = 2, relayIDs: Set<PeerID> = []) {
    for number in 0..<UInt64(nodeCount) {
      let node = Server(
        relayIDs: relayIDs, identitySeed: 90 + number, seed: 50 + number, redis: redis)
      node.setRedis(isThere: true)
      nodes.append(node)
    }
    run(.seconds(1))
  }

  /// Nodes in step, a tenth of a second at a time.
  func run(_ duration: Duration) {
    var left = duration
    while left > .zero {
      for (index, node) in nodes.enumerated() where !dead.contains(index) {
        node.run(.milliseconds(100))
      }
      settle()
      left = left - .milliseconds(100)
      sincePing = sincePing + .milliseconds(100)
      if sincePing >= .seconds(10) { ping() }
    }
  }

  private func ping() {
    sincePing = .zero
    for (client, node) in alive where client.isRegistered && !dead.contains(node) {
      nodes[node].receive(client.ping(), from: client.address)
    }
  }

  /// Lets nodes and clients speak until nobody has anything to say at this moment.
  private func settle() {
    for _ in 0..<20 {
      var isBusy = false
      for (index, node) in nodes.enumerated() where !dead.contains(index) {
        node.exchange()
        if node.serveStore() { isBusy = true }
      }
      if !isBusy { return }
    }
  }

  func join(_ client: TestClient, _ node: Int, name: String? = nil) {
    nodes[node].join(client, name: name)
    settle()
    alive.removeAll { $0.client === client }
    alive.append((client, node))
  }

  /// Redis takes the state that it had, as a copy of it that takes over does, or a server that
  /// starts anew; `nil` = none at all. All connections end, and none is there yet.
  func restartRedis(_ copy: RedisModel.State?) {
    for (index, node) in nodes.enumerated() where !dead.contains(index) {
      node.setRedis(isThere: false)
    }
    redis.restart(copy)
  }

  func kill(_ node: Int) { dead.insert(node) }

  /// The card or the lack of one that a client is told of.
  func lookUp(_ target: LookUp.Target, _ asker: TestClient, at node: Int) -> LookUpResult? {
    asker.messages = []
    asker.request(.lookUp(LookUp(request: 7, target: target)), now: nodes[node].now)
    run(.seconds(1))
    return asker.messages.lazy.compactMap {
      if case .lookUpResult(let result) = $0 { result } else { nil }
    }.first
  }

  /// What becomes of a body.
  func forward(
    _ body: [UInt8] = [1, 2, 3], from sender: TestClient, to receiver: PeerID, at node: Int,
    _ presence: PresenceID = .every
  ) -> ForwardResult? {
    sender.messages = []
    let id = ForwardID(random: &sender.random)
    let forward = Forward(id: id, to: receiver, presence: presence, lifeSeconds: 8, body: body)
    sender.request(.forward(forward), now: nodes[node].now)
    run(.seconds(1))
    return sender.messages.lazy.compactMap {
      if case .forwardResult(let result) = $0 { result } else { nil }
    }.first
  }
}

extension TestClient {
  /// Bodies that came from others.
  var bodies: [Forwarded] {
    messages.compactMap { if case .forwarded(let body) = $0 { body } else { nil } }
  }
}
