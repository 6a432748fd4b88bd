import Primitives
import Testing
import Wire

@testable import Connectivity

/// The peer says where it is now.
@Suite struct RenewalTests {
  /// One whose only address has answered.
  private func connected() throws -> (Agent, Instant) {
    var agent = AgentTests.agent()
    let check = try agent.expectCheck(now: start)
    let now = start + .milliseconds(20)
    _ = agent.handleResponse(
      token: check.token, from: check.address, seenAs: address(1), now: now)
    agent.setExpectsMedia(true, now: now)
    return (agent, now)
  }

  private func checks(_ agent: inout Agent, at now: Instant) -> [Agent.Probe] {
    var found: [Agent.Probe] = []
    while let probe = agent.pollCheck(now: now) { found.append(probe) }
    return found
  }

  @Test func `the new address that answers first takes over from one that does not`() throws {
    var (agent, now) = try connected()
    agent.renewCandidates(
      [Candidate(.host, address(5)), Candidate(.serverReflexive, address(6))], now: now)
    let first = checks(&agent, at: now)
    #expect(Set(first.map(\.address)) == [address(5), address(100)])
    now = now + .milliseconds(10)
    let second = try #require(checks(&agent, at: now).first)
    #expect(second.address == address(6))
    let change = agent.handleResponse(
      token: second.token, from: address(6), seenAs: address(1), now: now + .milliseconds(30))
    #expect(change?.cause == .moved && agent.selected == address(6))
  }

  @Test func `the old address stays if it answers first`() throws {
    var (agent, now) = try connected()
    agent.renewCandidates([Candidate(.host, address(5))], now: now)
    let both = checks(&agent, at: now)
    let old = try #require(both.first { $0.address == address(100) })
    let new = try #require(both.first { $0.address == address(5) })
    for probe in [old, new] {
      now = now + .milliseconds(20)
      let change = agent.handleResponse(
        token: probe.token, from: probe.address, seenAs: address(1), now: now)
      #expect(change == nil)
    }
    #expect(agent.selected == address(100) && agent.isValid(address(5)))
  }

  /// A relay that is asked for anew has another address. Packets may come from it before the peer
  /// tells of it.
  @Test(arguments: [false, true]) func `a relay's path is a relayed one whoever comes first`(
    isToldFirst: Bool
  ) throws {
    var (agent, now) = try connected()
    let relay = [Candidate(.relayed, address(5))]
    if isToldFirst { agent.renewCandidates(relay, now: now) }
    agent.handleChallenge(token: 7, from: address(5), byteCount: 100, now: now)
    if !isToldFirst { agent.renewCandidates(relay, now: now) }
    var change: PathChange?
    let probes = [10, 20].flatMap { checks(&agent, at: now + .milliseconds($0)) }
    for probe in probes where probe.address == address(5) {
      change =
        agent.handleResponse(
          token: probe.token, from: address(5), seenAs: address(1), now: now + .milliseconds(40))
        ?? change
    }
    #expect(change?.kind == .relayed && agent.kind == .relayed && agent.selected == address(5))
  }

  /// A peer that offers as relays whatever it has sent from.
  @Test func `relays that were heard before they were offered take no more room than others`()
    throws
  {
    var (agent, now) = try connected()
    for round in 0..<20 {
      let offered = (0..<8).map { address(UInt8(10 + round * 8 + $0)) }
      for place in offered {
        agent.handleChallenge(token: 7, from: place, byteCount: 100, now: now)
        for probe in checks(&agent, at: now) {
          _ = agent.handleResponse(
            token: probe.token, from: probe.address, seenAs: address(1), now: now)
        }
      }
      agent.renewCandidates(offered.map { Candidate(.relayed, $0) }, now: now)
      now = now + .milliseconds(20)
      #expect(agent.pathCount <= 20)
    }
  }

  /// False candidates in a call must not make a weapon of either side.
  @Test(arguments: [1, 3, 8]) func `draws at most a hundred checks to what never answers`(
    count: Int
  ) throws {
    var (agent, now) = try connected()
    var sent = 0
    for step in 0..<6_000 {
      if step % 25 == 0 {
        // Other ones each time, or the same.
        let first = count == 8 ? step / 25 % 12 * 8 : 0
        agent.renewCandidates(
          (0..<count).map { Candidate(.host, address(UInt8(150 + ($0 + first) % 100))) }, now: now)
      }
      _ = agent.handleTimeout(now: now)
      for probe in checks(&agent, at: now) {
        if probe.address != address(100) {
          sent += 1
        } else if probe.address == address(100) {
          _ = agent.handleResponse(
            token: probe.token, from: address(100), seenAs: address(1), now: now)
        }
      }
      #expect(agent.pathCount <= 20)
      now = now + .milliseconds(10)
    }
    #expect(sent == 100)
    #expect(agent.selected == address(100))
  }

  /// Goal: whoever proves one port of its own after the other draws at most three bytes to a third
  /// party for each that it spends (RFC 9000 §8.1).
  /// Method: 250 bytes for a word through the rendezvous, 60 for a packet, 40 for an answer.
  @Test func `new ports do not make false candidates a weapon`() throws {
    var (agent, now) = try connected()
    var (sent, spent) = (0, 0)
    for step in 0..<6_000 {
      if step % 100 == 0 {
        let victims = (0..<8).map { address(UInt8(150 + ($0 + step / 100 * 8) % 100)) }
        agent.renewCandidates(victims.map { Candidate(.host, $0) }, now: now)
        spent += 250
      }
      if step % 100 == 50 {
        let port = SocketAddress(v4: 198, 51, 100, 9, port: UInt16(10_000 + step))
        agent.handleAuthenticatedPacket(from: port, byteCount: 60, isHighestYet: true, now: now)
        spent += 60
      }
      _ = agent.handleTimeout(now: now)
      for probe in checks(&agent, at: now) {
        if (150..<250).contains(where: { address(UInt8($0)) == probe.address }) {
          sent += 1
        } else {
          _ = agent.handleResponse(
            token: probe.token, from: probe.address, seenAs: address(1), now: now)
          spent += 40
        }
      }
      now = now + .milliseconds(10)
    }
    #expect(sent > 100)
    #expect(34 * sent <= 3 * spent, "\(sent) checks for \(spent) bytes")
  }

  @Test func `there is room for a ninth address, and the selected one stays`() throws {
    var (agent, now) = try connected()
    for round in 0..<5 {
      agent.renewCandidates(
        (0..<8).map { Candidate(.host, address(UInt8(10 + round * 8 + $0))) }, now: now)
      #expect(agent.pathCount == 9)
      now = now + .milliseconds(1)
    }
    #expect(agent.selected == address(100))
    #expect(checks(&agent, at: now).contains { $0.address == address(42) })
  }
}
