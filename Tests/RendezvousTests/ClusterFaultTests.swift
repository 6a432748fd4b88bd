import Primitives
import SecureSession
import Simulation
import Testing
import Wire

@testable import Rendezvous

/// What becomes of names, clients and bodies where a part of a service of several nodes fails
/// (docs/protocol/cluster.md §3 to §6): `NodeStanding`, `AwaitedDelivery`.
@Suite struct ClusterFaultTests {
  private let world = ClusterWorld()
  private let alice = TestClient(1)
  private let bob = TestClient(2)
  private let carol = TestClient(3)
  private let dave = TestClient(4)

  private func joinAll() {
    world.join(alice, 0, name: "alice")
    world.join(bob, 1, name: "bob")
    world.run(.seconds(2))
  }

  private func status(_ client: TestClient) -> LookUpResult.Status? {
    world.lookUp(.id(client.id), alice, at: 0)?.status
  }

  private func status(_ name: String) throws -> LookUpResult.Status? {
    world.lookUp(.name(try #require(PeerName(name))), alice, at: 0)?.status
  }

  /// Method: dave was registered once; he comes back to bob's node while Redis is out of its reach.
  @Test func `clients of a node that is cut off are never said to be offline`() {
    joinAll()
    world.join(dave, 1, name: "dave")
    world.run(.seconds(1))
    dave.leave(world.nodes[1])
    world.run(.seconds(1))
    #expect(status(dave) == .offline)
    world.nodes[1].setRedis(isThere: false)
    // Nobody would know yet that he may be there: his INIT is dropped, and he says it again.
    world.join(dave, 1, name: "dave")
    #expect(!dave.isRegistered)
    world.run(.seconds(6))
    world.join(dave, 1, name: "dave")
    #expect(dave.isRegistered)
    for seconds in [1, 9, 25, 60, 100] as [Int64] {
      world.run(.seconds(seconds))
      #expect(status(bob) != .offline && status(bob) != .unknown, "\(seconds) s later")
      #expect(status(dave) != .offline && status(dave) != .unknown, "\(seconds) s later")
      #expect(world.forward(from: alice, to: bob.id, at: 0)?.status == .unavailable)
    }
    // After 300 s nobody waits for more of its programs: it ends those, and takes none.
    world.run(.seconds(100))
    #expect(dave.closes.first == .limits && status(bob) == .unavailable)
    world.join(carol, 1)
    #expect(!carol.isRegistered)
    world.nodes[1].setRedis(isThere: true)
    world.run(.seconds(2))
    #expect(status(bob) == .online)
  }

  /// Method: Redis is emptied; carol asks for bob's name at once, and again when names are given.
  @Test func `a Redis that lost its data gives no name of a client away`() throws {
    joinAll()
    world.redis.loseAll()
    world.join(carol, 0, name: "bob")
    #expect(carol.response?.status == .noNameAskedFor)
    #expect(try status("bob") != .unknown)
    #expect(status(bob) != .offline)
    world.run(.seconds(8))
    #expect(carol.closes.first == .limits && bob.closes.first == .limits)
    world.join(carol, 0, name: "bob")
    #expect(carol.response?.status == .nameTaken)
    world.join(bob, 1, name: "bob")
    #expect(bob.response?.status == .nameGranted)
    world.join(alice, 0, name: "alice")
    world.run(.seconds(2))
    #expect(try status("bob") == .online)
    #expect(alice.response?.status == .nameGranted)
    // Nobody else is coming back.
    world.run(.seconds(25))
    #expect(try status("nobody") == .unknown)
  }

  /// Method: bob's registration is not in the copy; carol's node reaches it 2 s before bob's does.
  @Test func `a copy that lacks the last names gives none of them away`() throws {
    world.join(alice, 0, name: "alice")
    world.run(.seconds(2))
    let copy = world.redis.state
    world.join(bob, 1, name: "bob")
    world.run(.seconds(1))
    world.restartRedis(copy)
    world.nodes[0].setRedis(isThere: true)
    world.join(carol, 0, name: "bob")
    #expect(carol.response?.status == .noNameAskedFor)
    world.run(.seconds(2))
    world.nodes[1].setRedis(isThere: true)
    world.run(.seconds(8))
    world.join(bob, 1, name: "bob")
    world.join(carol, 0, name: "bob")
    #expect(bob.response?.status == .nameGranted && carol.response?.status == .nameTaken)
    #expect(try status("bob") == .online)
  }

  /// Method: bob's node is cut off, then Redis loses all, and hears of it from alice's alone.
  @Test func `a node that is cut off as Redis loses all is not forgotten`() {
    joinAll()
    world.nodes[1].setRedis(isThere: false)
    world.redis.loseAll()
    world.run(.seconds(8))
    world.join(alice, 0, name: "alice")
    for seconds in [1, 32, 60, 100] as [Int64] {
      world.run(.seconds(seconds))
      #expect(status(bob) == .unavailable, "\(seconds) s later")
    }
    // It is waited for no longer than any other that is silent.
    world.run(.seconds(120))
    #expect(status(bob) == .unknown)
  }

  /// Method: carol got bob's name while his node was away; Redis loses all, and both nodes tell it
  /// anew.
  @Test func `who has lost a name hears of it while no names are given`() throws {
    joinAll()
    world.nodes[1].setRedis(isThere: false)
    world.redis.loseAll()
    world.run(.seconds(8))
    world.join(carol, 0, name: "bob")
    #expect(carol.response?.status == .nameGranted)
    world.run(.seconds(1))
    world.restartRedis(nil)
    for node in world.nodes { node.setRedis(isThere: true) }
    world.run(.seconds(2))
    #expect(bob.closes.first == .limits)
    world.join(bob, 1, name: "bob")
    #expect(bob.response?.status == .nameTaken)
    world.run(.seconds(8))
    world.join(carol, 0, name: "bob")
    world.join(alice, 0, name: "alice")
    #expect(try status("bob") == .online)
  }

  /// Method: dave's node tells Redis anew what it has, and is cut off before he registers anew.
  @Test func `who is there is not unknown to his own node, where Redis has lost his card`() {
    joinAll()
    world.join(dave, 1, name: "dave")
    world.run(.seconds(1))
    world.redis.loseAll()
    world.run(.seconds(2))
    world.nodes[1].setRedis(isThere: false)
    world.run(.seconds(40))
    world.nodes[1].setRedis(isThere: true)
    #expect(dave.closes.isEmpty)
    // Of the card that the node has itself.
    #expect(world.lookUp(.id(dave.id), bob, at: 1)?.status == .online)
  }

  /// Method: an operator frees bob's name; his client comes back after some seconds, or never.
  @Test(arguments: [true, false])
  func `who is made to register anew is not offline meanwhile`(comesBack: Bool) throws {
    joinAll()
    world.join(carol, 1)
    world.run(.seconds(2))
    let shared = try #require(world.nodes[0].shared)
    let now = Server.unixSeconds + world.nodes[0].now.nanoseconds / 1_000_000_000
    #expect(NameFreeing.begin(try #require(PeerName("bob")), in: shared, now: now))
    world.run(.seconds(1))
    #expect(bob.closes.first == .limits)
    for (asker, node) in [(alice, 0), (carol, 1)] {
      #expect(world.lookUp(.id(bob.id), asker, at: node)?.status == .unavailable, "\(node)")
      #expect(world.forward(from: asker, to: bob.id, at: node)?.status == .unavailable)
    }
    if comesBack { world.join(bob, 1) }
    world.run(.seconds(comesBack ? 1 : 11))
    for (asker, node) in [(alice, 0), (carol, 1)] {
      let status = world.lookUp(.id(bob.id), asker, at: node)?.status
      #expect(status == (comesBack ? .online : .offline), "\(node)")
    }
  }

  /// Method: it shows an hour more from now on; bob's session is as old as it may be.
  @Test func `nobody is offline where the clock of Redis is set forward`() {
    joinAll()
    world.redis.step = 6_000_000
    #expect(world.nodes[1].shared?.isConnected == true)
    for _ in 0..<8 { #expect(status(bob) != .offline) }
    #expect(status(bob) == .online)
    // Who is away is offline again.
    world.run(.seconds(10))
    bob.leave(world.nodes[1])
    world.run(.seconds(1))
    #expect(status(bob) == .offline)
  }

  /// Method: bob's node dies, and the clock of Redis shows an hour less from then on.
  @Test func `a node that is dead is not there where the clock of Redis is set back`() {
    joinAll()
    world.kill(1)
    world.redis.step = -3_600_000
    world.run(.seconds(5))
    for minutes in [0, 4, 20, 35, 1] as [Int64] {
      world.run(.seconds(minutes * 60))
      #expect(status(bob) == .unavailable || (status(bob) == .offline && minutes > 4), "\(minutes)")
    }
    #expect(status(alice) == .online)
  }

  /// Method: as many commands wait for Redis as may when bob goes and dave hides.
  @Test func `what had no room among the commands is said when there is room`() throws {
    dave.abilities = .audience
    joinAll()
    world.join(dave, 1)
    let node = world.nodes[1]
    let mark = AudienceMark(of: alice.id, for: dave.id)
    dave.request(.audience(Audience([mark])), now: node.now)
    world.run(.seconds(2))
    #expect(status(bob) == .online && status(dave) == .online)
    node.isRedisSilent = true
    while node.shared?.fetch(.find(.id(alice.id)), now: 0) != nil {}
    bob.leave(node)
    dave.request(.audience(Audience()), now: node.now)
    world.run(.milliseconds(300))
    node.isRedisSilent = false
    world.run(.seconds(2))
    #expect(status(bob) == .offline && status(dave) == .offline)
  }

  /// Method: the node has a new connection to a Redis that does nothing, and half of the room for
  /// commands is used.
  @Test func `who announces all its programs leaves room for others`() throws {
    joinAll()
    let node = world.nodes[1]
    let shared = try #require(node.shared)
    node.isRedisSilent = true
    node.setRedis(isThere: true)
    while shared.waiting.count < 4000 { _ = shared.fetch(.find(.id(alice.id)), now: 0) }
    func announcementCount() -> Int {
      shared.waiting.values.count { if case .announced = $0 { true } else { false } }
    }
    let before = announcementCount()
    node.run(.milliseconds(300))
    #expect(announcementCount() == before)
    node.isRedisSilent = false
    world.run(.seconds(2))
    #expect(status(bob) == .online)
  }

  /// Method: bob's node is connected, but nothing that others say gets there.
  @Test func `a body that no node took is not said to be forwarded`() {
    joinAll()
    world.nodes[1].isDeaf = true
    bob.messages = []
    #expect(world.forward(from: alice, to: bob.id, at: 0)?.status == .unavailable)
    #expect(bob.bodies.isEmpty)
    world.nodes[1].isDeaf = false
    #expect(world.forward(from: alice, to: bob.id, at: 0)?.status == .forwarded)
    #expect(bob.bodies.count == 1)
  }

  private func program(_ number: UInt8) -> TestClient {
    let client = TestClient(5, SocketAddress(v4: 70, 1, number, 1, port: 4000))
    client.presence = Presence(PresenceID(rawValue: 77), .answering)
    return client
  }

  @Test func `a program that moves to another node has no session at the one before`() {
    joinAll()
    let (before, after) = (program(1), program(2))
    world.join(before, 1)
    world.run(.seconds(2))
    world.join(after, 0)
    world.run(.seconds(1))
    #expect(before.closes.first == .replaced && after.closes.isEmpty)
    #expect(world.nodes[1].presences(of: after.id).isEmpty)
    let result = world.forward(from: bob, to: after.id, at: 1)
    #expect(result?.status == .forwarded && result?.count == 1)
    #expect(after.bodies.count == 1 && before.bodies.isEmpty)
  }

  /// Method: the node before is cut off from Redis when the program moves.
  @Test func `a move that the node before does not hear of is seen when it is back`() {
    joinAll()
    let (before, after) = (program(1), program(2))
    world.join(before, 1)
    world.run(.seconds(2))
    world.nodes[1].setRedis(isThere: false)
    world.join(after, 0)
    world.run(.seconds(2))
    #expect(before.closes.isEmpty)
    world.nodes[1].setRedis(isThere: true)
    world.run(.seconds(2))
    #expect(before.closes.first == .replaced && after.closes.isEmpty)
    #expect(world.forward(from: alice, to: after.id, at: 0)?.status == .forwarded)
    #expect(after.bodies.count == 1 && before.bodies.isEmpty)
  }
}

extension TestClient {
  /// Says good-bye.
  func leave(_ node: Server) {
    let words: [UInt8] = []
    node.receive(seal { CloseFrame(code: .done).write(words.span, to: &$0) }, from: address)
  }
}
