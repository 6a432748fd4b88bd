import Calling
import Peer
import Primitives
import Wire

/// People at several nodes call each other, move and contend for names, while nodes and Redis fail:
/// a name has one owner, nobody who is registered is said to be offline, and when all is mended
/// each reaches each.
final class ClusterCalls {
  static let callsPerWorld = 10

  private let world: CallWorld
  private let cluster: SimulatedCluster
  /// At which node each program registers.
  private var homes: [Int] = []
  /// Since when each program's session has stood at its node.
  private var since: [Instant?] = []
  private var targets: [CallID: PeerID] = [:]
  private var placed: [CallID: Instant] = [:]
  private var heardCounts: [Int] = []
  /// Names with two owners that were told of, and those that had two at the last look.
  private var told: Set<PeerName> = []
  private var doubled: Set<PeerName> = []
  /// Who had each name before anything was broken: receipts say so from then on.
  private var owners: [PeerName: Int] = [:]

  static func run(seed: UInt64, keepsText: Bool) -> RunReport {
    let calls = ClusterCalls(seed: seed, keepsText: keepsText)
    calls.runAll()
    return calls.world.report()
  }

  private init(seed: UInt64, keepsText: Bool) {
    world = CallWorld(seed: seed, keepsText: keepsText) { SimulatedCluster.share($0) }
    cluster = SimulatedCluster(world, nodeCount: 2 + Int(world.random.below(2)))
    let count = 3 + Int(world.random.below(3))
    for index in 0..<count {
      homes.append(Int(world.random.below(UInt64(cluster.nodes.count))))
      since.append(nil)
      heardCounts.append(0)
      // Some want a name that another one has.
      let isRival = index > 1 && world.random.happens(0.3)
      let peer = world.addPeer(CallWorld.names[isRival ? 0 : index]) { [unowned self] in
        let node = cluster.nodes[homes[index]].rendezvous
        $0.rendezvous = node.address
        $0.rendezvousID = node.id
      }
      peer.habits.talk = .seconds(2)
    }
  }

  private func runAll() {
    watch()
    world.run(.seconds(3))
    for index in world.peers.indices where world.peers[index].hasName && isThere(index) {
      owners[world.peers[index].name] = index
    }
    let end = world.now + .seconds(60)
    let faults = ClusterFaults(cluster)
    let healed = faults.planAll(from: world.now, to: end)
    while world.now < healed || placed.count < Self.callsPerWorld - world.peers.count {
      world.run(.milliseconds(1) * Int(world.random.below(8_000)))
      if world.random.happens(0.25) {
        world.random.happens(0.6) ? loseWhileAway() : move()
      } else {
        place()
      }
      guard world.simulator.livelock == nil, world.now < end + .seconds(120) else { break }
    }
    RandomCalls.settle(world)
    expectAllFound()
    RandomCalls.settle(world)
    checkReceivers()
  }

  // MARK: - People

  private func place() {
    let caller = somePeer, callee = somePeer
    guard caller.id != callee.id else { return }
    call(caller, callee)
  }

  @discardableResult
  private func call(_ caller: SimulatedPeer, _ callee: SimulatedPeer) -> CallID? {
    guard let call = caller.call(.id(callee.id)) else { return nil }
    targets[call] = callee.id
    placed[call] = world.now
    return call
  }

  private var somePeer: SimulatedPeer {
    world.peers[Int(world.random.below(UInt64(world.peers.count)))]
  }

  /// A program ends, and begins at another node.
  private func move() {
    let index = Int(world.random.below(UInt64(world.peers.count)))
    let peer = world.peers[index]
    guard peer.host.isRunning else { return }
    world.noteAct()
    world.noteDisturbance(from: world.now, to: world.now + .seconds(5))
    peer.crash()
    homes[index] = Int(world.random.below(UInt64(cluster.nodes.count)))
    let pause = world.random.duration(.milliseconds(100) ... .seconds(3))
    world.simulator.plan(after: pause) { if !peer.host.isRunning { peer.start() } }
  }

  /// An owner of a name is away while Redis loses all, and somebody else asks for the name when
  /// names are given again.
  private func loseWhileAway() {
    guard let (name, owner) = owners.min(by: { $0.value < $1.value }), cluster.isRedisAnswering,
      let rival = world.peers.indices.first(where: { $0 != owner && world.peers[$0].name == name }),
      world.peers[owner].host.isRunning, world.peers[rival].host.isRunning
    else { return move() }
    world.log.note(at: world.now, "fault: Redis is emptied while the owner of \(name) is away")
    world.noteAct()
    world.noteDisturbance(from: world.now, to: world.now + .seconds(20))
    world.peers[owner].crash()
    let cluster = cluster
    world.simulator.plan(after: .seconds(1)) { cluster.emptyRedis() }
    planReturn(of: rival, after: .seconds(7), isCrashed: true)
    planReturn(of: owner, after: .seconds(9) + world.random.duration(.zero ... .seconds(4)))
  }

