import Primitives
import Testing
import Wire

@testable import Connectivity

/// A path is two addresses: one of the peer's, and one of ours.
@Suite struct LocalAddressTests {
  private static let second = LocalAddressID(rawValue: 1)

  @Test func `answers from the own address that was asked, and checks from there`() throws {
    var agent = Agent(random: RandomSource(seed: 9))
    agent.handleChallenge(
      token: 7, from: address(60), to: Self.second, byteCount: 34, now: start)
    #expect(
      agent.pollResponse() == Agent.Probe(address: address(60), local: Self.second, token: 7))
    let check = try agent.expectCheck(now: start)
    #expect(check.path == DatagramPath(address(60), local: Self.second))
    let change = agent.handleResponse(
      token: check.token, from: address(60), to: Self.second, seenAs: address(1),
      now: start + .milliseconds(9))
    #expect(change?.cause == .found)
    #expect(agent.selectedPath == DatagramPath(address(60), local: Self.second))
  }

  @Test func `a candidate keeps its kind at every own address`() throws {
    var agent = AgentTests.agent()
    agent.handleChallenge(
      token: 7, from: address(100), to: Self.second, byteCount: 34, now: start)
    var checks: [Agent.Probe] = []
    for step in 0..<4 {
      while let check = agent.pollCheck(now: start + .milliseconds(Int64(step) * 50)) {
        checks.append(check)
      }
    }
    let check = try #require(checks.first { $0.path.local == Self.second })
    let change = agent.handleResponse(
      token: check.token, from: address(100), to: Self.second, seenAs: address(1),
      now: start + .milliseconds(200))
    #expect(change?.kind == .direct)
  }

  @Test func `an answer at another own address than was asked from proves nothing`() throws {
    var agent = AgentTests.agent()
    let check = try agent.expectCheck(now: start)
    let change = agent.handleResponse(
      token: check.token, from: check.address, to: Self.second, seenAs: address(1), now: start)
    #expect(change == nil && agent.selectedPath == nil && agent.counters.ignored == 1)
  }

  @Test func `another own address takes over only when the selected path is silent`() throws {
    var agent = AgentTests.agent()
    let check = try agent.expectCheck(now: start)
    var now = start + .milliseconds(20)
    _ = agent.handleResponse(
      token: check.token, from: check.address, seenAs: address(1), now: now)
    #expect(agent.selectedPath == DatagramPath(address(100)))
    agent.setExpectsMedia(true, now: now)
    // The peer's media comes to our second address from now on; the first is still answered at.
    var change: PathChange?
    for isAnswered in [true, false] {
      let end = now + .seconds(2)
      while now < end {
        now = now + .milliseconds(20)
        agent.handleAuthenticatedPacket(
          from: address(100), to: Self.second, byteCount: 34, isHighestYet: true, now: now)
        change = agent.handleTimeout(now: now) ?? change
        while let check = agent.pollCheck(now: now) {
          guard isAnswered || check.path.local == Self.second else { continue }
          change =
            agent.handleResponse(
              token: check.token, from: check.address, to: check.path.local, seenAs: address(1),
              now: now) ?? change
        }
      }
      #expect((change == nil) == isAnswered, "\(String(describing: change))")
    }
    #expect(change?.cause == .failed)
    #expect(agent.selectedPath == DatagramPath(address(100), local: Self.second))
  }

  @Test func `a peer cannot fill memory by asking at many own addresses`() {
    var agent = AgentTests.agent(8)
    for number in 1...200 {
      let local = LocalAddressID(rawValue: UInt16(number))
      for host in 0..<8 {
        agent.handleChallenge(
          token: 1, from: address(UInt8(100 + host)), to: local, byteCount: 34, now: start)
      }
      for host in 0..<8 {
        agent.handleChallenge(
          token: 1, from: address(UInt8(200 + host)), to: local, byteCount: 34, now: start)
      }
    }
    let most =
      PathLimits.remoteCandidates + PathLimits.peerReflexive + PathLimits.otherLocalAddresses
    #expect(agent.pathCount == most)
  }
}
