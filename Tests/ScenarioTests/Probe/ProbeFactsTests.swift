import LastMile
import Primitives
import Simulation
import Testing

@testable import Peer

/// What a probe tells besides rates and delays: ECN, clocks, translators; whole machines.
@Suite struct ProbeFactsTests {
  @Test func `a line that clears ECN one way is told that way`() throws {
    for clearsUp in [true, false] {
      let line = ProbedLine {
        $0.up.clearsECN = clearsUp
        $0.down.clearsECN = !clearsUp
      }
      let report = try line.run()
      #expect(report.uplink?.ecn == (clearsUp ? .bleached : .survived))
      #expect(report.downlink?.ecn == (clearsUp ? .survived : .bleached))
    }
  }

  @Test func `a queue that marks is told, and is still measured`() throws {
    let line = ProbedLine { $0.up.rate?.marksAbove = .milliseconds(5) }
    let report = try line.run()
    #expect(report.uplink?.ecn == .marked && report.downlink?.ecn == .survived)
    #expect(abs((report.uplink?.bandwidth?.bitsPerSecond ?? 0) / 1e6 - 1) < 0.04)
  }

  @Test func `hosts that do not send it are not told from a line that clears it`() throws {
    let line = ProbedLine()
    line.world.network.hostsSendECT = false
    #expect(try line.run().uplink?.ecn == .bleached)
  }

  @Test func `the clocks' drift is what the clocks have`() throws {
    for seed in 1...4 as ClosedRange<UInt64> {
      let line = ProbedLine(seed: seed)
      let truth =
        line.world.rendezvous.host.clock.partsPerMillion - line.alice.host.clock.partsPerMillion
      let clock = try #require(try line.run().clock)
      let drift = try #require(clock.driftPpm)
      let doubt = try #require(clock.driftUncertaintyPpm)
      #expect(abs(drift - Double(truth)) <= doubt, "\(drift) ± \(doubt), is \(truth)")
      #expect(doubt < 30)
    }
  }

  @Test(
    arguments: [
      (nil, PathFacts.Mapping.none), (.endpointIndependent, .endpointIndependent),
      (.portRestricted, .endpointIndependent), (.symmetric, .dependent),
    ] as [(SimulatedNAT.Behaviour?, PathFacts.Mapping)])
  func `two sightings of one socket tell how a translator maps`(
    nat: SimulatedNAT.Behaviour?, expected: PathFacts.Mapping
  ) throws {
    let pair = TwoPeers(roundTrip: .milliseconds(60), nat: (nat, nil))
    func rendezvous() throws -> PathFacts.Mapping? {
      var plan = ProbePlan()
      plan.measuresBandwidth = false
      try pair.alice.host.command(now: pair.world.now) { machine, now throws(PeerRefusal) in
        try machine.probe(plan, now: now)
      }
      pair.world.run(.seconds(4))
      return ProbedLine.reports(of: pair.alice).last?.path.mapping
    }
    #expect(try rendezvous() == (nat == nil ? PathFacts.Mapping.none : .translated))
    try pair.alice.host.command(now: pair.world.now) { machine, now throws(PeerRefusal) in
      try machine.probe(.id(pair.bob.id), ProbePlan(), now: now)
    }
    pair.world.run(.seconds(10))
    let report = try #require(ProbedLine.reports(of: pair.alice).last)
    #expect(report.state == .complete, "\(report.ending)")
    #expect(report.path.mapping == expected)
    #expect(try rendezvous() == expected, "what the peer saw is remembered")
  }
}
