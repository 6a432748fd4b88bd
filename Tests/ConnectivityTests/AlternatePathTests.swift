import Primitives
import Testing
import Wire

@testable import Connectivity

/// A host has another uplink than the one that its routes choose.
@Suite struct AlternatePathTests {
  private static let second = LocalAddressID(rawValue: 1)

  /// One whose only address has answered, and that has a second uplink.
  private func connected() throws -> (Agent, Instant) {
    var agent = AgentTests.agent()
    agent.setAlternates([AlternateSource(Self.second, .v4)])
    let check = try agent.expectCheck(now: start)
    let now = start + .milliseconds(20)
    _ = agent.handleResponse(
      token: check.token, from: check.address, seenAs: address(1), now: now)
    agent.setExpectsMedia(true, now: now)
    return (agent, now)
  }

  /// Runs `agent` in steps of 10 ms; the peer answers where `answers` says.
  private func run(
    _ agent: inout Agent, from now: inout Instant, _ duration: Duration,
    answers: (LocalAddressID) -> Bool
  ) -> (changes: [PathChange], checks: [DatagramPath]) {
    var found: (changes: [PathChange], checks: [DatagramPath]) = ([], [])
    let end = now + duration
    while now < end {
      now = now + .milliseconds(10)
      if let change = agent.handleTimeout(now: now) { found.changes.append(change) }
      while let check = agent.pollCheck(now: now) {
        found.checks.append(check.path)
        guard answers(check.path.local) else { continue }
        let change = agent.handleResponse(
          token: check.token, from: check.address, to: check.path.local, seenAs: address(1),
          now: now)
        if let change { found.changes.append(change) }
      }
      if let local = agent.selectedPath?.local, answers(local) {
        agent.handleAuthenticatedPacket(
          from: address(100), to: local, byteCount: 90, isHighestYet: true, now: now)
      }
    }
    return found
  }

  @Test func `while the routes' choice carries, nothing leaves by the other uplink`() throws {
    var (agent, now) = try connected()
    let (changes, checks) = run(&agent, from: &now, .seconds(60)) { _ in true }
    #expect(changes.isEmpty)
    #expect(checks.allSatisfy { $0.local.isUnspecified })
  }

  @Test func `the other uplink takes over from a silent one, and gives way`() throws {
    var (agent, now) = try connected()
    let silent = now
    var (changes, _) = run(&agent, from: &now, .seconds(1)) { $0 == Self.second }
    #expect(changes.map(\.cause) == [.failed])
    #expect(agent.selectedPath == DatagramPath(address(100), local: Self.second))
    #expect(now - silent <= .seconds(1))
    (changes, _) = run(&agent, from: &now, .seconds(20)) { $0 == Self.second }
    #expect(changes.isEmpty)
    (changes, _) = run(&agent, from: &now, .seconds(20)) { _ in true }
    #expect(changes.map(\.cause) == [.better])
    #expect(agent.selectedPath == DatagramPath(address(100)))
    let (later, checks) = run(&agent, from: &now, .seconds(60)) { _ in true }
    #expect(later.isEmpty)
    #expect(checks.allSatisfy { $0.local.isUnspecified }, "an unused uplink is left in peace")
  }

  @Test func `an uplink that is gone is asked no more`() throws {
    var (agent, now) = try connected()
    _ = run(&agent, from: &now, .milliseconds(500)) { _ in false }
    #expect(agent.pathCount == 2)
    agent.setAlternates([])
    #expect(agent.pathCount == 1)
    let (_, checks) = run(&agent, from: &now, .seconds(10)) { _ in false }
    #expect(checks.allSatisfy { $0.local.isUnspecified })
  }

  @Test func `the other uplink finds what the routes' choice cannot, and gives way`() {
    var agent = AgentTests.agent()
    agent.setAlternates([AlternateSource(Self.second, .v4)])
    var now = start
    let (found, checks) = run(&agent, from: &now, .seconds(2)) { $0 == Self.second }
    #expect(found.map(\.cause) == [.found])
    #expect(agent.selectedPath == DatagramPath(address(100), local: Self.second))
    #expect(checks.prefix { $0.local.isUnspecified }.count == 4, "700 ms belong to the routes")
    _ = run(&agent, from: &now, .seconds(20)) { _ in true }
    #expect(agent.selectedPath == DatagramPath(address(100)))
  }

