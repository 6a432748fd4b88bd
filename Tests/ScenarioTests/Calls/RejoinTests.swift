import Calling
import Connectivity
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// Calls whose two sides both let the other be away (docs/protocol/calling.md §5, "Away").
@Suite struct RejoinTests {
  private static let filtered = SimulatedNAT.Behaviour.portRestricted

  private struct World {
    let pair: TwoPeers
    let call: CallID

    /// - Parameter absence: what Alice and Bob allow.
    init(
      seed: UInt64, translator: SimulatedNAT.Behaviour? = filtered, hasRelay: Bool = false,
      absence: (Duration, Duration)
    ) throws {
      pair = TwoPeers(
        seed: seed, roundTrip: .milliseconds(60), nat: (translator, translator),
        hasRelay: hasRelay)
      pair.alice.habits.absence = absence.0
      pair.bob.habits.absence = absence.1
      call = try pair.connect()
      pair.world.run(.milliseconds(3_000 + Int64(seed) * 13))
    }

    func setLine(isCut: Bool, _ way: OutageTests.Cut = .both) {
      pair.world.network.setDown(
        up: isCut && way != .fromBob, down: isCut && way != .fromAlice, of: pair.alice.site,
        now: pair.world.now)
    }

    /// The line is away for so long.
    ///
    /// - Returns: when it was back.
    func cut(_ duration: Duration, _ way: OutageTests.Cut = .both) -> Instant {
      setLine(isCut: true, way)
      pair.world.run(duration)
      setLine(isCut: false, way)
      return pair.world.now
    }

    func count(of peer: SimulatedPeer, _ isMeant: (CallEvent) -> Bool) -> Int {
      pair.events(of: peer).count {
        if case .calling(let event) = $0 { isMeant(event) } else { false }
      }
    }

    /// How often each side has had new keys.
    var epochs: [UInt32] {
      [pair.alice, pair.bob].map { $0.statistics(of: call)?.epoch ?? 0 }
    }

    func absences(of peer: SimulatedPeer) -> [Duration] {
      pair.events(of: peer).compactMap {
        if case .calling(.rejoined(call, let absence)) = $0 { absence } else { nil }
      }
    }

    func expectHeard(since back: Instant, within milliseconds: Int64) {
      for peer in [pair.alice, pair.bob] {
        let first = peer.heard.first { $0.at >= back }?.at
        let story = "\(peer.name), seed \(pair.world.seed)\n\(pair.story)"
        #expect(TwoPeers.milliseconds(back, first) <= milliseconds, "\(story)")
      }
    }
  }

  private static func everyMinute(_ count: Int64) -> (Duration, Duration) {
    (.seconds(60 * count), .seconds(60 * count))
  }

  /// Goal: sound both ways within 1 s of the line, whatever the outage; keys that the time before
  /// the outage does not know within 15 s.
  @Test(arguments: [22, 60, 170, 200, 400, 700, 1_150] as [Int64], [false, true])
  func `a call goes on after the line was away`(seconds: Int64, hasTranslators: Bool) throws {
    for seed in UInt64(1)...2 {
      let world = try World(
        seed: seed + UInt64(seconds), translator: hasTranslators ? Self.filtered : nil,
        absence: Self.everyMinute(20))
      let before = world.epochs
      let back = world.cut(.seconds(seconds))
      world.pair.world.run(.seconds(16))
      world.expectHeard(since: back, within: 1_000)
      for peer in [world.pair.alice, world.pair.bob] {
        #expect(world.count(of: peer) { if case .away = $0 { true } else { false } } == 1)
        let absences = world.absences(of: peer)
        let least = Duration.seconds(seconds - 1)
        #expect(absences.count == 1 && (least...least + .seconds(3)).contains(absences[0]))
      }
      let after = world.epochs
      #expect(zip(before, after).allSatisfy { $0 < $1 }, "\(before), \(after)")
      world.pair.expectHungUp()
    }
  }

  /// What goes one way only is no connection: the side that hears nothing must find the other.
  @Test(arguments: [60, 200] as [Int64], [OutageTests.Cut.fromAlice, .fromBob])
  func `a call goes on after one direction was away`(seconds: Int64, way: OutageTests.Cut) throws {
    for seed in UInt64(11)...13 {
      let world = try World(seed: seed, absence: Self.everyMinute(20))
      let back = world.cut(.seconds(seconds), way)
      world.pair.world.run(.seconds(8))
      world.expectHeard(since: back, within: 1_000)
      world.pair.expectHungUp()
    }
  }

