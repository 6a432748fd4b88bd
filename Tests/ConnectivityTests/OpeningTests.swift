import Primitives
import Testing
import Wire

@testable import Connectivity

/// The first check to a translator whose host does not know us yet goes only a part of the way.
@Suite struct OpeningTests {
  private static func agent() -> Agent {
    var agent = Agent(random: RandomSource(seed: 4))
    agent.addCandidates(
      [Candidate(.host, address(100)), Candidate(.serverReflexive, address(101))],
      opening: .milliseconds(70), now: start)
    return agent
  }

  /// When checks leave, where to, and their hop limits.
  private static func checks(
    _ agent: inout Agent, until end: Int64, change: (inout Agent, Int64) -> Void = { _, _ in }
  ) -> [String] {
    var found: [String] = []
    for millisecond in 0..<end {
      change(&agent, millisecond)
      while let probe = agent.pollCheck(now: start + .milliseconds(millisecond)) {
        let host = probe.address == address(100) ? "host" : "outer"
        found.append("\(millisecond) \(host) \(probe.path.hopLimit)")
      }
    }
    return found
  }

  @Test func `opens at once, and checks when the peer can have done the same`() {
    var agent = Self.agent()
    let found = Self.checks(&agent, until: 180)
    #expect(found == ["0 host 0", "0 outer 3", "70 outer 0", "100 host 0", "170 outer 0"])
  }

  @Test func `checks at once where the peer is heard from`() {
    var agent = Self.agent()
    let found = Self.checks(&agent, until: 60) { agent, millisecond in
      guard millisecond == 30 else { return }
      agent.handleChallenge(
        token: 7, from: address(101), byteCount: 68, now: start + .milliseconds(30))
    }
    #expect(found == ["0 host 0", "0 outer 3", "30 outer 0"])
  }

  @Test func `an answer to the opening counts`() throws {
    var agent = Self.agent()
    _ = agent.pollCheck(now: start)
    let opening = try agent.expectCheck(now: start)
    #expect(opening.path.hopLimit == 3)
    let change = agent.handleResponse(
      token: opening.token, from: address(101), seenAs: address(1), now: start + .milliseconds(9))
    #expect(change?.kind == .holePunched && agent.selected == address(101))
  }

  /// Who is told the candidates last has nothing to wait for.
  @Test func `only who knows first opens`() {
    var agent = Agent(random: RandomSource(seed: 4))
    agent.addCandidates([Candidate(.serverReflexive, address(101))], now: start)
    #expect(Self.checks(&agent, until: 90) == ["0 outer 0"])
  }
}