  @Test func `a second uplink does not raise what goes out before the first answer`() {
    var agent = AgentTests.agent(8)
    agent.setAlternates([AlternateSource(Self.second, .v4)])
    var now = start
    let (_, checks) = run(&agent, from: &now, .seconds(600)) { _ in false }
    #expect(checks.count == 80 && checks.contains { $0.local == Self.second })
  }

  @Test func `an outage of both uplinks does not use up the second one`() throws {
    var (agent, now) = try connected()
    _ = run(&agent, from: &now, .seconds(7)) { _ in false }
    _ = run(&agent, from: &now, .seconds(3)) { $0.isUnspecified }
    #expect(agent.selectedPath == DatagramPath(address(100)))
    _ = run(&agent, from: &now, .seconds(2)) { $0 == Self.second }
    #expect(agent.selectedPath == DatagramPath(address(100), local: Self.second))
  }

  @Test func `a peer that only its relay reaches is asked by the other uplink as well`() throws {
    var agent = Agent(random: RandomSource(seed: 9))
    agent.addCandidates([Candidate(.relayed, address(100))], now: start)
    agent.setAlternates([AlternateSource(Self.second, .v4)])
    var now = start
    _ = run(&agent, from: &now, .seconds(1)) { $0.isUnspecified }
    agent.setExpectsMedia(true, now: now)
    #expect(agent.kind == .relayed && agent.selectedPath == DatagramPath(address(100)))
    _ = run(&agent, from: &now, .seconds(2)) { $0 == Self.second }
    #expect(agent.selectedPath == DatagramPath(address(100), local: Self.second))
    #expect(agent.kind == .relayed)
  }

  @Test func `other uplinks leave room for addresses that the peer moves to`() throws {
    var agent = Agent(random: RandomSource(seed: 9))
    let sources = (1...3).map { AlternateSource(LocalAddressID(rawValue: $0), .v4) }
    agent.setAlternates(sources)
    agent.handleChallenge(token: 1, from: address(100), byteCount: 68, now: start)
    var now = start
    _ = run(&agent, from: &now, .seconds(1)) { $0.isUnspecified }
    agent.setExpectsMedia(true, now: now)
    _ = run(&agent, from: &now, .seconds(1)) { _ in false }
    #expect(agent.pathCount == 4)
    for host in UInt8(101)...103 {
      agent.handleAuthenticatedPacket(
        from: address(host), byteCount: 90, isHighestYet: true, now: now)
    }
    #expect(agent.pathCount == 7)
  }

  @Test func `of two that answer the routes' choice takes over, however slow`() throws {
    var agent = AgentTests.agent(2)
    agent.setAlternates([AlternateSource(Self.second, .v4)])
    var now = start
    _ = run(&agent, from: &now, .seconds(1)) { _ in true }
    agent.setExpectsMedia(true, now: now)
    let lost = try #require(agent.selectedPath)
    let other = lost.remote == address(100) ? address(101) : address(100)
    var late: [(at: Instant, Agent.Probe)] = []
    let end = now + .seconds(3)
    while now < end, agent.selectedPath == lost {
      now = now + .milliseconds(10)
      _ = agent.handleTimeout(now: now)
      while let check = agent.pollCheck(now: now) {
        guard check.address == other else { continue }
        late.append((now + .milliseconds(check.path.local.isUnspecified ? 50 : 40), check))
      }
      for (at, check) in late where at <= now {
        _ = agent.handleResponse(
          token: check.token, from: check.address, to: check.path.local, seenAs: address(1),
          now: now)
      }
      late.removeAll { $0.at <= now }
    }
    #expect(agent.selectedPath == DatagramPath(other))
  }

  @Test func `false candidates draw no more checks where there are two uplinks`() throws {
    var (agent, now) = try connected()
    var sent = 0
    for step in 0..<400 {
      let hosts = (0..<8).map { Candidate(.host, address(UInt8(150 + ($0 + step * 8) % 100))) }
      agent.renewCandidates(hosts, now: now)
      let (_, checks) = run(&agent, from: &now, .milliseconds(250)) { _ in false }
      sent += checks.count { $0.remote != address(100) }
    }
    #expect(sent <= 100)
    #expect(agent.pathCount <= 8 + 4 + PathLimits.otherLocalAddresses)
  }
}