  /// Goal: sound within 5 s of the line, where only a relay carries the call. The server keeps what
  /// it gave for ten minutes, and lets in for five.
  @Test(arguments: [25, 60, 200, 400, 700] as [Int64])
  func `a relayed call goes on after the line was away`(seconds: Int64) throws {
    for seed in UInt64(1)...4 {
      let world = try World(
        seed: seed, translator: .symmetric, hasRelay: true, absence: Self.everyMinute(20))
      // Whatever was just being tried when the line comes back.
      let back = world.cut(.milliseconds(seconds * 1_000 + Int64(seed) * 2_300))
      world.pair.world.run(.seconds(40))
      world.expectHeard(since: back, within: 5_000)
      world.pair.expectHungUp()
    }
  }

  /// Ended calls wait to be asked for, and take no place from new ones.
  @Test func `twelve calls after each other`() throws {
    let world = try World(seed: 9, absence: Self.everyMinute(20))
    #expect(world.pair.alice.end(world.call))
    world.pair.world.run(.seconds(4))
    for number in 0..<12 {
      let call = try world.pair.connect()
      world.pair.world.run(.seconds(1))
      #expect(world.pair.alice.end(call), "call \(number)")
      world.pair.world.run(.seconds(3))
    }
    world.pair.expectNoViolations()
  }

  /// Goal: sound within 5 s of the line, although neither address of before is of use.
  @Test(arguments: [40, 300] as [Int64])
  func `a call goes on when both addresses are others afterwards`(seconds: Int64) throws {
    for seed in UInt64(1)...6 {
      let world = try World(seed: seed, absence: Self.everyMinute(10))
      world.setLine(isCut: true)
      world.pair.world.run(.seconds(seconds / 2))
      let network = world.pair.world.network
      for peer in [world.pair.alice, world.pair.bob] {
        network.rebind(peer.site, changesAddress: true, now: world.pair.world.now)
      }
      world.pair.world.run(.seconds(seconds / 2))
      world.setLine(isCut: false)
      let back = world.pair.world.now
      world.pair.world.run(.seconds(20))
      world.expectHeard(since: back, within: 5_000)
      world.pair.expectHungUp()
    }
  }

  /// Who does not allow it is not waited for, and does not wait.
  @Test(arguments: [(0, 600), (600, 0), (0, 0)] as [(Int64, Int64)])
  func `a call ends at 20 s unless both allow more`(alice: Int64, bob: Int64) throws {
    let world = try World(seed: 3, absence: (.seconds(alice), .seconds(bob)))
    let began = world.pair.world.now
    _ = world.cut(.seconds(30))
    world.pair.world.run(.seconds(5))
    for peer in [world.pair.alice, world.pair.bob] {
      let ended = world.pair.time(.ended, of: world.call, at: peer)
      #expect((19_900...21_000).contains(TwoPeers.milliseconds(began, ended)), "\(peer.name)")
    }
  }

  @Test func `the shorter of the two times holds`() throws {
    let world = try World(seed: 4, absence: (.seconds(600), .seconds(90)))
    let began = world.pair.world.now
    _ = world.cut(.seconds(120))
    world.pair.world.run(.seconds(5))
    for peer in [world.pair.alice, world.pair.bob] {
      let ended = world.pair.time(.ended, of: world.call, at: peer)
      #expect((89_900...91_000).contains(TwoPeers.milliseconds(began, ended)), "\(peer.name)")
      #expect(world.pair.outcome(of: world.call, at: peer) == .lost)
    }
  }

  /// Whoever comes back is told that nobody waits any more.
  @Test func `a hang-up while the other side is away reaches it when it comes back`() throws {
    let world = try World(seed: 5, absence: Self.everyMinute(20))
    world.setLine(isCut: true)
    world.pair.world.run(.seconds(30))
    #expect(world.pair.bob.end(world.call))
    world.pair.world.run(.seconds(270))
    #expect(world.pair.outcome(of: world.call, at: world.pair.alice) == nil)
    world.setLine(isCut: false)
    world.pair.world.run(.seconds(30))
    #expect(world.pair.outcome(of: world.call, at: world.pair.alice) == .completed)
  }
}
