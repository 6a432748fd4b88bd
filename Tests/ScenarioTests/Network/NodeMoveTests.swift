import Calling
import Peer
import Primitives
import SecureSession
import Simulation
import Testing
import Wire

/// People who pin the root of a service: where they register, and what becomes of them and of their
/// calls when a node ends (docs/protocol/cluster.md §7).
@Suite struct NodeMoveTests {
  private static func failures(_ peer: SimulatedPeer) -> [RegistrationFailure] {
    peer.events.compactMap {
      if case .registration(.failed(let failure)) = $0.event { failure } else { nil }
    }
  }

  private static func lists(_ peer: SimulatedPeer) -> [NodeList] {
    peer.events.compactMap {
      if case .rendezvousNodes(let list) = $0.event { list } else { nil }
    }
  }

  /// People, registered.
  private static func people(
    _ count: Int, _ service: SimulatedService, dialling node: Int = 0
  ) throws -> [SimulatedPeer] {
    let peers = try (0..<count).map { _ in try #require(service.addPeer(dialling: node)) }
    let isReady = service.world.run(atMost: .seconds(5)) { peers.allSatisfy(\.isRegistered) }
    try #require(isReady, "\(service.world.log.text)")
    service.world.run(.seconds(1))
    return peers
  }

  private static func home(_ peer: SimulatedPeer, _ service: SimulatedService) throws -> Int {
    let homes = service.homes(of: peer)
    try #require(homes.count == 1, "at nodes \(homes)")
    return homes[0]
  }

  /// When the peer registered after a moment, in ms.
  private static func delay(_ peer: SimulatedPeer, since moment: Instant) -> Int64 {
    let back = peer.registrations.first { $0 > moment }
    return back.map { Int64(($0 - moment).milliseconds) } ?? .max
  }

  @Test func `whoever dials one node registers at its own, and finds people at the others`() throws
  {
    let service = SimulatedService(seed: 1)
    let people = try Self.people(9, service)
    let list = try #require(service.list(serial: 7))
    for peer in people {
      let first = list.order(for: peer.id)[0].id
      #expect(try service.id(of: Self.home(peer, service)) == first)
      #expect(Self.lists(peer).map(\.serial) == [7])
    }
    #expect(try Set(people.map { try Self.home($0, service) }).count == 3, "they spread")
    let call = try #require(people[0].call(.id(people[1].id)))
    service.world.run(.seconds(4))
    #expect(people[0].statistics(of: call) != nil, "\(service.world.log.text)")
  }

  @Test func `with a list that was kept the first packet goes to one's own node`() throws {
    let service = SimulatedService(seed: 2)
    let list = try #require(service.list(serial: 7))
    let own = (0..<3).map { service.address(of: $0) }
    var first: SocketAddress?
    service.world.network.tap = { sighting in
      if first == nil, own.contains(sighting.destination) { first = sighting.destination }
    }
    let peer = try #require(service.addPeer(dialling: 0, nodes: list))
    service.world.run(.seconds(2))
    #expect(peer.isRegistered && Self.lists(peer).isEmpty)
    let expected = try #require(list.order(for: peer.id)[0].addresses.first)
    #expect(first == expected)
    #expect(try service.address(of: Self.home(peer, service)) == expected)
  }

  /// Goal: 25 s, the PING's 6 s and its patience.
  @Test func `a node that dies leaves its clients to the others`() throws {
    let service = SimulatedService(seed: 3)
    let people = try Self.people(9, service)
    let lost = try people.filter { try Self.home($0, service) == 1 }
    #expect(!lost.isEmpty)
    let died = service.world.now
    service.kill(1)
    service.world.run(.seconds(20))
    for peer in people {
      let home = try Self.home(peer, service)
      #expect(home != 1)
      if lost.contains(where: { $0 === peer }) {
        #expect(Self.delay(peer, since: died) <= 12_000)
      } else {
        #expect(Self.delay(peer, since: died) == .max, "it stays where it is")
      }
    }
  }

  /// Goal: 5 s in a call, and no packet of the call is lost.
  @Test(arguments: 4..<8 as Range<UInt64>)
  func `a call does not notice that its nodes die, and its people are back in 5 s`(
    seed: UInt64
  ) throws {
    let service = SimulatedService(seed: seed)
    let people = try Self.people(2, service)
    let (alice, bob) = (people[0], people[1])
    bob.habits.answer = .accept(after: .milliseconds(200))
    let call = try #require(alice.call(.id(bob.id)))
    service.world.run(.seconds(5) + .milliseconds(Int64(seed) * 311))
    let heard = bob.heard.count
    #expect(heard > 50, "\(service.world.log.text)")
    let died = service.world.now
    for node in Set(try people.map { try Self.home($0, service) }) { service.kill(node) }
    try #require(people.allSatisfy { service.homes(of: $0).isEmpty })
    service.world.run(.seconds(8))
    // Where both nodes died and only one is left, both are there.
    for peer in people { #expect(Self.delay(peer, since: died) <= 5_000, "seed \(seed)") }
    for peer in people {
      let times = peer.heard.filter { $0.call == call && $0.at > died }.map(\.at)
      let gaps = zip(times, times.dropFirst()).map { ($1 - $0).milliseconds }
      #expect(times.count >= 390 && (gaps.max() ?? .max) <= 40, "\(times.count) frames")
    }
  }

  /// Bob does not know yet that his node is dead; nobody can tell where he is.
  @Test func `who is called right after his node died is found when he is at another one`() throws {
    let service = SimulatedService(seed: 8)
    let people = try Self.people(6, service)
    let alice = try #require(service.addPeer(dialling: 1) { $0.presence = .calling })
    service.world.run(.seconds(2))
    let hers = try Self.home(alice, service)
    let bob = try #require(try people.first { try Self.home($0, service) != hers })
    bob.habits.answer = .accept(after: .milliseconds(100))
    service.kill(try Self.home(bob, service))
    service.world.run(.seconds(1))
    let call = try #require(alice.call(.id(bob.id)))
    service.world.run(.seconds(18))
    #expect(bob.heard.contains { $0.call == call }, "\(service.world.log.text)")
  }

  @Test func `a node that drains is left at once, and a call to its client connects`() throws {
    let service = SimulatedService(seed: 9)
    let people = try Self.people(6, service)
    let told = try people.filter { try Self.home($0, service) == 2 }
    try #require(!told.isEmpty)
    let (began, caller) = (service.world.now, try #require(people.first { $0 !== told[0] }))
    service.drain(2)
    service.world.run(.seconds(1))
    for peer in told {
      #expect(Self.delay(peer, since: began) <= 1_000)
      #expect(try Self.home(peer, service) != 2)
    }
    told[0].habits.answer = .accept(after: .milliseconds(100))
    let call = try #require(caller.call(.id(told[0].id)))
    service.world.run(.seconds(4))
    #expect(told[0].heard.contains { $0.call == call }, "\(service.world.log.text)")
  }

  /// Each node ends and is there again 5 s later, while two people call each other once and again.
  @Test func `a rolling upgrade fails no call`() throws {
    let service = SimulatedService(seed: 10)
    let people = try Self.people(4, service)
    for peer in people { peer.habits.answer = .accept(after: .milliseconds(100)) }
    people[0].habits.talk = .seconds(30)
    let long = try #require(people[0].call(.id(people[1].id)))
    service.world.run(.seconds(2))
    for node in 0..<3 {
      service.drain(node)
      service.world.run(.seconds(2))
      let call = try #require(people[2].call(.id(people[3].id)))
      service.world.run(.seconds(3))
      #expect(people[3].heard.contains { $0.call == call }, "node \(node)")
      #expect(people[2].end(call))
      service.start(node)
      service.world.run(.seconds(3))
    }
    let times = people[1].heard.filter { $0.call == long }.map(\.at)
    let gaps = zip(times, times.dropFirst()).map { ($1 - $0).milliseconds }
    #expect((gaps.max() ?? .max) <= 40 && times.count > 1_000, "\(times.count) frames")
  }

  private enum End: CaseIterable { case drained, drainedAndStarted, killedAndStarted }

  /// Programs that answer and call: nobody is said to be offline who is on the way to another node.
  @Test(arguments: End.allCases, 0..<12 as Range<Int>)
  private func `who is called while its node ends is found`(end: End, step: Int) throws {
    let service = SimulatedService(seed: 20 + UInt64(step))
    let people = try Self.people(6, service)
    for peer in people { peer.habits.answer = .accept(after: .milliseconds(100)) }
    let bob = people[0]
    let home = try Self.home(bob, service)
    let alice = try #require(try people.first { try Self.home($0, service) != home })
    if end == .killedAndStarted { service.kill(home) } else { service.drain(home) }
    if end != .drained {
      service.world.simulator.plan(after: .milliseconds(300)) { service.start(home) }
    }
    service.world.run(.milliseconds(step * 60))
    let call = try #require(alice.call(.id(bob.id)))
    service.world.run(end == .killedAndStarted ? .seconds(18) : .seconds(4))
    #expect(bob.heard.contains { $0.call == call }, "\(service.world.log.text)")
  }

  @Test func `all nodes die and come back, and everybody is found again within 10 s`() throws {
    let service = SimulatedService(seed: 11)
    let people = try Self.people(4, service)
    for node in 0..<3 { service.kill(node) }
    service.world.run(.seconds(60))
    #expect(people.allSatisfy { !$0.isRegistered })
    let back = service.world.now
    service.start(1)
    let areBack = service.world.run(atMost: .seconds(12)) { people.allSatisfy(\.isRegistered) }
    #expect(areBack, "not back after \((service.world.now - back).milliseconds) ms")
    for peer in people { #expect(try Self.home(peer, service) == 1) }
  }

  @Test func `a list that the root has not signed is none`() throws {
    let service = SimulatedService(seed: 12)
    let forged = try #require(service.list(serial: 900, signedBy: 99))
    service.give(forged)
    let stranger = try #require(service.addPeer())
    let kept = try #require(service.list(serial: 7))
    let known = try #require(service.addPeer(nodes: kept))
    service.world.run(.seconds(12))
    #expect(!stranger.isRegistered && Self.lists(stranger).isEmpty)
    guard case .identityMismatch(let expected, _) = Self.failures(stranger).first else {
      Issue.record("it is not told of: \(Self.failures(stranger))")
      return
    }
    let root = service.root.id
    #expect(expected == root)
    #expect(known.isRegistered && Self.lists(known).isEmpty, "what is pinned stays")
  }

  @Test func `a list that is over is refused, and said to be`() throws {
    let service = SimulatedService(seed: 13)
    let short = try #require(service.list(serial: 8, for: 60))
    service.give(short)
    service.world.run(.seconds(1_500))
    let peer = try #require(service.addPeer())
    // One that has the same list as it was kept.
    let kept = try #require(service.addPeer(nodes: short))
    service.world.run(.seconds(15))
    for peer in [peer, kept] {
      #expect(!peer.isRegistered)
      #expect(Self.failures(peer).first == .nodesNotValid(isOver: true))
    }
    service.replace(try #require(service.list(serial: 9)))
    let isBack = service.world.run(atMost: .seconds(12)) {
      peer.isRegistered && kept.isRegistered
    }
    #expect(isBack, "\(Self.failures(peer))")
  }

  @Test func `a list of an older serial does not come back`() throws {
    let service = SimulatedService(seed: 14, serial: 7)
    let newer = try #require(service.list(serial: 8, of: 1..<3))
    let peer = try #require(service.addPeer(dialling: 0, nodes: newer))
    service.world.run(.seconds(5))
    #expect(peer.isRegistered && Self.lists(peer).isEmpty)
    #expect(try Self.home(peer, service) != 0, "that one is on the older list alone")
  }

  @Test func `a newer list is learnt, and a node that is not on it is left`() throws {
    let service = SimulatedService(seed: 15)
    let people = try Self.people(6, service)
    let atFirst = try people.filter { try Self.home($0, service) == 0 }
    try #require(!atFirst.isEmpty)
    service.replace(try #require(service.list(serial: 8, of: 1..<3)))
    // A session lives for an hour, and is made anew before that.
    service.world.run(.seconds(3_400))
    for peer in people {
      #expect(Self.lists(peer).map(\.serial) == [7, 8])
      #expect(peer.isRegistered)
      #expect(try Self.home(peer, service) != 0)
    }
  }

  @Test func `after a node is back its clients return when their sessions are made anew`() throws {
    let service = SimulatedService(seed: 16)
    let people = try Self.people(6, service)
    let homes = try people.map { try Self.home($0, service) }
    service.drain(homes[0])
    service.world.run(.seconds(5))
    service.start(homes[0])
    service.world.run(.seconds(3_500))
    #expect(try people.map { try Self.home($0, service) } == homes)
  }

  /// A program of before, or of an operator without a root.
  @Test func `who pins a node's own ID asks for no list, and stays there`() throws {
    let service = SimulatedService(seed: 17)
    let id = service.id(of: 1)
    var asked = 0
    service.world.network.tap = { sighting in
      if sighting.bytes.count > 0, sighting.bytes[0] == PacketType.nodesRequest.rawValue {
        asked += 1
      }
    }
    let peer = try #require(service.addPeer(dialling: 1) { $0.rendezvousID = id })
    service.world.run(.seconds(5))
    #expect(peer.isRegistered && Self.lists(peer).isEmpty && asked == 0)
    #expect(try Self.home(peer, service) == 1)
    service.kill(1)
    service.world.run(.seconds(30))
    #expect(!peer.isRegistered)
    service.start(1)
    #expect(service.world.run(atMost: .seconds(12)) { peer.isRegistered })
    #expect(asked == 0)
  }
}
