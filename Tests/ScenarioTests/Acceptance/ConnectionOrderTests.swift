import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// Scenarios 1 to 8, connection: every event of both sides (docs/scenarios.md).
@Suite struct ConnectionOrderTests {
  private func cut(_ isCut: Bool, _ pair: TwoPeers) {
    pair.world.network.setDown(up: isCut, down: isCut, of: pair.alice.site, now: pair.world.now)
  }

  /// A pair in a call for 3 s.
  private func talking(
    absence: Duration = .zero, nat: SimulatedNAT.Behaviour? = nil
  ) throws -> (TwoPeers, CallID) {
    let pair = TwoPeers(roundTrip: .milliseconds(60), nat: (nat, nat))
    pair.alice.habits.absence = absence
    pair.bob.habits.absence = absence
    let call = try pair.connect()
    pair.world.run(.seconds(3))
    return (pair, call)
  }

  @Test func `1: both register, one calls`() throws {
    let order = EventOrder("01-join")
    let pair = TwoPeers(roundTrip: .milliseconds(60))
    _ = try pair.connect()
    pair.world.run(.seconds(5))
    order.record("two people register, and one calls", pair.world, since: .zero)
    try order.expectGolden()
  }

  @Test func `2: one hangs up after 30 s`() throws {
    let order = EventOrder("02-leave")
    let pair = TwoPeers(roundTrip: .milliseconds(60))
    let call = try pair.connect()
    pair.world.run(.seconds(30))
    let start = pair.world.now
    pair.alice.end(call)
    pair.world.run(.seconds(30))
    order.record("alice hangs up", pair.world, since: start)
    try order.expectGolden()
    pair.expectNoViolations()
  }

  @Test func `3: one is killed`() throws {
    let order = EventOrder("03-killed")
    let (pair, _) = try talking()
    let start = pair.world.now
    pair.alice.crash()
    pair.world.run(.seconds(40))
    order.record("alice is killed", pair.world, since: start)
    try order.expectGolden()
  }

  @Test func `4: the line of one is cut for 3, 6 and 12 s`() throws {
    let order = EventOrder("04-cut")
    for seconds in [3, 6, 12] as [Int64] {
      let (pair, _) = try talking()
      let start = pair.world.now
      cut(true, pair)
      pair.world.run(.seconds(seconds))
      cut(false, pair)
      pair.world.run(.seconds(15))
      order.record("alice's line is away for \(seconds) s", pair.world, since: start)
    }
    try order.expectGolden()
  }

  @Test func `5: nothing answers for 20 minutes`() throws {
    let order = EventOrder("05-no-answer")
    let world = CallWorld(seed: 1)
    world.rendezvous.crash()
    world.addPeer(CallWorld.names[0])
    world.run(.seconds(60))
    order.record("no rendezvous, the first minute", world, since: .zero)
    world.run(.seconds(1_200))
    let back = world.now
    world.rendezvous.start()
    world.run(.seconds(60))
    order.record("the rendezvous is there after 21 minutes", world, since: back)
    let (pair, _) = try talking(absence: .seconds(1_200))
    let start = pair.world.now
    cut(true, pair)
    pair.world.run(.seconds(1_300))
    let calls = pair.bob.events.filter { if case .registration = $0.event { false } else { true } }
    order.record("a call that waits 20 minutes is cut for good", of: "bob", calls, since: start)
    try order.expectGolden()
  }

  @Test func `6: the line is away for 25 s, and both rejoin`() throws {
    let order = EventOrder("06-rejoin")
    for absence in [0, 60] as [Int64] {
      let (pair, _) = try talking(absence: .seconds(absence))
      let start = pair.world.now
      cut(true, pair)
      pair.world.run(.seconds(25))
      cut(false, pair)
      pair.world.run(.seconds(20))
      order.record("25 s away, with \(absence) s to rejoin", pair.world, since: start)
    }
    try order.expectGolden()
  }

  @Test func `7: an address changes in a call`() throws {
    let order = EventOrder("07-moving")
    let (rebound, _) = try talking(nat: .portRestricted)
    var start = rebound.world.now
    rebound.world.network.rebind(rebound.alice.site, changesAddress: true, now: start)
    rebound.world.run(.seconds(10))
    order.record("alice's translator has a new address", rebound.world, since: start)
    let (moved, _) = try talking(nat: .portRestricted)
    start = moved.world.now
    let line = AccessConditions.clean(oneWay: .milliseconds(15))
    moved.alice.move(to: moved.world.network.addSite(line, nat: .portRestricted))
    moved.world.run(.seconds(10))
    order.record("alice's host goes to another network", moved.world, since: start)
    try order.expectGolden()
  }

  @Test func `8: a second program of one identity`() throws {
    let order = EventOrder("08-second-program")
    let pair = TwoPeers(roundTrip: .milliseconds(60))
    let start = pair.world.now
    let other = pair.world.addProgram(of: pair.bob, .clean(oneWay: .milliseconds(15)))
    other.habits.answer = .never
    pair.world.run(.seconds(5))
    _ = try pair.connect(talking: .seconds(3))
    pair.world.run(.seconds(10))
    order.record("both programs of bob ring, the first answers", pair.world, since: start)
    try order.expectGolden()
    pair.expectNoViolations()
  }

  /// The comparison itself must see what it is there for.
  @Test func `another event, another order or another time is seen`() {
    let line = "     4.0 s  call 1: interrupted"
    #expect(EventOrder.agree(line, "     4.4 s  call 1: interrupted"))
    #expect(!EventOrder.agree(line, "     4.6 s  call 1: interrupted"))
    #expect(!EventOrder.agree(line, "     4.0 s  call 1: connection lost"))
    #expect(!EventOrder.agree(line, "bob"))
  }
}
