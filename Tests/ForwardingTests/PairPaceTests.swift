import Primitives
import Testing
import Wire

@testable import Forwarding

/// How much goes on for an end of a pair, and what forged packets with its address take of that
/// (docs/protocol/relay.md §6).
struct PairPaceTests {
  @Test func `an end has its pace, by packets and by bytes`() throws {
    var world = PairWorld()
    let id = try world.pair().0.ids.one.rawValue
    var passed = 0
    for _ in 0..<10_000 {
      world.now = world.now + .microseconds(100)
      passed += world.data(id, from: PairWorld.alice, 100).count
    }
    #expect((2_900...3_010).contains(passed), "\(passed) of 10 000 in a second")
    world.now = world.now + .seconds(1)
    passed = 0
    for _ in 0..<2_000 {
      world.now = world.now + .microseconds(500)
      passed += world.data(id, from: PairWorld.alice, 1200).count
    }
    #expect((1_200...1_260).contains(passed), "\(passed) of 2000 in a second")
    #expect(world.relay.counters.packetsOverPace > 0)
  }

  /// Goal: who sends packets with the address of an end, and does not know its connection IDs,
  /// keeps none of its own from passing, and sends the other end little.
  @Test(arguments: [100, 1200])
  func `forged packets displace no named ones`(byteCount: Int) throws {
    var world = PairWorld()
    let id = try world.pair().0.ids.one.rawValue
    var (named, forged) = (0, 0)
    for step in 0..<10_000 {
      world.now = world.now + .microseconds(200)
      let packets = world.data(UInt32(1 << 20 + step), from: PairWorld.alice, byteCount)
      forged += packets.count
      // 50 a second.
      if step % 100 == 0 { named += world.data(id, from: PairWorld.alice, 1200).count }
    }
    #expect(named == 100)
    #expect((300...960).contains(forged), "\(forged) of 10 000 in 2 s")
    #expect(world.sent <= world.received)
  }

  /// Goal: a flood of forged packets takes nothing of the fullest pace of the end itself.
  @Test func `an end has its whole pace beside forged packets`() throws {
    var world = PairWorld()
    let id = try world.pair().0.ids.one.rawValue
    var passed = 0
    for step in 0..<10_000 {
      world.now = world.now + .microseconds(100)
      _ = world.data(UInt32(1 << 20 + step), from: PairWorld.alice, 100)
      if step % 4 == 0 { passed += world.data(id, from: PairWorld.alice, 500).count }
    }
    #expect(passed == 2_500)
  }

  /// Goal: no call loses anything when its keys change, though PAIR_BIND gets lost twice and the
  /// relay hears of the new connection ID after 300 ms.
  @Test(arguments: [500, 1200])
  func `packets with a new connection ID pass until it is named`(byteCount: Int) throws {
    var world = PairWorld()
    var (one, _) = try world.pair()
    let pause = Duration.nanoseconds(Int64(byteCount) * 1_000_000_000 / 1_250_000)
    for rekey in UInt32(1)...3 {
      let end = world.now + .milliseconds(300)
      while world.now < end {
        #expect(world.data(rekey, from: PairWorld.alice, byteCount).count == 1)
        world.now = world.now + pause
      }
      one.ids.one = ConnectionID(rawValue: rekey)
      #expect(world.bind(one.bind(), from: PairWorld.alice).first?.answer?.status == .bound)
      let next = world.now + .seconds(30)
      while world.now < next {
        world.now = world.now + .seconds(10)
        #expect(world.data(rekey, from: PairWorld.alice, byteCount).count == 1)
        #expect(world.bind(one.bind(), from: PairWorld.alice).first?.answer?.status == .bound)
      }
    }
    #expect(world.relay.counters.packetsOverPace == 0)
  }

  /// Goal: the sound of a call goes on though the relay is told nothing for as long as it knows it.
  @Test func `a call without pictures needs no name`() throws {
    var world = PairWorld()
    _ = try world.pair()
    for _ in 0..<2_900 {
      world.now = world.now + .milliseconds(10)
      #expect(world.data(7, from: PairWorld.alice, 250).count == 1)
    }
  }

  @Test func `whoever ends and binds again has no fresh pace for unnamed packets`() throws {
    var world = PairWorld()
    var (one, other) = try world.pair()
    var passed = 0
    for _ in 0..<5 {
      for _ in 0..<1_000 { passed += world.data(7, from: PairWorld.alice, 100).count }
      _ = world.bind(one.bind(isEnd: true), from: PairWorld.alice)
      _ = world.bind(other.bind(isEnd: true), from: PairWorld.bob)
      #expect(world.bind(one.bind(), from: PairWorld.alice).first?.answer?.status == .bound)
      #expect(world.bind(other.bind(), from: PairWorld.bob).first?.answer?.status == .bound)
    }
    #expect(passed == 751)
  }
}
