import Calling
import LastMile
import Peer
import Primitives
import Simulation
import Testing

/// A call goes on while everybody tries to probe: what it costs the call.
@Suite struct ProbeBesideCallTests {
  /// Frames heard on one side.
  private struct Heard {
    /// ms above the least, 95th percentile.
    var delayP95: Double
    var lost: Int
    var count: Int
  }

  private func heard(_ peer: SimulatedPeer, from start: Instant) -> Heard {
    let frames = peer.heard.filter { $0.at >= start }
    guard let first = frames.first else { return Heard(delayP95: .infinity, lost: 0, count: 0) }
    var delays: [Double] = []
    var numbers: Set<UInt16> = []
    for frame in frames {
      let since = frame.mediaTime &- first.mediaTime
      numbers.insert(since)
      delays.append(Double((frame.at - first.at).nanoseconds) / 1e6 - 10 * Double(since))
    }
    delays.sort()
    // A frame of 20 ms takes two steps of media time.
    let expected = Int(numbers.max() ?? 0) / 2 + 1
    return Heard(
      delayP95: delays[delays.count * 95 / 100] - delays[0], lost: expected - numbers.count,
      count: frames.count)
  }

  /// Ten seconds of a call over uplinks of 500 kbit/s, alone or beside probes.
  private func call(besideProbes: Bool) throws -> (alice: Heard, bob: Heard, refused: Int) {
    let pair = TwoPeers(
      seed: 7, roundTrip: .milliseconds(60),
      change: { $0.rate = .init(500_000, queue: .time(.milliseconds(300))) })
    let carol = pair.world.addPeer(CallWorld.names[2], .clean(oneWay: .milliseconds(15)))
    pair.world.run(atMost: .seconds(10)) { carol.isRegistered }
    _ = try pair.connect()
    pair.world.run(.seconds(2))
    let start = pair.world.now
    var refused = 0
    for _ in 0..<5 {
      if besideProbes {
        for peer in [pair.alice, pair.bob] {
          let isRefused = isRefused(peer, at: pair.world.now) {
            machine, now throws(PeerRefusal) in try machine.probe(ProbePlan(), now: now)
          }
          if isRefused { refused += 1 }
        }
        for target in [pair.alice.id, pair.bob.id] {
          _ = isRefused(carol, at: pair.world.now) { machine, now throws(PeerRefusal) in
            try machine.probe(.id(target), ProbePlan(), now: now)
          }
        }
      }
      pair.world.run(.seconds(2))
    }
    let told = ProbedLine.reports(of: carol)
    #expect(told.allSatisfy { $0.state == .unavailable })
    if besideProbes { #expect(!told.isEmpty) }
    return (heard(pair.alice, from: start), heard(pair.bob, from: start), refused)
  }

  private func isRefused(
    _ peer: SimulatedPeer, at now: Instant,
    _ body: (inout PeerMachine, Instant) throws(PeerRefusal) -> Void
  ) -> Bool {
    do throws(PeerRefusal) {
      let host: SimulatedHost<PeerMachine> = peer.host
      try host.command(now: now) { machine, time throws(PeerRefusal) in try body(&machine, time) }
      return false
    } catch {
      return true
    }
  }

  @Test func `probes beside a call are refused, and cost it less than 10 ms and no loss`() throws {
    let alone = try call(besideProbes: false)
    let beside = try call(besideProbes: true)
    #expect(beside.refused == 10, "both ends of the call, five times each")
    for (with, without) in [(beside.alice, alone.alice), (beside.bob, alone.bob)] {
      #expect(without.count > 480 && with.count > 480)
      #expect(with.lost == 0 && without.lost == 0)
      #expect(with.delayP95 - without.delayP95 < 10, "\(with) beside, \(without) alone")
    }
  }

  /// A probe runs, of the rendezvous, when a call begins at either end: the line is the call's.
  @Test(arguments: [true, false])
  func `a call that begins has the line to itself`(isCaller: Bool) throws {
    let pair = TwoPeers(
      seed: 8, roundTrip: .milliseconds(60),
      change: { $0.rate = .init(500_000, queue: .time(.milliseconds(300))) })
    try pair.alice.host.command(now: pair.world.now) { machine, now throws(PeerRefusal) in
      try machine.probe(ProbePlan(), now: now)
    }
    pair.world.run(.seconds(6))
    let (caller, callee) = isCaller ? (pair.alice, pair.bob) : (pair.bob, pair.alice)
    callee.habits.answer = .accept(after: .seconds(1))
    let call = try #require(caller.call(.id(callee.id)))
    #expect(pair.world.run(atMost: .seconds(8)) { pair.isConnected(call) }, "\(pair.story)")
    let report = try #require(ProbedLine.reports(of: pair.alice).last)
    #expect(report.ending == .callInProgress && report.idleRoundTrip != nil)
    let start = pair.world.now
    pair.world.run(.seconds(5))
    for peer in [pair.alice, pair.bob] {
      let heard = heard(peer, from: start)
      #expect(heard.lost == 0 && heard.delayP95 < 10, "\(heard)")
    }
  }
}
