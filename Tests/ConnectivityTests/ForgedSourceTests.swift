import Primitives
import Testing
import Wire

@testable import Connectivity

@Suite struct ForgedSourceTests {
  /// A packet comes once from each of four forged sources; everything else by another path.
  @Test func `forged sources draw no more than three bytes for one after the first answer too`()
    throws
  {
    var agent = AgentTests.agent(2)
    var now = start
    for host in UInt8(100)...101 {
      let check = try agent.expectCheck(now: now)
      _ = agent.handleResponse(
        token: check.token, from: check.address, seenAs: address(1), now: now)
      now = now + .milliseconds(20)
      #expect(check.address == address(host))
    }
    agent.setExpectsMedia(true, now: now)
    for host in UInt8(60)...63 {
      agent.handleAuthenticatedPacket(
        from: address(host), byteCount: 64, isHighestYet: true, now: now)
    }
    let other = agent.selected == address(100) ? address(101) : address(100)
    var toForged = 0
    for _ in 0..<6_000 {
      now = now + .milliseconds(10)
      agent.handleChallenge(token: 1, from: other, byteCount: 64, now: now)
      while agent.pollResponse() != nil {}
      _ = agent.handleTimeout(now: now)
      while let check = agent.pollCheck(now: now) {
        guard check.address != address(100), check.address != address(101) else {
          _ = agent.handleResponse(
            token: check.token, from: check.address, seenAs: address(1), now: now)
          continue
        }
        toForged += 1
      }
    }
    // Three rounds of six each, whatever came.
    #expect(toForged <= 4 * 3 * 6)
  }
}
