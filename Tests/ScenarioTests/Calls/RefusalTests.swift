import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// Commands that cannot be carried out are errors and nothing else.
@Suite struct RefusalTests {
  @Test func `inviting during a call is refused and the call goes on`() throws {
    let pair = TwoPeers()
    let carol = pair.world.addPeer(CallWorld.names[2], .lan)
    pair.world.run(.seconds(2))
    let call = try pair.connect()
    let start = pair.world.now
    let sides = pair.world.testimony.sides.count
    #expect(pair.alice.call(.id(carol.id)) == nil)
    #expect(pair.bob.call(.name(carol.name)) == nil)
    pair.world.run(.seconds(3))
    #expect(pair.world.testimony.sides.count == sides)
    #expect(pair.isConnected(call))
    #expect(pair.longestGap(at: pair.alice, from: start) <= 21)
    pair.expectHungUp()
  }

  @Test func `commands for no call, the wrong call or the wrong side change nothing`() throws {
    let pair = TwoPeers()
    var random = RandomSource(seed: 9)
    let unknown = CallID(from: &random)
    pair.bob.habits.answer = .never
    let call = try #require(pair.alice.call(.id(pair.bob.id)))
    pair.world.run(.seconds(1))
    for peer in [pair.alice, pair.bob] {
      #expect(!peer.accept(unknown) && !peer.reject(unknown) && !peer.end(unknown))
    }
    #expect(!pair.alice.accept(call))  // One cannot accept one's own invitation.
    #expect(!pair.alice.reject(call))
    pair.world.run(.seconds(1))
    #expect(pair.outcome(of: call, at: pair.alice) == nil)
    #expect(pair.bob.accept(call))
    #expect(!pair.bob.accept(call))  // Nor accept twice.
    pair.world.run(.seconds(1))
    #expect(pair.isConnected(call))
    #expect(!pair.bob.reject(call))
    pair.expectHungUp()
    #expect(!pair.bob.end(call))
  }

  @Test func `thirty percent loss, doubling and half a second of reordering lose no call`() throws {
    // Goal: at least 99 of 100 connect; 30 here, the rest is `tools/simulate`'s.
    var connected = 0
    for seed in UInt64(1)...30 {
      let pair = TwoPeers(
        seed: seed, roundTrip: .milliseconds(60),
        change: {
          $0.loss = .random(0.163)  // Two lines: 30 % from end to end.
          $0.duplication = 0.1
          $0.reordering = 0.2
          $0.reorderingDelay = .milliseconds(500)
        })
      pair.bob.habits.answer = .accept(after: .seconds(1))
      let call = try #require(pair.alice.call(.id(pair.bob.id)))
      if pair.world.run(atMost: .seconds(12), until: { pair.isConnected(call) }) { connected += 1 }
      pair.alice.end(call)
      pair.world.run(.seconds(25))
      pair.expectNoViolations()
    }
    #expect(connected >= 29)
  }
}
