import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// Scenarios 28 to 36, calls, and 40's relay: every event of both sides (docs/scenarios.md).
@Suite struct CallOrderTests {
  private static let roundTrip = Duration.milliseconds(100)

  /// Two people of whom Bob does so about a call.
  private func pair(
    _ answer: Habits.Answer, roundTrip: Duration = roundTrip,
    configure: ((inout PeerConfiguration) -> Void)? = nil
  ) -> TwoPeers {
    let pair = TwoPeers(roundTrip: roundTrip, configure: configure)
    pair.bob.habits.answer = answer
    return pair
  }

  @Test(arguments: [(28, CallPolicy.Preparation.onRinging), (29, .onAccept)])
  func `28 and 29: a call is answered after 3 s`(
    number: Int, preparation: CallPolicy.Preparation
  ) throws {
    let order = EventOrder("\(number)-answered-\(preparation)")
    let pair = pair(.accept(after: .seconds(3))) { $0.policy.preparation = preparation }
    pair.alice.userExtension = "from alice"
    pair.bob.userExtension = "from bob"
    pair.alice.habits.talk = .seconds(5)
    let start = pair.world.now
    try #require(pair.alice.call(.id(pair.bob.id)) != nil)
    pair.world.run(.seconds(15))
    order.record("alice calls, bob answers, alice hangs up", pair.world, since: start)
    try order.expectGolden()
    pair.expectNoViolations()
  }

  @Test func `30: rejected, cancelled, and hung up by either side`() throws {
    let order = EventOrder("30-endings")
    let pair = pair(.reject(after: .seconds(1)))
    try call("bob rejects", pair, order, seconds: 5)
    pair.bob.habits.answer = .never
    pair.alice.habits.patience = .seconds(2)
    try call("alice cancels", pair, order, seconds: 5)
    pair.alice.habits.patience = nil
    pair.bob.habits.answer = .accept(after: .seconds(1))
    pair.alice.habits.talk = .seconds(10)
    try call("alice hangs up", pair, order, seconds: 15)
    pair.alice.habits.talk = nil
    pair.bob.habits.talk = .seconds(10)
    try call("bob hangs up", pair, order, seconds: 15)
    try order.expectGolden()
    pair.expectNoViolations()
  }

  private func call(
    _ title: String, _ pair: TwoPeers, _ order: EventOrder, seconds: Int64
  ) throws {
    let start = pair.world.now
    try #require(pair.alice.call(.id(pair.bob.id)) != nil)
    pair.world.run(.seconds(seconds))
    order.record(title, pair.world, since: start)
  }

  @Test func `31: nobody answers, and somebody at the last moment`() throws {
    let order = EventOrder("31-no-answer")
    try call("no answer", pair(.never), order, seconds: 60)
    let late = pair(.accept(after: .milliseconds(14_500)))
    late.alice.habits.talk = .seconds(3)
    try call("an answer after 14.5 s", late, order, seconds: 30)
    let stranger = pair(.never)
    stranger.alice.habits.ringTimeout = nil
    try call("a stranger, who lets it ring without end", stranger, order, seconds: 60)
    let endless = pair(.never)
    endless.alice.habits.ringTimeout = nil
    endless.alice.habits.patience = .seconds(90)
    let caller = endless.alice.id
    endless.bob.host.command(now: endless.world.now) { machine, _ in
      machine.setFamiliar(caller, true)
    }
    try call("a known caller does, and cancels after 90 s", endless, order, seconds: 100)
    try order.expectGolden()
  }

  @Test func `32: a third person calls one who talks`() throws {
    let order = EventOrder("32-busy")
    let pair = TwoPeers(roundTrip: Self.roundTrip)
    let carol = pair.world.addPeer(CallWorld.names[2], .clean(oneWay: Self.roundTrip / 4))
    pair.world.run(.seconds(2))
    _ = try pair.connect()
    pair.world.run(.seconds(3))
    let start = pair.world.now
    try #require(carol.call(.id(pair.alice.id)) != nil)
    pair.world.run(.seconds(2))
    #expect(pair.alice.call(.id(carol.id)) == nil)
    pair.world.run(.seconds(10))
    order.record("carol calls alice, alice calls carol", pair.world, since: start)
    try order.expectGolden()
    pair.expectHungUp()
  }

