import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// Addresses change in mid-call; the ear should hardly notice.
@Suite struct MovingTests {
  /// The longest silence of both ears over some calls, each with `change` at a moment of its own.
  private func gaps(
    roundTrip: Int64, nat: SimulatedNAT.Behaviour? = nil,
    _ change: (TwoPeers) -> Void
  ) throws -> [Int64] {
    var gaps: [Int64] = []
    for seed in UInt64(1)...20 {
      let pair = TwoPeers(seed: seed, roundTrip: .milliseconds(roundTrip), nat: (nat, nil))
      let call = try pair.connect()
      pair.world.run(.milliseconds(3_000 + Int64(seed) * 7))
      let start = pair.world.now
      change(pair)
      pair.world.run(.seconds(8))
      #expect(pair.isConnected(call), "seed \(seed)\n\(pair.story)")
      gaps += [pair.alice, pair.bob].map { pair.longestGap(at: $0, from: start) }
      pair.expectHungUp()
    }
    return gaps.sorted()
  }

  private func p95(_ gaps: [Int64]) -> Int64 { gaps[gaps.count * 95 / 100] }

  @Test func `a translator that rebinds costs at most 150 ms of audio at 50 ms round trip`()
    throws
  {
    let gaps = try gaps(roundTrip: 50, nat: .portRestricted) { pair in
      pair.world.network.rebind(
        pair.alice.site, changesAddress: false, now: pair.world.now)
    }
    #expect(p95(gaps) <= 150, "\(gaps)")
  }

  @Test func `a new network, the old one dead, costs at most 500 ms with notice`() throws {
    let gaps = try gaps(roundTrip: 50) { pair in
      pair.alice.move(to: pair.world.network.addSite(.clean(oneWay: .microseconds(12_500))))
    }
    #expect(p95(gaps) <= 500, "\(gaps)")
  }

  @Test func `a short outage of the whole line is survived in silence`() throws {
    let pair = TwoPeers()
    let call = try pair.connect()
    pair.world.run(.seconds(3))
    pair.world.network.setDown(up: true, down: true, of: pair.alice.site, now: pair.world.now)
    pair.world.run(.seconds(3))
    pair.world.network.setDown(up: false, down: false, of: pair.alice.site, now: pair.world.now)
    let back = pair.world.now
    pair.world.run(.seconds(5))
    #expect(pair.isConnected(call) && pair.outcome(of: call, at: pair.alice) == nil)
    for peer in [pair.alice, pair.bob] {
      let first = peer.heard.first { $0.at >= back }?.at
      #expect(TwoPeers.milliseconds(back, first) <= 100, "\(peer.name)")
    }
    pair.expectHungUp()
  }
}
