import Primitives
import Testing
import Wire

@testable import Forwarding

/// What forwards for pairs (docs/protocol/relay.md §6), and what strangers and bad members draw.
struct PairForwarderTests {
  private let alice = PairWorld.alice
  private let bob = PairWorld.bob
  private let thief = SocketAddress(v4: 203, 0, 113, 66, port: 666)

  private typealias World = PairWorld
  private typealias End = PairWorld.End
  private typealias Sent = PairWorld.Sent

  private func bind(_ end: inout End, at address: SocketAddress, in world: inout World) throws {
    try world.bind(&end, at: address)
  }

  private func pair(in world: inout World, _ name: UInt8 = 1) throws -> (End, End) {
    try world.pair(name)
  }

  // MARK: - What it is for

  @Test func `packets of two bound ends go on unchanged, and no others`() throws {
    var world = World()
    #expect(world.data(7, from: alice).isEmpty)
    let (one, _) = try pair(in: &world)
    let packet = (0..<100).map { UInt8(truncatingIfNeeded: $0) }
    #expect(world.data(7, from: alice) == [Sent(to: bob, bytes: packet)])
    #expect(world.data(9, from: bob) == [Sent(to: alice, bytes: packet)])
    #expect(world.data(one.ids.one.rawValue, from: thief).isEmpty)
    #expect(world.relay.counters.packetsForwarded == 2)
    #expect(world.sent <= world.received)
  }

  @Test func `an address with two bindings says whose its packets are`() throws {
    var world = World()
    let (one, _) = try pair(in: &world)
    var second = End(world, 2, .lesser)
    var carol = End(world, 2, .greater)
    try bind(&second, at: alice, in: &world)
    let elsewhere = SocketAddress(v4: 203, 0, 113, 9, port: 9)
    try bind(&carol, at: elsewhere, in: &world)
    #expect(world.data(one.ids.one.rawValue, from: alice).map(\.to) == [bob])
    #expect(world.data(second.ids.one.rawValue, from: alice).map(\.to) == [elsewhere])
    #expect(world.data(77, from: alice).isEmpty)
    #expect(world.relay.counters.packetsUnnamed == 1)
  }

  @Test func `an end that moves takes its binding along once its new address answered`() throws {
    var world = World()
    var (one, _) = try pair(in: &world)
    let moved = SocketAddress(v4: 192, 0, 2, 77, port: 1)
    #expect(world.bind(one.bind(), from: moved).first?.answer?.status == .cookie)
    #expect(world.data(7, from: bob).map(\.to) == [alice])
    try bind(&one, at: moved, in: &world)
    #expect(world.data(7, from: bob).map(\.to) == [moved])
    #expect(world.data(7, from: alice).isEmpty && world.relay.counters.moves == 1)
  }

  @Test func `a binding ends by its word, and where nobody renews it`() throws {
    var world = World()
    var (one, other) = try pair(in: &world)
    #expect(world.bind(one.bind(isEnd: true), from: alice).isEmpty)
    #expect(world.data(7, from: bob).isEmpty && world.data(7, from: alice).isEmpty)
    #expect(world.relay.pairCount == 1)
    world.now = world.now + .seconds(20)
    #expect(world.bind(other.bind(), from: bob).first?.answer?.isOtherBound == false)
    world.relay.handleTimeout(now: world.now)
    #expect(world.relay.pairCount == 1)
    world.now = world.now + .seconds(31)
    world.relay.handleTimeout(now: world.now)
    #expect(world.relay.pairCount == 0 && world.relay.nextDeadline == nil)
  }

  // MARK: - Attacks

  @Test func `a forged binding draws nothing`() throws {
    var world = World()
    var (one, _) = try pair(in: &world)
    for place in 0..<PairBindPacket.byteCount {
      var bytes = one.bind()
      bytes[place] ^= 1
      #expect(world.bind(bytes, from: alice).isEmpty, "byte \(place)")
    }
    #expect(world.relay.counters.bindsForged == UInt64(PairBindPacket.byteCount))
    #expect(world.data(7, from: bob).map(\.to) == [alice])
  }