  @Test(arguments: [-40, 10, 90] as [Int64])
  func `33: a cancel meets an answer`(gap: Int64) throws {
    let order = EventOrder("33-cancel-and-answer\(gap)")
    // 150 ms one way.
    let pair = pair(.accept(after: .seconds(2)), roundTrip: .milliseconds(300))
    let start = pair.world.now
    let call = try #require(pair.alice.call(.id(pair.bob.id)))
    let rings = pair.world.run(atMost: .seconds(3)) {
      pair.time(.incoming, of: call, at: pair.bob) != nil
    }
    #expect(rings)
    pair.world.run(.milliseconds(2_000 + gap))
    pair.alice.end(call)
    pair.world.run(.seconds(10))
    order.record("the cancel leaves \(gap) ms after the answer", pair.world, since: start)
    try order.expectGolden()
    pair.expectNoViolations()
  }

  @Test(arguments: [0, 20, 50] as [Int64])
  func `34: both call each other`(gap: Int64) throws {
    let order = EventOrder("34-glare-\(gap)")
    for seed in [1, 2] as [UInt64] {
      let pair = TwoPeers(seed: seed, roundTrip: .milliseconds(150))
      let (first, second) = seed == 1 ? (pair.alice, pair.bob) : (pair.bob, pair.alice)
      let start = pair.world.now
      try #require(first.call(.id(second.id)) != nil)
      pair.world.run(.milliseconds(gap))
      try #require(second.call(.id(first.id)) != nil)
      pair.world.run(.seconds(20))
      order.record("seed \(seed), \(gap) ms apart", pair.world, since: start)
      let rings = [pair.alice, pair.bob].flatMap { pair.events(of: $0) }.contains {
        if case .calling(.incoming) = $0 { true } else { false }
      }
      #expect(!rings, "\(pair.story)")
    }
    try order.expectGolden()
  }

  @Test func `35: 30 % loss, doubling and reordering of half a second`() throws {
    let order = EventOrder("35-bad-signalling")
    let pair = pair(.accept(after: .seconds(1)))
    let bad = AccessConditions.clean(oneWay: Self.roundTrip / 4).with { line in
      line.loss = .random(0.3)
      line.duplication = 0.1
      line.reordering = 0.2
      line.reorderingDelay = .milliseconds(500)
    }
    pair.world.network.setConditions(bad, of: pair.alice.site, now: pair.world.now)
    pair.alice.habits.talk = .seconds(5)
    try call("alice's line is bad", pair, order, seconds: 20)
    try order.expectGolden()
  }

  @Test func `36: the rendezvous is away for 60 s`() throws {
    let order = EventOrder("36-rendezvous-away")
    let pair = pair(.accept(after: .seconds(1)))
    let call = try pair.connect()
    pair.world.run(.seconds(3))
    let start = pair.world.now
    pair.world.rendezvous.crash()
    pair.world.run(.seconds(60))
    pair.alice.end(call)
    pair.world.run(.seconds(2))
    pair.world.rendezvous.start()
    pair.world.run(.seconds(30))
    order.record("alice hangs up after 60 s, then it is back", pair.world, since: start)
    try order.expectGolden()
  }

  @Test func `40: a call through the relay`() throws {
    let order = EventOrder("40-relay")
    let pair = TwoPeers(
      roundTrip: .milliseconds(50), nat: (.portRestricted, .portRestricted), hasRelay: true)
    pair.world.network.block(from: pair.alice.site, to: pair.bob.site)
    pair.world.network.block(from: pair.bob.site, to: pair.alice.site)
    let start = pair.world.now
    let call = try pair.connect()
    pair.world.run(.seconds(5))
    pair.alice.end(call)
    pair.world.run(.seconds(3))
    order.record("nothing passes but by relay and rendezvous", pair.world, since: start)
    try order.expectGolden()
    pair.expectNoViolations()
  }
}
