import Calling
import Connectivity
import Cryptography
import LastMile
import Primitives
import Simulation
import Testing
import Wire

@testable import Peer

/// The line between two peers, probed in a call without media; and what real calls do to it.
@Suite struct PeerProbeTests {
  private func pair(
    seed: UInt64 = 1, configure: ((inout PeerConfiguration) -> Void)? = nil
  ) -> TwoPeers {
    TwoPeers(
      seed: seed, roundTrip: .milliseconds(60),
      change: { $0.rate = .init(2_000_000, queue: .time(.milliseconds(200))) },
      configure: configure)
  }

  private func probe(_ pair: TwoPeers, _ plan: ProbePlan = ProbedLine.plan) throws {
    try pair.alice.host.command(now: pair.world.now) { machine, now throws(PeerRefusal) in
      try machine.probe(.id(pair.bob.id), plan, now: now)
    }
  }

  private func calls(at peer: SimulatedPeer) -> Int {
    peer.events.count { event in
      switch event.event {
      case .calling, .link, .unresolved: true
      case .registration, .rendezvousIdentified, .rendezvousNodes, .nameReceipt, .relay,
        .relaysOffered, .relayStream, .probe, .token, .channel, .memberChecked:
        false
      }
    }
  }

  @Test func `a peer answers a probe without ringing`() throws {
    let pair = pair()
    try probe(pair)
    pair.world.run(.seconds(9))
    let report = try #require(ProbedLine.reports(of: pair.alice).last)
    #expect(report.state == .complete, "\(report.ending)")
    #expect(report.path.kind == .direct)
    #expect(report.cost.seconds <= 8.05)
    // Two access lines of 2 Mbit/s each way lie between them.
    #expect(abs((report.uplink?.bandwidth?.bitsPerSecond ?? 0) / 2e6 - 1) < 0.05)
    #expect(abs((report.downlink?.bandwidth?.bitsPerSecond ?? 0) / 2e6 - 1) < 0.05)
    #expect(calls(at: pair.alice) == 0 && calls(at: pair.bob) == 0, "\(pair.story)")
  }

  @Test func `after a probe a call rings as ever`() throws {
    let pair = pair()
    try probe(pair)
    pair.world.run(.seconds(9))
    _ = try pair.connect()
  }

  @Test func `a call ends a probe at once, from either side`() throws {
    for isCallee in [false, true] {
      let pair = pair()
      try probe(pair)
      pair.world.run(.seconds(3))
      pair.bob.habits.answer = .accept(after: .seconds(1))
      pair.alice.habits.answer = .accept(after: .seconds(1))
      let caller = isCallee ? pair.bob : pair.alice
      let called = isCallee ? pair.alice : pair.bob
      let call = try #require(caller.call(.id(called.id)))
      let isUp = pair.world.run(atMost: .seconds(8)) { pair.isConnected(call) }
      #expect(isUp, "\(pair.story)")
      let reports = ProbedLine.reports(of: pair.alice)
      #expect(reports.count == 1)
      #expect(reports.last?.ending != .finished)
    }
  }

  @Test func `a probe in a call, or of somebody in a call, is refused and costs it nothing`() throws
  {
    let pair = pair()
    _ = try pair.connect()
    #expect(throws: PeerRefusal.call(.busy)) { try probe(pair) }
    let carol = pair.world.addPeer(CallWorld.names[2], .clean(oneWay: .milliseconds(15)))
    pair.world.run(atMost: .seconds(10)) { carol.isRegistered }
    pair.world.run(.seconds(1))
    let from = pair.world.now
    try carol.host.command(now: pair.world.now) { machine, now throws(PeerRefusal) in
      try machine.probe(.id(pair.bob.id), ProbePlan(), now: now)
    }
    pair.world.run(.seconds(9))
    #expect(ProbedLine.reports(of: carol).last?.state == .unavailable)
    #expect(ProbedLine.reports(of: carol).last?.ending == .busy)
    #expect(pair.longestGap(at: pair.bob, from: from) <= 30)
    #expect(pair.longestGap(at: pair.alice, from: from) <= 30)
  }

  @Test func `a peer may refuse probes, and still takes calls`() throws {
    let pair = pair { $0.allowsProbes = false }
    try probe(pair)
    pair.world.run(.seconds(9))
    #expect(ProbedLine.reports(of: pair.alice).last?.ending == .notAllowed)
    _ = try pair.connect()
  }