  @Test func `a copied binding moves nothing, from wherever it comes`() throws {
    var world = World()
    var (one, _) = try pair(in: &world)
    let copy = one.bind()
    // From a foreign address it lacks that address' cookie; what it draws is shorter, and useless
    // without the key.
    let drawn = world.bind(copy, from: thief)
    #expect(drawn.count == 1 && drawn[0].bytes.count < copy.count)
    #expect(drawn[0].answer?.status == .cookie)
    #expect(world.data(7, from: bob).map(\.to) == [alice])
    // From its own address once only; after a move never again.
    #expect(world.bind(copy, from: alice).first?.answer?.status == .bound)
    #expect(world.bind(copy, from: alice).isEmpty)
    let moved = SocketAddress(v4: 192, 0, 2, 77, port: 1)
    try bind(&one, at: moved, in: &world)
    #expect(world.bind(copy, from: alice).isEmpty)
    #expect(world.relay.counters.bindsReplayed == 2)
    #expect(world.data(7, from: bob).map(\.to) == [moved])
  }

  @Test func `a ticket is worth nothing late, for the other side, or elsewhere`() throws {
    var world = World()
    var late = End(world, 3, .lesser, until: World.time)
    // Nobody hears of that who has not shown that it receives there.
    let first = try #require(world.bind(late.bind(), from: alice).first?.answer)
    #expect(first.status == .cookie && world.relay.counters.bindsLate == 0)
    late.cookie = first.cookie
    #expect(world.bind(late.bind(), from: alice).first?.answer?.status == .ended)
    #expect(world.bind(late.bind(), from: thief).first?.answer?.status == .cookie)
    var one = End(world, 3, .lesser)
    let packet = PairBindPacket(
      pair: one.pair, until: one.until, side: .greater, isEnd: false, number: 1, cookie: .zero,
      ids: PairIDs())
    #expect(world.bind(packet.sealed(by: one.key), from: alice).isEmpty)
    var elsewhere = World()
    elsewhere.relay = PairForwarder(limits: PairLimits(), random: RandomSource(seed: 5))
    #expect(elsewhere.bind(one.bind(), from: alice).isEmpty)
    #expect(world.relay.pairCount == 0 && elsewhere.relay.pairCount == 0)
  }

  @Test func `cookies lapse`() throws {
    var world = World()
    var one = End(world, 1, .lesser)
    one.cookie = try #require(world.bind(one.bind(), from: alice).first?.answer?.cookie)
    world.now = world.now + .seconds(300)
    #expect(world.bind(one.bind(), from: alice).first?.answer?.status == .cookie)
    #expect(world.relay.pairCount == 0)
  }

