import Connectivity
import Primitives
import Testing
import Wire

/// Which of direct and relayed paths carries a call.
@Suite struct RelayPathTests {
  private let start = Instant(nanoseconds: 1_000_000_000)
  private let direct = SocketAddress(v4: 192, 0, 2, 7, port: 4000)
  private let relayed = SocketAddress(v4: 203, 0, 113, 9, port: 50_000)

  private var candidates: [Candidate] {
    [Candidate(.host, direct), Candidate(.relayed, relayed)]
  }

  private func agent(byRelay: Bool = false) -> Agent {
    var agent = Agent(random: RandomSource(seed: 3))
    agent.addCandidates(candidates, byRelay: byRelay, now: start)
    return agent
  }

  /// Challenges that leave until `end`, with their moments; nobody answers.
  private func checks(_ agent: inout Agent, until end: Duration) -> [(Duration, Agent.Probe)] {
    var found: [(Duration, Agent.Probe)] = []
    var now = start
    while now <= start + end {
      _ = agent.handleTimeout(now: now)
      while let check = agent.pollCheck(now: now) { found.append((now - start, check)) }
      now = now + .milliseconds(5)
    }
    return found
  }

  private func answer(_ probe: Agent.Probe, _ agent: inout Agent, at now: Instant) -> PathChange? {
    agent.handleResponse(
      token: probe.token, from: probe.path.remote, to: probe.path.local,
      seenAs: SocketAddress(v4: 198, 51, 100, 1, port: 9), now: now)
  }

  @Test func `relayed candidates wait 300 ms and one pair is by both relays`() {
    var agent = agent(byRelay: true)
    let found = checks(&agent, until: .milliseconds(600))
    let first = { (path: DatagramPath) in found.first { $0.1.path == path }?.0 }
    #expect(first(DatagramPath(direct)) == .zero)
    for path in [DatagramPath(relayed), DatagramPath(relayed, local: .relay)] {
      #expect(first(path).map { (.milliseconds(300)...(.milliseconds(400))).contains($0) } == true)
    }
    #expect(!found.contains { $0.1.path == DatagramPath(direct, local: .relay) })
  }

  @Test func `a direct path takes over from a relayed one however slow it is`() throws {
    var agent = agent()
    let found = checks(&agent, until: .milliseconds(400))
    let byRelay = try #require(found.last { $0.1.address == relayed })
    let byHost = try #require(found.first { $0.1.address == direct })
    let change = answer(byRelay.1, &agent, at: start + .milliseconds(410))
    #expect(change?.kind == .relayed && agent.selected == relayed)
    let next = answer(byHost.1, &agent, at: start + .milliseconds(500))
    #expect(next?.kind == .direct && next?.cause == .better)
  }

  @Test func `a quick relayed path does not take over from a slow direct one`() throws {
    var agent = agent()
    let found = checks(&agent, until: .milliseconds(400))
    let byHost = try #require(found.first { $0.1.address == direct })
    let first = answer(byHost.1, &agent, at: start + .milliseconds(401))
    #expect(first?.kind == .direct)
    var now = start + .milliseconds(401)
    for _ in 0..<8000 {
      now = now + .milliseconds(5)
      let timed = agent.handleTimeout(now: now)
      #expect(timed == nil)
      while let check = agent.pollCheck(now: now) {
        let isDirect = check.address == direct
        let change = answer(check, &agent, at: now + .milliseconds(isDirect ? 200 : 1))
        #expect(change == nil)
      }
    }
    #expect(agent.selected == direct && agent.changes == 0)
  }

  /// The peer comes by our relay, from an address that nobody has told.
  @Test func `a path by our relay is relayed and does not take a direct one's place`() throws {
    var agent = agent(byRelay: true)
    let elsewhere = DatagramPath(SocketAddress(v4: 10, 9, 8, 7, port: 6), local: .relay)
    agent.handleChallenge(
      token: 9, from: elsewhere.remote, to: elsewhere.local, byteCount: 64, now: start)
    let response = agent.pollResponse()
    #expect(response?.path == elsewhere)
    let found = checks(&agent, until: .milliseconds(60))
    let byRelay = try #require(found.first { $0.1.path == elsewhere })
    let change = answer(byRelay.1, &agent, at: start + .milliseconds(70))
    #expect(change?.kind == .relayed && agent.selectedPath == elsewhere)
    let byHost = try #require(found.first { $0.1.address == direct })
    let next = answer(byHost.1, &agent, at: start + .milliseconds(80))
    #expect(next?.kind == .direct)
    // Media of the peer still comes by the relay for a while.
    agent.handleAuthenticatedPacket(
      from: SocketAddress(v4: 10, 9, 8, 7, port: 99), to: .relay, byteCount: 100,
      isHighestYet: true, now: start + .milliseconds(90))
    while let check = agent.pollCheck(now: start + .milliseconds(100)) {
      if check.address == direct { continue }
      let change = answer(check, &agent, at: start + .milliseconds(101))
      #expect(change == nil)
    }
    #expect(agent.selected == direct)
  }

  @Test func `a relayed path takes over where the direct one is silent`() throws {
    var agent = agent()
    let found = checks(&agent, until: .milliseconds(400))
    let byHost = try #require(found.first { $0.1.address == direct })
    let byRelay = try #require(found.last { $0.1.address == relayed })
    _ = answer(byHost.1, &agent, at: start + .milliseconds(401))
    _ = answer(byRelay.1, &agent, at: start + .milliseconds(402))
    agent.setExpectsMedia(true, now: start + .milliseconds(402))
    var now = start + .milliseconds(402)
    var kinds: [PathKind] = []
    for _ in 0..<400 {
      now = now + .milliseconds(5)
      if let change = agent.handleTimeout(now: now) { kinds.append(change.kind) }
      while let check = agent.pollCheck(now: now) {
        guard check.address == relayed else { continue }
        if let change = answer(check, &agent, at: now) { kinds.append(change.kind) }
      }
    }
    #expect(kinds == [.relayed])
  }

  @Test func `silent direct candidates are asked again while a relay carries the call`() throws {
    var agent = agent()
    var now = start
    var asked: [Duration] = []
    for _ in 0..<24_000 {
      _ = agent.handleTimeout(now: now)
      while let check = agent.pollCheck(now: now) {
        if check.address == direct {
          asked.append(now - start)
        } else {
          _ = answer(check, &agent, at: now)
        }
      }
      now = now + .milliseconds(5)
    }
    #expect(agent.selected == relayed)
    let rounds = asked.filter { last in !asked.contains { $0 < last && last - $0 < .seconds(10) } }
    #expect(rounds.count == 3, "\(rounds)")
    // Six challenges a round.
    #expect(asked.count <= 18)
  }
}
