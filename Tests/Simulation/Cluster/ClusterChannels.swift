import Channels
import Peer
import Primitives
import Rendezvous
import SecureSession
import Wire

/// People at several nodes are in the same channels, while nodes and Redis fail. When all is mended
/// each roster is right within 2 s, nobody is in the rosters of two nodes, and a node that dies
/// takes nobody away but its own clients.
final class ClusterChannels {
  private let world: CallWorld
  private let cluster: SimulatedCluster
  private let channels: [ChannelIdentity]
  /// At which node each program registers, and which channels it is to be in.
  private var homes: [Int] = []
  private var wishes: [Set<Int>] = []

  static func run(seed: UInt64, keepsText: Bool) -> RunReport {
    let channels = ClusterChannels(seed: seed, keepsText: keepsText)
    channels.runAll()
    var report = channels.world.report()
    report.totals.calls = 1
    report.totals.outcomes["completed"] = report.violations.isEmpty ? 1 : 0
    return report
  }

  private init(seed: UInt64, keepsText: Bool) {
    world = CallWorld(seed: seed, keepsText: keepsText) { SimulatedCluster.share($0) }
    cluster = SimulatedCluster(world, nodeCount: 2 + Int(world.random.below(2)))
    channels = CallWorld.names.prefix(3).map { ChannelIdentity(name: $0, key: nil) }
    for index in 0..<(4 + Int(world.random.below(3))) {
      homes.append(Int(world.random.below(UInt64(cluster.nodes.count))))
      wishes.append([])
      world.addPeer(CallWorld.names[index % CallWorld.names.count]) { [unowned self] in
        let node = cluster.nodes[homes[index]].rendezvous
        $0.rendezvous = node.address
        $0.rendezvousID = node.id
      }
    }
  }

  private func runAll() {
    world.run(.seconds(3))
    for index in world.peers.indices {
      change(index, Int(world.random.below(3)))
      change(index, Int(world.random.below(3)))
    }
    let end = world.now + .seconds(60)
    let healed = ClusterFaults(cluster).planAll(from: world.now, to: end)
    while world.now < max(healed, end), world.simulator.livelock == nil {
      world.run(.milliseconds(1) * Int(world.random.below(6_000)))
      act()
    }
    settle()
    for _ in 0..<5 {
      act(moves: false)
      expectAgreement("2 s after an act in quiet", within: .seconds(2))
      world.run(.milliseconds(1) * Int(world.random.below(3_000)))
    }
    // A channel without members is forgotten at the next look at it.
    world.run(.seconds(1))
    expectOneHome()
    killNode()
  }

  // MARK: - People

  private func act(moves: Bool = true) {
    let index = Int(world.random.below(UInt64(world.peers.count)))
    guard world.peers[index].host.isRunning else { return }
    if moves, world.random.happens(0.3) { return move(index) }
    change(index, Int(world.random.below(UInt64(channels.count))))
  }

  /// Joins a channel, or leaves it.
  private func change(_ index: Int, _ channel: Int) {
    if wishes[index].remove(channel) == nil {
      wishes[index].insert(channel)
      return join(index, channel)
    }
    let id = channels[channel].id
    command(index) { client, now throws(ChannelRefusal) in try client.leave(id, now: now) }
  }

  private func join(_ index: Int, _ channel: Int) {
    let identity = channels[channel]
    command(index) { client, now throws(ChannelRefusal) in
      try client.join(identity, as: channel == 0 ? .host : .audience, now: now)
    }
  }

  private func command(
    _ index: Int,
    _ body: (inout ChannelClient, Instant) throws(ChannelRefusal) -> Void
  ) {
    let refusal = world.peers[index].host.command(now: world.now) {
      machine, now -> ChannelRefusal? in
      do throws(ChannelRefusal) {
        try machine.withChannels(now: now) { client throws(ChannelRefusal) in
          try body(&client, now)
        }
        return nil
      } catch {
        return error
      }
    }
    if case .some(.some(let refusal)) = refusal {
      world.testimony.report("program \(index): \(refusal) at \(world.now.nanoseconds) ns")
    }
  }

  /// A program ends without a word, and begins at another node.
  private func move(_ index: Int) {
    let peer = world.peers[index]
    peer.crash()
    homes[index] = Int(world.random.below(UInt64(cluster.nodes.count)))
    let pause = world.random.duration(.milliseconds(100) ... .seconds(3))
    world.simulator.plan(after: pause) { [unowned self] in
      guard !peer.host.isRunning else { return }
      peer.start()
      for channel in wishes[index].sorted() { join(index, channel) }
    }
  }