  @Test func `whoever floods with a ticket gets ten answers a second, and never more bytes`() {
    var world = World()
    var one = End(world, 1, .lesser)
    var answers: [SocketAddress: Int] = [:]
    for round in 0..<2000 {
      world.now = world.now + .microseconds(500)
      let source = round % 2 == 0 ? thief : alice
      answers[source, default: 0] += world.bind(one.bind(), from: source).count
    }
    for count in answers.values { #expect((20...31).contains(count)) }
    #expect(answers.count == 2 && world.sent < world.received)
  }

  @Test func `whoever floods uses up no newcomer's answers`() throws {
    var world = World()
    var flood = End(world, 1, .lesser)
    for _ in 0..<100 { _ = world.bind(flood.bind(), from: thief) }
    #expect(world.bind(flood.bind(), from: thief).isEmpty)
    // One whose pair is named alike, and the other end of the same pair.
    var alike = End(world, 1, .lesser, last: 2)
    try bind(&alike, at: alice, in: &world)
    var other = End(world, 1, .greater)
    try bind(&other, at: bob, in: &world)
  }

  @Test func `an end that is bound is answered whatever others copy and forge`() throws {
    var world = World()
    var (one, _) = try pair(in: &world)
    let copy = one.bind()
    var early = one
    early.cookie = .zero
    let stale = early.bind()
    for _ in 0..<100 {
      _ = world.bind(copy, from: thief)
      // With the end's own address as its source.
      _ = world.bind(stale, from: alice)
    }
    #expect(world.bind(stale, from: alice).isEmpty)
    #expect(world.bind(one.bind(), from: alice).first?.answer?.status == .bound)
    var answers = 0
    for _ in 0..<1000 {
      world.now = world.now + .milliseconds(1)
      answers += world.bind(one.bind(), from: alice).count
    }
    #expect((10...31).contains(answers))
  }

  @Test func `a binding that ended stays known: no copy of it binds, a later one does`() throws {
    var world = World()
    var (one, other) = try pair(in: &world)
    let copies = [one.bind(), other.bind()]
    #expect(world.bind(copies[0], from: alice).first?.answer?.status == .bound)
    #expect(world.bind(copies[1], from: bob).first?.answer?.status == .bound)
    end(&one, &other, in: &world)
    #expect(world.relay.pairCount == 0)
    #expect(world.bind(copies[0], from: alice).isEmpty)
    #expect(world.bind(copies[1], from: bob).isEmpty)
    #expect(world.relay.counters.bindsReplayed == 2 && world.data(7, from: alice).isEmpty)
    #expect(world.bind(one.bind(), from: alice).first?.answer?.status == .bound)
    #expect(world.bind(other.bind(), from: bob).first?.answer?.isOtherBound == true)
    #expect(world.data(7, from: alice).map(\.to) == [bob])
  }

  @Test func `whoever ends and binds again has no fresh pace, as an end and as a host`() throws {
    var narrow = PairLimits()
    narrow.bytesPerPrefix.host = 4000
    for (limits, most) in [(PairLimits(), 501), (narrow, 11)] {
      var world = World(limits)
      var (one, other) = try pair(in: &world)
      var passed = 0
      for _ in 0..<5 {
        for _ in 0..<600 {
          passed += world.data(one.ids.one.rawValue, from: alice, 100).count
        }
        end(&one, &other, in: &world)
        #expect(world.bind(one.bind(), from: alice).first?.answer?.status == .bound)
        #expect(world.bind(other.bind(), from: bob).first?.answer?.status == .bound)
      }
      #expect(passed == most)
    }
  }

  private func end(_ one: inout End, _ other: inout End, in world: inout World) {
    #expect(world.bind(one.bind(isEnd: true), from: alice).isEmpty)
    #expect(world.bind(other.bind(isEnd: true), from: bob).isEmpty)
  }

  // MARK: - Limits

  @Test func `one host has 64 ends, others find room`() throws {
    var world = World()
    for name in 1...64 as ClosedRange<UInt8> {
      var end = End(world, name, .lesser)
      try bind(&end, at: alice, in: &world)
    }
    var last = End(world, 65, .lesser)
    last.cookie = try #require(world.bind(last.bind(), from: alice).first?.answer?.cookie)
    #expect(world.bind(last.bind(), from: alice).first?.answer?.status == .full)
    var other = End(world, 65, .greater)
    try bind(&other, at: bob, in: &world)
    #expect(world.relay.pairCount == 65 && world.relay.counters.bindsRefused == 1)
  }

  @Test func `ends that ended take no place of bound ones, but not without limit`() throws {
    var world = World()
    for name in 1...128 as ClosedRange<UInt8> {
      var end = End(world, name, .lesser)
      try bind(&end, at: alice, in: &world)
      #expect(world.bind(end.bind(isEnd: true), from: alice).isEmpty)
    }
    #expect(world.relay.pairCount == 0)
    var last = End(world, 129, .lesser)
    last.cookie = try #require(world.bind(last.bind(), from: alice).first?.answer?.cookie)
    #expect(world.bind(last.bind(), from: alice).first?.answer?.status == .full)
    var other = End(world, 129, .greater)
    try bind(&other, at: bob, in: &world)
    world.now = world.now + .seconds(31)
    world.relay.handleTimeout(now: world.now)
    #expect(world.bind(last.bind(), from: alice).first?.answer?.status == .bound)
  }

  @Test func `a pair that ended keeps its place until it expires`() throws {
    var limits = PairLimits()
    limits.pairs = 1
    var world = World(limits)
    var (one, other) = try pair(in: &world)
    end(&one, &other, in: &world)
    var more = End(world, 2, .lesser)
    more.cookie = try #require(world.bind(more.bind(), from: alice).first?.answer?.cookie)
    #expect(world.bind(more.bind(), from: alice).first?.answer?.status == .full)
    world.now = world.now + .seconds(31)
    world.relay.handleTimeout(now: world.now)
    #expect(world.relay.nextDeadline == nil)
    #expect(world.bind(more.bind(), from: alice).first?.answer?.status == .bound)
    #expect(world.relay.pairCount == 1)
  }

  @Test func `there are as many pairs as there may be`() throws {
    var limits = PairLimits()
    limits.pairs = 1
    var world = World(limits)
    _ = try pair(in: &world)
    var more = End(world, 2, .lesser)
    more.cookie = try #require(world.bind(more.bind(), from: alice).first?.answer?.cookie)
    #expect(world.bind(more.bind(), from: alice).first?.answer?.status == .full)
    #expect(world.relay.pairCount == 1)
  }
}
