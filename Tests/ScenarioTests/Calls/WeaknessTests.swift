import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// What is weak in the calls that ours are modelled on, each as a case that must go well here:
///
/// 1 both call at once: `SweepTests`, 2 a late answer: `EndingTests`, 3 commands during a call:
/// `RefusalTests`, 4 a dead peer: `EndingTests`, 5 loss and doubles: `RefusalTests`, 6 stale and
/// forged signals: `WireTapTests`, 7 commands in the wrong state: `RefusalTests`, 8 an invitation
/// that does not arrive: `EndingTests`, 12 a dead rendezvous: `RendezvousLossTests`; the rest here.
@Suite struct WeaknessTests {
  @Test func `9: somebody without a microphone is connected like anybody else, at both ends`()
    throws
  {
    let pair = TwoPeers()
    pair.bob.habits.answer = .never
    let call = try #require(pair.alice.call(.id(pair.bob.id)))
    pair.world.run(.seconds(1))
    #expect(pair.bob.mute(call) && pair.bob.accept(call))
    pair.world.run(.seconds(2))
    #expect(pair.isConnected(call), "\(pair.story)")
    #expect(pair.bob.framesSent == 0 && !pair.bob.heard.isEmpty)
    pair.expectHungUp()
  }

  @Test func `9: the connect timer ends a call at both sides if one of them stays silent`() throws {
    let pair = TwoPeers()
    pair.bob.isSilent = true  // And does not say so.
    pair.bob.habits.answer = .accept(after: .seconds(1))
    let call = try #require(pair.alice.call(.id(pair.bob.id)))
    pair.world.run(.seconds(14))
    #expect(pair.time(.connected, of: call, at: pair.alice) == nil)
    for peer in [pair.alice, pair.bob] {
      #expect(pair.outcome(of: call, at: peer) != nil, "\(pair.story)")
    }
    pair.expectNoViolations()
  }

  @Test func `10: a callee that just ended a call, or failed to make one, can be called at once`()
    throws
  {
    let pair = TwoPeers()
    let first = try pair.connect()
    pair.bob.end(first)
    pair.world.run(.milliseconds(60))
    _ = try pair.connect()
    pair.expectHungUp()
    var random = RandomSource(seed: 3)
    let nobody = try #require(PeerID(random.bytes(32)))
    #expect(pair.bob.call(.id(nobody)) != nil)
    pair.world.run(.seconds(1))
    _ = try pair.connect()
    pair.expectHungUp()
  }

  @Test func `11: a registered stranger gets nothing out of what it overheard`() throws {
    let pair = TwoPeers()
    let carol = pair.world.addPeer(CallWorld.names[2], .clean(oneWay: .milliseconds(25)))
    pair.world.run(.seconds(2))
    var overheard: [(bytes: [UInt8], to: SocketAddress)] = []
    pair.world.network.tap = { seen in
      var bytes: [UInt8] = []
      for index in 0..<seen.bytes.count { bytes.append(seen.bytes[index]) }
      overheard.append((bytes, seen.destination))
    }
    let call = try pair.connect()
    pair.world.run(.seconds(1))
    pair.world.network.tap = nil
    let start = pair.world.now
    let address = pair.world.network.address(of: carol.hostID)
    for (index, datagram) in overheard.enumerated() {
      pair.world.network.inject(
        datagram.bytes, from: address, to: datagram.to, now: pair.world.now)
      if index % 10 == 0 { pair.world.run(.milliseconds(10)) }
    }
    pair.world.run(.seconds(3))
    #expect(pair.isConnected(call) && pair.outcome(of: call, at: pair.alice) == nil)
    #expect(carol.heard.isEmpty && carol.isRegistered)
    #expect(pair.longestGap(at: pair.alice, from: start) <= 21)
    #expect(pair.longestGap(at: pair.bob, from: start) <= 21)
    pair.expectHungUp()
  }
}
