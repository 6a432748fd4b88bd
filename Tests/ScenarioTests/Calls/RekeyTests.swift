import Calling
import Primitives
import SecureSession
import Simulation
import Testing
import Wire

@testable import Peer

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

  /// Method: the identity of one side steps to its next device key between INVITE and ACCEPT (L7).
  @Test(arguments: [true, false])
  func `a device key that is replaced while it rings does not end the call`(atCaller: Bool) throws {
    let pair = TwoPeers()
    pair.bob.habits.answer = .accept(after: .seconds(2))
    let call = try #require(pair.alice.call(.id(pair.bob.id)))
    pair.world.run(.seconds(1))
    let host = (atCaller ? pair.alice : pair.bob).host
    let hasStepped = host.command(now: pair.world.now) { machine, _ in
      var random = RandomSource(seed: 4)
      let due = machine.identity.nextRotation
      return machine.identity.rotateIfDue(unixSeconds: due, random: &random)
    }
    #expect(hasStepped == true)
    #expect(pair.world.run(atMost: .seconds(5)) { pair.isConnected(call) })
    let start = pair.world.now
    pair.world.run(.seconds(300))
    for peer in [pair.alice, pair.bob] {
      #expect(pair.outcome(of: call, at: peer) == nil)
      #expect(pair.longestGap(at: peer, from: start) <= 21)
      let statistics = try #require(peer.statistics(of: call))
      #expect(statistics.epoch >= 2, "\(statistics.epoch)")
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
