import Cryptography
import Primitives
import Simulation
import Testing
import Wire

@testable import Rendezvous

/// Who has a name where Redis has lost whose it was (docs/protocol/cluster.md §10): `NameReceipt`,
/// `NameFreeing`, `NameMoved`.
@Suite struct NameReceiptTests {
  private let world = ClusterWorld()
  private let alice = TestClient(1)
  private let bob = TestClient(2)
  private let carol = TestClient(3)

  init() {
    for client in [alice, bob, carol] { client.abilities = [.receipts] }
  }

  private func store(_ node: Int = 0) throws -> SharedStore {
    try #require(world.nodes[node].shared)
  }

  /// Joins, and lets its node hear of Redis.
  private func join(_ client: TestClient, _ node: Int, _ name: String) -> RegistrationStatus? {
    world.join(client, node, name: name)
    world.run(.milliseconds(300))
    return client.response?.status
  }

  private func owner(_ name: String) throws -> PeerID? {
    let asker = TestClient(9)
    world.join(asker, 0)
    let target = LookUp.Target.name(try #require(PeerName(name)))
    let card = world.lookUp(target, asker, at: 0)?.card ?? []
    return card.isEmpty ? nil : try ContactCard(parsing: card).id
  }

  /// Bob had the name and left; Redis loses all, and carol gets the name after 5 s.
  private func loseToCarol() {
    #expect(join(bob, 1, "bob") == .nameGranted)
    #expect(bob.receipt != nil)
    bob.leave(world.nodes[1])
    world.run(.seconds(1))
    world.redis.loseAll()
    world.run(.seconds(8))
    #expect(join(carol, 0, "bob") == .nameGranted)
  }

  @Test func `who has a receipt gets the name back, and the other one learns it`() throws {
    loseToCarol()
    #expect(join(bob, 1, "bob") == .nameGranted)
    #expect(carol.closes.first == .limits)
    #expect(try owner("bob") == bob.id)
    #expect(join(carol, 0, "bob") == .nameTaken)
    #expect(bob.closes.isEmpty)
    #expect(try store(1).counters.namesRegained == 1)
    // Carol has a receipt as well: of a later moment.
    #expect(carol.receipt != nil)
  }

  @Test func `a client of a version before loses the name as ever`() throws {
    bob.abilities = []
    #expect(join(bob, 1, "bob") == .nameGranted)
    #expect(bob.receipt == nil)
    bob.leave(world.nodes[1])
    world.run(.seconds(1))
    world.redis.loseAll()
    world.run(.seconds(8))
    #expect(join(carol, 0, "bob") == .nameGranted)
    #expect(join(bob, 1, "bob") == .nameTaken)
    #expect(try owner("bob") == carol.id)
  }

  @Test func `a freeze is none for whoever has a receipt`() throws {
    #expect(join(bob, 1, "bob") == .nameGranted)
    bob.leave(world.nodes[1])
    world.run(.seconds(1))
    world.redis.loseAll()
    world.run(.milliseconds(1500))
    #expect(join(carol, 0, "bob") == .noNameAskedFor)
    #expect(join(bob, 1, "bob") == .nameGranted)
    #expect(try owner("bob") == bob.id)
  }

  /// Method: the node of bob is cut off while Redis loses all and carol gets his name.
  @Test func `the owner at a node that was cut off has the name again when it is back`() throws {
    #expect(join(bob, 1, "bob") == .nameGranted)
    world.nodes[1].setRedis(isThere: false)
    world.redis.loseAll()
    world.run(.seconds(8))
    #expect(join(carol, 0, "bob") == .nameGranted)
    world.nodes[1].setRedis(isThere: true)
    world.run(.seconds(2))
    #expect(bob.closes.first == .limits)
    #expect(join(bob, 1, "bob") == .nameGranted)
    #expect(carol.closes.first == .limits)
    #expect(try owner("bob") == bob.id)
  }

  /// Method: bob and carol have receipts; Redis loses all once more, and both are away.
  @Test(arguments: [true, false])
  func `of two receipts the older one counts, whoever comes first`(isBobFirst: Bool) throws {
    loseToCarol()
    carol.leave(world.nodes[0])
    world.run(.seconds(1))
    world.redis.loseAll()
    world.run(.seconds(8))
    for client in isBobFirst ? [bob, carol] : [carol, bob] { _ = join(client, 1, "bob") }
    #expect(try owner("bob") == bob.id)
    #expect(carol.closes.first == (isBobFirst ? nil : .limits))
  }

  /// Method: carol is registered when Redis loses all again, and her node restores the name.
  @Test func `a name that was restored has the rank of before`() throws {
    loseToCarol()
    world.redis.loseAll()
    world.run(.seconds(2))
    #expect(join(bob, 1, "bob") == .nameGranted)
    world.run(.seconds(2))
    #expect(carol.closes.contains(.limits))
  }

  @Test func `a promise to another one is no obstacle`() throws {
    loseToCarol()
    carol.leave(world.nodes[0])
    world.redis.loseAll()
    world.run(.seconds(8))
    let eve = TestClient(4)
    // RESP has come, and no DATA.
    world.nodes[0].attach(eve)
    let milliseconds = Server.unixSeconds * 1000 + world.nodes[0].now.nanoseconds / 1_000_000
    let initiation = eve.initiation(
      to: world.nodes[0].card, name: "bob", milliseconds: milliseconds)
    world.nodes[0].receive(initiation, from: eve.address)
    #expect(eve.response?.status == .nameGranted)
    #expect(join(bob, 0, "bob") == .nameGranted)
    world.nodes[0].receive(eve.ping(), from: eve.address)
    world.run(.seconds(2))
    #expect(eve.closes.first == .limits && bob.closes.isEmpty)
    #expect(try owner("bob") == bob.id)
  }

  // MARK: - Receipts that are worth nothing

  @Test func `a receipt is for one name and identity, and nothing in it can be changed`() throws {
    loseToCarol()
    let good = try #require(bob.receipt)
    let dave = TestClient(5)
    dave.receipt = good
    #expect(join(dave, 0, "bob") == .nameTaken)
    dave.receipt = good
    #expect(join(dave, 1, "other") == .nameGranted)
    let name = try #require(PeerName("bob"))
    for index in good.bytes.indices {
      var bytes = good.bytes
      bytes[index] ^= 1
      bob.receipt = OpaqueReceipt(bytes)
      let found = NameReceipt.check(
        bob.receipt, for: name, of: bob.id, in: try store(1), now: Server.unixSeconds)
      #expect(found == nil)
    }
    #expect(join(bob, 1, "bob") == .nameTaken)
    #expect(try store(1).counters.receiptsInvalid >= 28)
  }

  @Test func `a receipt counts for 364 days, and not before its time`() throws {
    let store = try store()
    let name = try #require(PeerName("bob"))
    let day: UInt64 = 86_400
    for (issued, counts) in [(0, true), (363, true), (364, false), (-1, true), (-2, false)] {
      let moment = UInt64(Int64(Server.unixSeconds) - Int64(issued) * Int64(day))
      let made = store.keys.receipt(for: name, of: bob.id, NameRank(grantedAt: 5), issued: moment)
      let found = NameReceipt.check(
        OpaqueReceipt(made.bytes), for: name, of: bob.id, in: store, now: Server.unixSeconds)
      #expect((found != nil) == counts, "issued \(issued) days ago")
    }
    #expect(NameReceipt.life + day == StoreLimits().nameLife)
  }

  /// A record that a node of a version before has written has no rank.
  @Test func `a name without a rank is not taken, and gets one from its owner`() throws {
    #expect(join(bob, 1, "bob") == .nameGranted)
    let receipt = bob.receipt
    world.redis.loseAll()
    let name = try #require(PeerName("bob"))
    #expect(try store().restore(carol.id, name: name, now: Server.unixSeconds))
    world.run(.seconds(8))
    bob.receipt = receipt
    #expect(join(bob, 1, "bob") == .nameTaken)
    #expect(join(carol, 0, "bob") == .nameGranted)
    // Now it is known since when: later than bob's.
    #expect(carol.receipt != nil)
    bob.receipt = receipt
    #expect(join(bob, 1, "bob") == .nameGranted)
  }

  @Test func `a name that the operator frees is not asked back`() throws {
    #expect(join(bob, 1, "bob") == .nameGranted)
    let former = bob.receipt
    world.run(.seconds(2))
    let name = try #require(PeerName("bob"))
    let now = Server.unixSeconds + world.nodes[0].now.nanoseconds / 1_000_000_000
    #expect(try NameFreeing.begin(name, in: store(), now: now))
    world.run(.seconds(1))
    #expect(try NameFreeing.outcome(in: store()) == .freed(bob.id))
    #expect(bob.closes.first == .limits)
    #expect(join(carol, 0, "bob") == .nameGranted)
    bob.receipt = former
    #expect(join(bob, 1, "bob") == .nameTaken)
    // Neither where Redis does not know any more that it was freed.
    carol.leave(world.nodes[0])
    world.redis.loseAll()
    world.run(.seconds(8))
    bob.receipt = former
    #expect(join(bob, 1, "bob") == .nameGranted)
    #expect(join(carol, 0, "bob") == .nameGranted)
    world.run(.seconds(1))
    #expect(join(bob, 1, "bob") == .nameTaken)
    #expect(try owner("bob") == carol.id)
  }

  /// Method: Redis says of each moment that the freeing must be later, or names one of next week.
  @Test(arguments: [0, 7 * 86_400] as [UInt64])
  func `an operator is not kept waiting by a Redis that refuses each time`(ahead: UInt64) throws {
    let store = SharedStore(SecretKey(), node: .zero, random: RandomSource(seed: 1))
    store.handleConnection()
    let name = try #require(PeerName("bob"))
    #expect(NameFreeing.begin(name, in: store, now: 1_800_000_000))
    var count: UInt64 = 0
    while let command = store.pollCommand(), count < 100 {
      let refused = Int64(1_800_000_000 + ahead + count)
      store.handle(.list([.number(3), .number(refused)]), to: command.number)
      count += 1
    }
    #expect(count == (ahead == 0 ? 5 : 1))
    #expect(throws: StoreFailure.self) { try NameFreeing.outcome(in: store) }
  }

  @Test func `a single server gives no receipts and looks at none`() {
    let server = Server()
    bob.receipt = OpaqueReceipt([1, 2, 3])
    server.join(bob, name: "bob")
    server.run(.seconds(1))
    #expect(bob.response?.status == .nameGranted)
    #expect(bob.receipt == OpaqueReceipt([1, 2, 3]))
  }
}
