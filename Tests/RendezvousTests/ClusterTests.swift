import Primitives
import SecureSession
import Simulation
import Testing
import Wire

@testable import Rendezvous

/// Several nodes as one service (docs/protocol/cluster.md): `SharedStore`, `StoreWork`,
/// `ForwardRoute`, `OpenHandshake` and `LookUp+Result` together, on a model of Redis.
@Suite struct ClusterTests {
  private let world = ClusterWorld()
  private let alice = TestClient(1)
  private let bob = TestClient(2)
  private let carol = TestClient(3)

  private func joinAll() {
    alice.abilities.insert(.senderNames)
    bob.abilities.insert(.senderNames)
    world.join(alice, 0, name: "alice")
    world.join(bob, 1, name: "bob")
    world.run(.seconds(2))
  }

  @Test func `clients of two nodes find and write to each other`() throws {
    joinAll()
    #expect(alice.response?.status == .nameGranted && bob.response?.status == .nameGranted)
    let found = world.lookUp(.name(try #require(PeerName("bob"))), alice, at: 0)
    #expect(found?.status == .online && found?.card == bob.card.bytes)
    #expect(world.lookUp(.id(bob.id), alice, at: 0)?.status == .online)
    #expect(world.lookUp(.id(carol.id), alice, at: 0)?.status == .unknown)
    bob.messages = []
    let result = world.forward(from: alice, to: bob.id, at: 0)
    #expect(result?.status == .forwarded && result?.count == 1)
    #expect(bob.bodies.map(\.body) == [[1, 2, 3]] && bob.bodies.first?.from == alice.id)
    #expect(bob.bodies.first?.name == PeerName("alice"))
    alice.messages = []
    #expect(world.forward([4], from: bob, to: alice.id, at: 1)?.status == .forwarded)
    #expect(alice.bodies.map(\.body) == [[4]])
  }

  /// Method: alice calls 15 programs of another node at once; each rings and accepts, and she says
  /// twice of both that she has got it. Her rate allows 40 at once.
  @Test func `receipts of answers take nothing of a rate between nodes either`() {
    joinAll()
    let called = (0..<15).map { TestClient(200 + UInt64($0)) }
    for client in called {
      world.join(client, 1)
      world.run(.milliseconds(200))
    }
    func forward(_ byteCount: Int, from sender: TestClient, to receiver: TestClient, at node: Int) {
      let id = ForwardID(random: &sender.random)
      let body = [UInt8](repeating: 1, count: byteCount)
      sender.request(
        .forward(Forward(id: id, to: receiver.id, lifeSeconds: 8, body: body)),
        now: world.nodes[node].now)
    }
    alice.messages = []
    for client in called { forward(500, from: alice, to: client, at: 0) }
    world.run(.milliseconds(300))
    for client in called {
      for byteCount in [89, 210] { forward(byteCount, from: client, to: alice, at: 1) }
    }
    world.run(.milliseconds(300))
    for client in called { for _ in 0..<4 { forward(43, from: alice, to: client, at: 0) } }
    world.run(.seconds(1))
    let statuses = alice.messages.compactMap {
      if case .forwardResult(let result) = $0 { result.status } else { nil }
    }
    #expect(statuses.count == 75 && statuses.allSatisfy { $0 == .forwarded }, "\(statuses)")
    for client in called { #expect(client.bodies.map(\.body.count) == [500, 43, 43, 43, 43]) }
  }

  @Test func `a name that another node gave is taken, and stays so`() {
    joinAll()
    world.join(carol, 1, name: "alice")
    #expect(carol.response?.status == .nameTaken)
    // Its owner has it at every node.
    world.join(alice, 1, name: "alice")
    #expect(alice.response?.status == .nameGranted)
  }

  @Test func `who leaves is offline for all, at once`() {
    joinAll()
    let words: [UInt8] = []
    let farewell = bob.seal { CloseFrame(code: .done).write(words.span, to: &$0) }
    world.nodes[1].receive(farewell, from: bob.address)
    #expect(world.lookUp(.id(bob.id), alice, at: 0)?.status == .offline)
    #expect(world.forward(from: alice, to: bob.id, at: 0)?.status == .notOnline)
  }

  @Test func `only its audience learns at other nodes that a program is there`() {
    bob.abilities = [.audience]
    joinAll()
    world.join(carol, 0)
    bob.request(
      .audience(Audience([AudienceMark(of: alice.id, for: bob.id)])), now: world.nodes[1].now)
    world.run(.seconds(1))
    #expect(world.lookUp(.id(bob.id), alice, at: 0)?.status == .online)
    #expect(world.lookUp(.id(bob.id), carol, at: 0)?.status == .offline)
    #expect(world.forward(from: carol, to: bob.id, at: 0)?.status == .notOnline)
    #expect(world.forward(from: alice, to: bob.id, at: 0)?.status == .forwarded)
  }

  /// Method: Redis goes away; dave is at alice's node; then Redis comes back.
  @Test func `without Redis a node serves its own and says that it cannot know more`() throws {
    joinAll()
    let dave = TestClient(4)
    world.join(dave, 0, name: "dave")
    for node in world.nodes { node.setRedis(isThere: false) }
    #expect(world.lookUp(.id(bob.id), alice, at: 0)?.status == .unavailable)
    #expect(world.forward(from: alice, to: bob.id, at: 0)?.status == .unavailable)
    // Its own clients are found, by name and by ID; of nobody it is said that there is none.
    for target in [.id(dave.id), .name(try #require(PeerName("dave")))] as [LookUp.Target] {
      let found = world.lookUp(target, alice, at: 0)
      #expect(found?.status == .online && found?.card == dave.card.bytes)
    }
    for name in ["bob", "nobody"] {
      let target = LookUp.Target.name(try #require(PeerName(name)))
      #expect(world.lookUp(target, alice, at: 0)?.status == .unavailable)
    }
    dave.messages = []
    #expect(world.forward(from: alice, to: dave.id, at: 0)?.status == .forwarded)
    #expect(dave.bodies.count == 1)
    world.run(.seconds(3))
    // Who comes now has a session, and no name before Redis is back.
    world.join(carol, 0, name: "carol")
    #expect(carol.isRegistered && carol.response?.status == .noNameAskedFor)
    #expect(world.nodes[0].counters.storeFailures > 0)
    for node in world.nodes { node.setRedis(isThere: true) }
    world.run(.seconds(2))
    #expect(world.lookUp(.id(bob.id), alice, at: 0)?.status == .online)
    #expect(carol.closes == [.limits, .limits, .limits])
    #expect(world.nodes[0].shared?.counters.dataLost == 0)
    world.join(carol, 0, name: "carol")
    #expect(carol.response?.status == .nameGranted)
    #expect(world.lookUp(.id(carol.id), bob, at: 1)?.status == .online)
  }

  /// Method: bob shows himself to alice alone; Redis is connected, and says nothing.
  @Test func `without Redis a hidden client of the node is found by its audience alone`() throws {
    bob.abilities = [.audience]
    for (client, name) in [(alice, "alice"), (bob, "bob"), (carol, "carol")] {
      world.join(client, 0, name: name)
    }
    bob.request(
      .audience(Audience([AudienceMark(of: alice.id, for: bob.id)])), now: world.nodes[0].now)
    world.run(.seconds(2))
    world.nodes[0].isRedisSilent = true
    for target in [.id(bob.id), .name(try #require(PeerName("bob")))] as [LookUp.Target] {
      #expect(world.lookUp(target, alice, at: 0)?.status == .online)
      #expect(world.lookUp(target, carol, at: 0)?.status == .unavailable)
    }
    let words: [UInt8] = []
    let farewell = bob.seal { CloseFrame(code: .done).write(words.span, to: &$0) }
    world.nodes[0].receive(farewell, from: bob.address)
    let target = LookUp.Target.name(try #require(PeerName("bob")))
    #expect(world.lookUp(target, alice, at: 0)?.status == .unavailable)
  }

  @Test func `a node keeps nothing of what a registration needed when it is done`() {
    joinAll()
    for node in world.nodes { #expect(node.shared?.registrations.count == 0) }
  }

  /// Method: Redis forgets which programs there are; both nodes connect anew.
  @Test func `programs are announced anew to a Redis that comes back`() {
    joinAll()
    for _ in 0..<3 {
      for node in world.nodes { node.setRedis(isThere: false) }
      world.run(.seconds(1))
      for node in world.nodes { node.setRedis(isThere: true) }
      world.run(.seconds(2))
      #expect(world.lookUp(.id(alice.id), bob, at: 1)?.status == .online)
    }
  }

  /// Method: bob's node dies; bob registers at the other one 5 s later; carol, who was there too,
  /// does not.
  @Test func `a node that dies takes nobody's name, and is not mistaken for its clients' end`() {
    joinAll()
    world.join(carol, 1)
    world.run(.seconds(1))
    world.kill(1)
    world.run(.seconds(4))
    #expect(world.lookUp(.id(bob.id), alice, at: 0)?.status == .unavailable)
    world.join(bob, 0, name: "bob")
    #expect(bob.response?.status == .nameGranted)
    #expect(world.lookUp(.id(bob.id), alice, at: 0)?.status == .online)
    bob.messages = []
    #expect(world.forward(from: alice, to: bob.id, at: 0)?.status == .forwarded)
    #expect(bob.bodies.count == 1)
    // She may be there still, cut off with her node, as long as a session can last.
    world.run(.seconds(60))
    #expect(world.lookUp(.id(carol.id), alice, at: 0)?.status == .unavailable)
    world.redis.step = 5_400_000
    // Nodes that were not heard since the clock was set are waited for as ever.
    world.run(.seconds(310))
    #expect(world.lookUp(.id(carol.id), alice, at: 0)?.status == .offline)
  }

  /// Another node that looks for a program of a connection that Redis does not know deletes it.
  @Test func `Redis knows a connection before any program of it`() throws {
    joinAll()
    let node = world.nodes[0]
    node.setRedis(isThere: false)
    world.run(.seconds(1))
    let before = node.scripts.count
    node.setRedis(isThere: true)
    world.run(.seconds(1))
    let after = node.scripts.dropFirst(before)
    let beat = try #require(after.firstIndex(of: .beat))
    let program = try #require(after.firstIndex(of: .announce))
    #expect(beat < program, "\(after)")
  }

  /// Method: node 0 hears the others only after it has reached Redis: its second connection comes
  /// while the answer to the first beat is under way.
  @Test func `an answer to a beat of a former connection says nothing of a loss`() throws {
    let node = try #require(world.nodes[0].shared)
    node.handleDisconnection()
    node.handleListening(false)
    node.handleConnection()
    node.beat(isComplete: true, now: world.nodes[0].now)
    let first = try #require(node.pollCommand())
    node.handleListening(true)
    node.beat(isComplete: false, now: world.nodes[0].now)
    let second = try #require(node.pollCommand())
    for command in [first, second] { node.handle(world.redis.run(command), to: command.number) }
    #expect(node.counters.dataLost == 0)
    world.run(.seconds(2))
    #expect(node.counters.dataLost == 0 && node.standing.isKnown)
  }

  /// A program of one identity, with the device keys that were made at these seconds, one after the
  /// other: the same keys in each program.
  private func program(_ number: UInt8, keys: [UInt64] = []) -> TestClient {
    let client = TestClient(1, SocketAddress(v4: 70, 1, number, 1, port: 4000))
    client.presence = Presence(PresenceID(rawValue: UInt64(number)), .answering)
    for seconds in keys { client.replaceKey(unixSeconds: Server.unixSeconds + seconds) }
    return client
  }

  @Test func `a new device key ends the sessions of the one before at all nodes`() {
    let old = [program(1), program(2), program(3)]
    for (number, client) in old.enumerated() { world.join(client, number == 0 ? 0 : 1) }
    world.join(bob, 1)
    world.run(.seconds(5))
    let owner = program(9, keys: [6])
    world.join(owner, 0)
    world.run(.seconds(2))
    #expect(owner.response?.status == .noNameAskedFor && owner.closes.isEmpty)
    #expect(old.allSatisfy { $0.closes.first == .replaced } && bob.closes.isEmpty)
    #expect(world.nodes[0].presences(of: owner.id).count == 1)
    #expect(world.nodes[1].presences(of: owner.id).isEmpty)
    // What Redis has kept is not said anew a minute later.
    let late = program(8, keys: [6])
    world.join(late, 1)
    world.run(.seconds(70))
    world.join(late, 1)
    world.run(.seconds(5))
    bob.messages = []
    #expect(world.forward(from: late, to: bob.id, at: 1)?.status == .forwarded)
    world.redis.repeatPosts()
    world.run(.seconds(2))
    #expect(bob.bodies.count == 1)
    #expect(late.response?.status == .noNameAskedFor && late.closes.isEmpty)
  }

  @Test func `two programs with a newer device key that begin at two nodes at once both stay`() {
    let old = program(1)
    world.run(.seconds(700))
    world.join(old, 1)
    world.run(.seconds(5))
    let pair = [program(6, keys: [705]), program(7, keys: [705])]
    for (node, client) in pair.enumerated() { world.nodes[node].join(client) }
    world.run(.seconds(2))
    #expect(pair.allSatisfy { $0.response != nil && $0.closes.isEmpty })
    #expect(old.closes.first == .replaced)
  }

  @Test func `Redis sees no ID, name, card or body`() throws {
    joinAll()
    _ = world.forward(Array("a sealed body, or not".utf8), from: alice, to: bob.id, at: 0)
    let words = [
      alice.id.bytes, bob.id.bytes, Array("alice".utf8), alice.card.bytes,
      Array("a sealed body".utf8), world.nodes[0].card.id.bytes,
    ]
    #expect(world.redis.contents.count > 10)
    for content in world.redis.contents {
      for word in words where content.count >= word.count {
        let starts = 0...(content.count - word.count)
        #expect(!starts.contains { Array(content[$0...].prefix(word.count)) == word })
      }
    }
  }
}
