import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

@Suite struct RekeyTests {
  @Test func `new keys every two minutes leave no gap in the audio`() throws {
    let pair = TwoPeers()
    let call = try pair.connect()
    let start = pair.world.now
    pair.world.run(.seconds(400))
    #expect(pair.isConnected(call) && pair.outcome(of: call, at: pair.alice) == nil)
    for peer in [pair.alice, pair.bob] {
      #expect(pair.longestGap(at: peer, from: start) <= 21)
      let statistics = try #require(peer.statistics(of: call))
      #expect(statistics.epoch >= 3, "\(statistics.epoch)")
    }
    pair.expectHungUp()
  }

  @Test func `on a bad line new keys cost no more than the line itself`() throws {
    // 5 % of frames are lost anyway: no run of 40 of them is.
    let pair = TwoPeers(change: { $0.loss = .random(0.05) })
    let call = try pair.connect()
    let start = pair.world.now
    pair.world.run(.seconds(300))
    #expect(pair.isConnected(call) && pair.outcome(of: call, at: pair.alice) == nil)
    for peer in [pair.alice, pair.bob] {
      #expect(pair.longestGap(at: peer, from: start) <= 200)
    }
    pair.expectHungUp()
  }
}
