import Primitives
import Testing
import Wire

@testable import Connectivity

/// When media leaves the path that it is on.
@Suite struct PathChoiceTests {
  @Test func `prefers a path only if it is 10 ms and 20 percent better, twice`() throws {
    for (old, new, switches) in [
      (50, 41, false), (50, 40, true), (60, 49, false), (30, 20, true), (12, 3, false),
      (100, 85, false),
    ] {
      var agent = AgentTests.agent(2)
      let (first, change) = try Self.selectFirst(of: &agent, after: old, other: new)
      #expect(change == nil)
      var again: PathChange?
      let asked = start + .milliseconds(Int64(100 + new))
      if let check = agent.pollCheck(now: asked) {
        #expect(check.address == first)
        again = agent.handleResponse(
          token: check.token, from: first, seenAs: address(1),
          now: asked + .milliseconds(Int64(old)))
      }
      #expect((again?.cause == .better) == switches, "\(old) -> \(new)")
      #expect(agent.changes == (switches ? 1 : 0))
    }
  }

  /// The first answer of the selected path waited for a busy host; the next one did not.
  @Test func `does not leave a path for one slow answer`() throws {
    var agent = AgentTests.agent(2)
    let (first, _) = try Self.selectFirst(of: &agent, after: 45, other: 1)
    let asked = start + .milliseconds(200)
    let check = try agent.expectCheck(now: asked)
    #expect(check.address == first)
    let change = agent.handleResponse(
      token: check.token, from: first, seenAs: address(1), now: asked + .milliseconds(1))
    #expect(change == nil && agent.selected == first && agent.changes == 0)
  }

  /// Two answers, so many ms after their challenges; the first selects its address.
  private static func selectFirst(
    of agent: inout Agent, after old: Int, other new: Int
  ) throws -> (first: SocketAddress, change: PathChange?) {
    let first = try agent.expectCheck(now: start)
    let second = try agent.expectCheck(now: start + .milliseconds(50))
    _ = agent.handleResponse(
      token: first.token, from: first.address, seenAs: address(1),
      now: start + .milliseconds(Int64(old)))
    let change = agent.handleResponse(
      token: second.token, from: second.address, seenAs: address(1),
      now: start + .milliseconds(Int64(50 + new)))
    return (first.address, change)
  }

  /// Two programs on one host: each has the other's loopback and interface addresses, and each may
  /// have selected another one. Only one challenge was lost.
  @Test(arguments: [true, false])
  func `follows the peer to another of its candidates only if the present one is gone`(
    isAlive: Bool
  ) throws {
    var agent = AgentTests.agent(2)
    _ = try agent.expectCheck(now: start)
    let second = try agent.expectCheck(now: start + .milliseconds(50))
    var now = start + .milliseconds(51)
    _ = agent.handleResponse(
      token: second.token, from: second.address, seenAs: address(1), now: now)
    #expect(agent.selected == address(101))
    var probes: [Agent.Probe] = []
    let end = now + .milliseconds(400)
    var changes: [PathChange] = []
    while now < end {
      agent.handleAuthenticatedPacket(
        from: address(100), byteCount: 34, isHighestYet: true, now: now)
      if let change = agent.handleTimeout(now: now) { changes.append(change) }
      while let probe = agent.pollCheck(now: now) { probes.append(probe) }
      now = now + .milliseconds(1)
      // The new one answers before the old one, as it was asked first.
      for probe in probes.sorted(by: { $0.address.high < $1.address.high })
      where isAlive || probe.address == address(100) {
        if let change = agent.handleResponse(
          token: probe.token, from: probe.address, seenAs: address(1), now: now)
        {
          changes.append(change)
        }
      }
      probes = []
    }
    #expect(agent.selected == address(isAlive ? 101 : 100))
    #expect(changes.map(\.cause) == (isAlive ? [] : [.failed]))
  }
}