  // MARK: - Rules

  /// Who is seen in a channel by a program, by identity; one for each stay.
  private func roster(_ index: Int, _ channel: Int) -> [PeerID] {
    let id = channels[channel].id
    let members = world.peers[index].host.command(now: world.now) { machine, _ in
      machine.channels.members(of: id).map(\.id)
    }
    return Self.inOrder(members ?? [])
  }

  private func wanted(_ channel: Int, _ isThere: (Int) -> Bool) -> [PeerID] {
    let members = world.peers.indices.filter { wishes[$0].contains(channel) && isThere($0) }
    return Self.inOrder(members.map { world.peers[$0].id })
  }

  private static func inOrder(_ ids: [PeerID]) -> [PeerID] {
    ids.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
  }

  /// What some program sees that is not so; `nil` where all is right.
  private func fault(_ isThere: (Int) -> Bool = { _ in true }) -> String? {
    for channel in channels.indices {
      let wanted = wanted(channel, isThere)
      for index in world.peers.indices where wishes[index].contains(channel) && isThere(index) {
        let seen = roster(index, channel)
        if seen != wanted {
          return "program \(index) sees \(seen.count) of \(wanted.count) in channel \(channel)"
        }
      }
    }
    return nil
  }

  private func expectAgreement(_ when: String, within: Duration) {
    guard !world.run(atMost: within, until: { fault() == nil }), let fault = fault() else { return }
    world.testimony.report("\(fault) \(when), at \(world.now.nanoseconds) ns")
  }

  /// All is mended: everybody comes back, and who ended without a word is gone.
  private func settle() {
    let isRegistered = world.run(atMost: .seconds(90)) {
      world.peers.indices.allSatisfy { isThere($0) }
    }
    if !isRegistered { world.testimony.report("a program is not registered after 90 s") }
    world.run(.seconds(24))
    expectAgreement("when all is mended", within: .seconds(2))
  }

  private func isThere(_ index: Int) -> Bool {
    let (peer, node) = (world.peers[index], cluster.nodes[homes[index]])
    return peer.isRegistered && node.isRunning && node.hasSession(of: peer.id)
  }

  /// No node has members beside those that there are.
  private func expectOneHome() {
    let counts = cluster.nodes.map { node in
      node.rendezvous.host.command(now: world.now) { machine, _ in machine.gauges }
        ?? ServerGauges()
    }
    let members = wishes.reduce(0) { $0 + $1.count }
    let used = Set(wishes.flatMap { $0 }).count
    let (found, rooms) = (
      counts.reduce(0) { $0 + $1.channelMembers }, counts.reduce(0) { $0 + $1.channels }
    )
    if found != members || rooms != used {
      world.testimony.report(
        "nodes have \(found) members in \(rooms) channels, not \(members) in \(used)")
    }
  }

  /// A node dies for good with its clients: who is at the others has these all the while, and is
  /// told that those are gone.
  private func killNode() {
    let dead = Int(world.random.below(UInt64(cluster.nodes.count)))
    cluster.nodes[dead].crash()
    let died = world.now
    while world.now < died + Self.longestDeath {
      world.run(.milliseconds(250))
      for channel in channels.indices { expectHeard(channel, beside: dead) }
      if world.now < died + .seconds(18), !world.testimony.violations.isEmpty { return }
    }
    if let fault = fault({ homes[$0] != dead }) {
      world.testimony.report("\(fault) after node \(dead) died at \(died.nanoseconds) ns")
    }
    expectOneHome(without: dead)
  }

  private func expectHeard(_ channel: Int, beside dead: Int) {
    let living = world.peers.indices.filter { homes[$0] != dead && wishes[$0].contains(channel) }
    for index in living {
      let seen = roster(index, channel)
      for other in living where !seen.contains(world.peers[other].id) {
        world.testimony.report(
          "program \(index) has lost \(other) in channel \(channel) at \(world.now.nanoseconds) ns")
        return
      }
    }
  }

  private func expectOneHome(without dead: Int) {
    for index in homes.indices where homes[index] == dead { wishes[index] = [] }
    expectOneHome()
  }

  /// 20.9 s from the last sign of life, and until another node has the channel.
  private static let longestDeath = Duration.seconds(26)
}