  @Test func `a name that nobody has is said at once`() throws {
    let pair = pair()
    let name = try #require(PeerName("nobody-of-this-name"))
    let began = pair.world.now
    try pair.alice.host.command(now: began) { machine, now throws(PeerRefusal) in
      try machine.probe(.name(name), ProbePlan(), now: now)
    }
    pair.world.run(.seconds(2))
    let report = try #require(ProbedLine.reports(of: pair.alice).last)
    #expect(report.state == .unavailable && report.ending == .unknownPeer)
    pair.world.run(.seconds(10))
    #expect(ProbedLine.reports(of: pair.alice).count == 1)
  }

  @Test func `nobody at the other end is said in time`() throws {
    let pair = pair()
    pair.bob.crash()
    try probe(pair)
    pair.world.run(.milliseconds(8_500))
    let report = try #require(ProbedLine.reports(of: pair.alice).last)
    #expect(report.state == .unavailable && report.ending == .noAnswer)
  }

  @Test func `that no path was found is told from nobody there`() throws {
    let pair = TwoPeers(seed: 2, nat: (.symmetric, .symmetric))
    try probe(pair)
    pair.world.run(.milliseconds(8_500))
    let report = try #require(ProbedLine.reports(of: pair.alice).last)
    #expect(report.state == .unavailable && report.ending == .noPath)
  }

  @Test func `a request from an address that is not the path's draws nothing`() {
    var random = RandomSource(seed: 1)
    let link = CallLink(
      CallID(from: &random), .callee, peer: .zero, peerStatic: .zero, program: .every,
      limits: PeerLimits(),
      random: &random)
    link.probe.purpose = .probe
    let request = ProbeRequestFrame(run: 1, number: 1, payloadByteCount: 72, byteBudget: 1000)
    let arrival = ProbeArrival(
      of: 36, from: SocketAddress(v4: 192, 0, 2, 1, port: 9), DatagramMarks())
    #expect(arrival.byteCount == 36 + 25 + 28)
    let empty: [UInt8] = []
    link.probe.handle(
      .probeRequest(request), in: empty.span, arrival, on: link.path, now: .zero)
    #expect(link.probe.reflection == nil && link.probe.refusal == nil)
  }

  /// Each side selects its own path: where hosts have several addresses they differ.
  @Test func `a request on any proven path is taken, whichever is selected`() throws {
    var random = RandomSource(seed: 1)
    let link = CallLink(
      CallID(from: &random), .callee, peer: .zero, peerStatic: .zero, program: .every,
      limits: PeerLimits(), random: &random)
    link.probe.purpose = .probe
    let first = SocketAddress(v4: 192, 0, 2, 1, port: 9)
    let second = SocketAddress(v4: 198, 51, 100, 7, port: 9)
    link.path.agent.addCandidates([Candidate(.host, first), Candidate(.host, second)], now: .zero)
    var now = Instant.zero
    for _ in 0..<10 {
      now = now + .milliseconds(100)
      while let check = link.path.agent.pollCheck(now: now) {
        _ = link.path.agent.handleResponse(
          token: check.token, from: check.address, seenAs: first, now: now + .milliseconds(5))
      }
    }
    try #require(link.path.agent.selected == first && link.path.agent.isValid(second))
    let request = ProbeRequestFrame(run: 1, number: 1, payloadByteCount: 72, byteBudget: 1000)
    let arrival = ProbeArrival(of: 36, from: second, DatagramMarks())
    let empty: [UInt8] = []
    link.probe.handle(.probeRequest(request), in: empty.span, arrival, on: link.path, now: now)
    #expect(link.probe.reflection?.run == 1)
  }

  /// Method: both hosts have two addresses, and neither reaches the other's first one at once.
  @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
  func `hosts with two addresses are probed`(seed: UInt64) throws {
    let pair = pair(seed: seed)
    for peer in [pair.alice, pair.bob] {
      let first = pair.world.network.address(of: peer.hostID)
      let second = pair.world.network.addAddress(to: peer.hostID)
      peer.host.command(now: pair.world.now) { machine, now in
        machine.changeHostCandidates(
          seed % 2 == 0 ? [first, second] : [second, first], now: now)
      }
    }
    pair.world.run(.seconds(1))
    try probe(pair)
    pair.world.run(.seconds(9))
    let report = try #require(ProbedLine.reports(of: pair.alice).last)
    #expect(report.state == .complete, "\(report.ending)")
  }

  @Test func `the wait for a session is part of a probe's time`() {
    var waiting = RendezvousProbe()
    waiting.ask(ProbePlan(), run: 1, now: .zero)
    let expires = waiting.nextDeadline(canSend: false)
    #expect(expires == .zero + .seconds(8))
    var random = RandomSource(seed: 1)
    let probe = PeerProbe(callID: CallID(from: &random), plan: ProbePlan(), began: .zero)
    #expect(probe.expires == expires)
  }
}