  private func planReturn(of index: Int, after delay: Duration, isCrashed: Bool = false) {
    let peer = world.peers[index]
    world.simulator.plan(after: delay) { [weak self] in
      if isCrashed { peer.crash() }
      self?.world.noteAct()
      if !peer.host.isRunning { peer.start() }
    }
  }

  // MARK: - Rules

  private func watch() {
    for index in world.peers.indices {
      let isThere = isThere(index)
      since[index] = isThere ? since[index] ?? world.now : nil
      checkAnswers(of: index)
    }
    checkNames()
    world.simulator.plan(after: .milliseconds(250)) { [weak self] in self?.watch() }
  }

  /// The program's session stands at its node, and both know.
  private func isThere(_ index: Int) -> Bool {
    let (peer, node) = (world.peers[index], cluster.nodes[homes[index]])
    return peer.isRegistered && node.isRunning && node.hasSession(of: peer.id)
  }

  private func checkNames() {
    for name in CallWorld.names where !told.contains(name) {
      let owners = world.peers.indices.filter { index in
        world.peers[index].name == name && world.peers[index].hasName && isThere(index)
          && cluster.nodes[homes[index]].hasHeardAll
      }
      // One who is given it back has it for a moment before the others have heard of it.
      guard owners.count > 1, doubled.insert(name).inserted == false else {
        if owners.count <= 1 { doubled.remove(name) }
        continue
      }
      told.insert(name)
      world.testimony.report("\(name) has \(owners.count) owners at \(world.now.nanoseconds) ns")
    }
  }

  /// Who is told "not online" or "unknown" of somebody whose session has stood for 5 s was lied to.
  private func checkAnswers(of caller: Int) {
    let events = world.peers[caller].events
    for (at, event) in events.dropFirst(heardCounts[caller]) {
      guard case .unresolved(let call, let failure) = event,
        failure == .notOnline || failure == .unknown, let target = targets[call],
        let callee = world.peers.firstIndex(where: { $0.id == target }),
        let began = since[callee], let asked = placed[call], began + .seconds(5) < asked,
        isKnown(homes[callee])
      else { continue }
      world.testimony.report("\(call): \(failure) at \(at.nanoseconds) ns, of one who is there")
    }
    heardCounts[caller] = events.count
  }

  /// Of a node that a loss of data and the end of all who knew of it have hidden nobody is told.
  private func isKnown(_ index: Int) -> Bool {
    let node = cluster.nodes[index]
    return !node.hasMissedLoss || node.isKnown
  }

  /// All is mended: each calls the next, and is connected.
  private func expectAllFound() {
    let isRegistered = world.run(atMost: .seconds(90)) {
      world.peers.indices.allSatisfy { isThere($0) }
    }
    guard isRegistered else {
      let away = world.peers.indices.filter { !isThere($0) }
      return world.testimony.report("programs \(away) are not registered 90 s after all is mended")
    }
    world.run(.seconds(2))
    checkOwners()
    // Names that were lost are settled for 5 s; then their owners register.
    world.run(.seconds(8))
    _ = world.run(atMost: .seconds(30)) { world.peers.indices.allSatisfy { isThere($0) } }
    world.run(.seconds(2))
    for (index, caller) in world.peers.enumerated() {
      let callee = world.peers[(index + 1) % world.peers.count]
      guard let call = call(caller, callee) else {
        world.testimony.report("\(caller.name) may not call when all is mended")
        continue
      }
      _ = world.run(atMost: .seconds(10)) { !world.testimony.hasOpenCalls }
      let isConnected = world.testimony.sides.contains {
        $0.call == call && $0.isCaller && $0.time(of: .connected) != nil
      }
      if !isConnected {
        world.testimony.report("\(call): \(index) does not reach the next when all is mended")
      }
    }
  }

  /// Who had a name before all began, and shows the receipt, has it again; and nobody else does.
  private func checkOwners() {
    for (name, owner) in owners.sorted(by: { $0.value < $1.value }) {
      let holders = world.peers.indices.filter {
        world.peers[$0].name == name && world.peers[$0].hasName && isThere($0)
      }
      guard holders != [owner] else { continue }
      world.testimony.report("\(name) is of \(owner), and \(holders) have it when all is mended")
    }
  }

  /// No invitation came to somebody else.
  private func checkReceivers() {
    for side in world.testimony.sides where !side.isCaller {
      let peer = world.peers.first { $0.hostID == side.host }
      if let target = targets[side.call], peer?.id != target {
        world.testimony.report("\(side.call): rings at host \(side.host.index), not at its callee")
      }
    }
  }
}

extension SimulatedPeer {
  /// Its last registration was granted its name.
  fileprivate var hasName: Bool {
    for (_, event) in events.reversed() {
      if case .registration(.registered(_, let name)) = event { return name == .granted }
    }
    return false
  }
}
