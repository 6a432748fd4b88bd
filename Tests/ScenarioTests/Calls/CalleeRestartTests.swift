import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// The callee's process dies between the invitation and the answer, and comes back.
@Suite struct CalleeRestartTests {
  @Test func `who restarts while it rings is not rung again by an old copy, and the caller ends`()
    throws
  {
    let pair = TwoPeers()
    pair.bob.habits.answer = .never
    let call = try #require(pair.alice.call(.id(pair.bob.id)))
    pair.world.run(.seconds(2))
    #expect(pair.time(.delivered, of: call, at: pair.alice) != nil)
    pair.bob.crash()
    pair.world.run(.milliseconds(500))
    pair.bob.start()
    pair.world.run(.seconds(20))
    #expect(pair.bob.isRegistered)
    // Nothing can be said about the new process: it does not know the call.
    let outcome = try #require(pair.outcome(of: call, at: pair.alice))
    #expect([.timeout, .unreachable].contains(outcome))
    #expect(!pair.bob.accept(call))
    _ = try pair.connect()
    pair.expectHungUp()
  }

  @Test func `who restarts before the invitation arrives rings when it is back`() throws {
    for seed in UInt64(1)...5 {
      let pair = TwoPeers(seed: seed)
      pair.bob.crash()
      pair.bob.habits.answer = .accept(after: .seconds(1))
      pair.world.run(.milliseconds(200))
      let call = try #require(pair.alice.call(.id(pair.bob.id)))
      pair.world.run(.milliseconds(500))
      pair.bob.start()
      let isUp = pair.world.run(atMost: .seconds(12)) { pair.isConnected(call) }
      #expect(isUp, "seed \(seed)\n\(pair.story)")
      pair.expectHungUp()
    }
  }
}
