import Primitives
import Testing
import Wire

@testable import Connectivity

extension Agent {
  /// The check that must be due.
  mutating func expectCheck(now: Instant) throws -> Probe {
    let probe = pollCheck(now: now)
    return try #require(probe)
  }
}

@Suite struct AgentTests {
  static func agent(_ candidates: Int = 1) -> Agent {
    var agent = Agent(random: RandomSource(seed: 9))
    agent.addCandidates(
      (0..<candidates).map { Candidate(.host, address(UInt8(100 + $0))) }, now: start)
    return agent
  }

  @Test func `starts a new check every 10 ms, candidates in turn`() {
    var agent = Self.agent(3)
    var first: [SocketAddress: Int64] = [:]
    for millisecond in 0..<400 {
      let now = start + .milliseconds(Int64(millisecond))
      while let probe = agent.pollCheck(now: now) {
        if first[probe.address] == nil { first[probe.address] = Int64(millisecond) }
      }
    }
    #expect(first == [address(100): 0, address(101): 10, address(102): 20])
  }

  @Test func `repeats an unanswered check after 100, 200, 400, 800 and 1600 ms`() {
    var agent = Self.agent()
    var times: [Int64] = []
    for millisecond in 0..<4000 {
      let now = start + .milliseconds(Int64(millisecond))
      while agent.pollCheck(now: now) != nil { times.append(Int64(millisecond)) }
    }
    #expect(times == [0, 100, 300, 700, 1500, 3100])
  }

  @Test func `tells what became of each address`() throws {
    var agent = Self.agent(2)
    let check = try agent.expectCheck(now: start)
    _ = agent.handleResponse(
      token: check.token, from: check.address, seenAs: address(1), now: start + .milliseconds(9))
    agent.handleChallenge(
      token: 7, from: address(50), byteCount: 68, now: start + .milliseconds(10))
    var now = start + .milliseconds(10)
    while now < start + .seconds(1) {
      while agent.pollCheck(now: now) != nil {}
      now = now + .milliseconds(10)
    }
    let fates: [PathFate] = agent.fates
    #expect(fates.map(\.address) == [address(100), address(101), address(50)])
    #expect(fates.map(\.isAnswered) == [true, false, false])
    #expect(fates.map(\.hasChallenged) == [false, false, true])
    #expect(fates[0].checks == 1 && fates[1].checks >= 3 && fates[2].checks >= 3)
    #expect(fates[1].origin == .host && fates[2].origin == .peerReflexive)
  }

  /// False candidates in an invitation must not make a weapon of the callee.
  @Test(arguments: [1, 3, 8]) func `sends at most a hundred checks until one is answered`(
    count: Int
  ) {
    var agent = Self.agent(count)
    var sent = 0
    var now = start
    for _ in 0..<60_000 {
      _ = agent.handleTimeout(now: now)
      while agent.pollCheck(now: now) != nil { sent += 1 }
      now = now + .milliseconds(10)
    }
    #expect(sent == 80)
    #expect(agent.nextDeadline == nil)
    // Late challenges from there get the rest, and no more.
    for _ in 0..<60_000 {
      agent.handleChallenge(token: 1, from: address(100), byteCount: 34, now: now)
      _ = agent.pollResponse()
      _ = agent.handleTimeout(now: now)
      while let probe = agent.pollCheck(now: now) {
        sent += 1
        #expect(probe.address == address(100))
      }
      now = now + .milliseconds(10)
    }
    #expect(sent == 100)
    #expect(PathLimits.checkByteCount == 64)
  }

  @Test func `takes eight candidates, no unsendable ones, none twice`() {
    var agent = Agent(random: RandomSource(seed: 9))
    let bad = [
      SocketAddress(v4: 224, 0, 0, 1, port: 1), SocketAddress(v4: 255, 255, 255, 255, port: 1),
      SocketAddress(v4: 1, 2, 3, 4, port: 0), SocketAddress(v4: 0, 0, 0, 0, port: 5),
    ]
    agent.addCandidates(bad.map { Candidate(.host, $0) }, now: start)
    #expect(agent.pollCheck(now: start) == nil)
    for _ in 0..<3 {
      agent.addCandidates((0..<8).map { Candidate(.host, address(UInt8(50 + $0))) }, now: start)
    }
    agent.addCandidates([Candidate(.relayed, address(99))], now: start)
    var seen: Set<SocketAddress> = []
    for millisecond in 0..<2000 {
      while let probe = agent.pollCheck(now: start + .milliseconds(Int64(millisecond))) {
        seen.insert(probe.address)
      }
    }
    #expect(seen.count == 8 && !seen.contains(address(99)))
  }

  @Test func `accepts an answer only from where the challenge went, and only once`() throws {
    var agent = Self.agent()
    let probe = try agent.expectCheck(now: start)
    let now = start + .milliseconds(30)
    #expect(
      agent.handleResponse(
        token: probe.token, from: address(55), seenAs: address(1), now: now) == nil)
    #expect(
      agent.handleResponse(
        token: probe.token &+ 1, from: probe.address, seenAs: address(1), now: now) == nil)
    #expect(agent.selected == nil && agent.counters.ignored == 2)
    let change = agent.handleResponse(
      token: probe.token, from: probe.address, seenAs: address(1), now: now)
    #expect(
      change == PathChange(from: nil, to: probe.address, kind: .direct, cause: .found))
    #expect(agent.roundTrip == .milliseconds(30) && agent.seenAs == address(1))
    #expect(
      agent.handleResponse(
        token: probe.token, from: probe.address, seenAs: address(1), now: now) == nil)
    #expect(agent.counters.ignored == 3)
  }

  @Test func `answers a challenge where it came from, and challenges that address`() throws {
    var agent = Agent(random: RandomSource(seed: 9))
    agent.handleChallenge(token: 7, from: address(60), byteCount: 34, now: start)
    #expect(agent.pollResponse() == Agent.Probe(address: address(60), token: 7))
    #expect(agent.pollResponse() == nil)
    let probe = try agent.expectCheck(now: start)
    #expect(probe.address == address(60))
    let change = agent.handleResponse(
      token: probe.token, from: address(60), seenAs: address(1), now: start + .milliseconds(9))
    #expect(change?.kind == .holePunched)
  }

  @Test func `learns four peer-reflexive addresses, not more`() {
    var agent = Self.agent()
    for host in 0..<20 {
      agent.handleChallenge(token: 1, from: address(UInt8(200 + host)), byteCount: 34, now: start)
    }
    #expect(agent.counters.ignored == 16)
    var responses = 0
    while agent.pollResponse() != nil { responses += 1 }
    #expect(responses == 4)
  }

  @Test func `answers an unproven address at most three bytes for one`() {
    var agent = Self.agent()
    for _ in 0..<200 {
      agent.handleChallenge(token: 1, from: address(60), byteCount: 16, now: start)
      _ = agent.pollResponse()
    }
    // 200 × 16 bytes came; 3 × 3200 / 64 = 150 answers of at most 64 bytes may go.
    #expect(agent.counters.responsesRefused == 50)
  }
}

@Suite struct PathScenarioTests {
  static func connected(_ seed: UInt64) -> SimulatedPaths {
    var paths = SimulatedPaths(seed: seed)
    paths.agents[0].addCandidates([Candidate(.serverReflexive, address(2))], now: start)
    paths.agents[1].addCandidates([Candidate(.serverReflexive, address(1))], now: start)
    paths.run(.seconds(1))
    paths.talk()
    paths.run(.seconds(2))
    return paths
  }

  /// Each side has a false candidate first. A round of six checks all lost, there or back, has
  /// p = (1 − 0.7²)^6 ≈ 1.8 %; a second round follows within 5 s.
  @Test(arguments: 0..<UInt64(200))
  func `finds the one path among false ones under thirty percent loss`(seed: UInt64) {
    var paths = SimulatedPaths(seed: seed)
    paths.lossPercent = 30
    for (side, real) in [(0, address(2)), (1, address(1))] {
      paths.agents[side].addCandidates(
        [
          Candidate(.host, address(77)), Candidate(.host, address(78)),
          Candidate(.serverReflexive, real),
        ], now: start)
    }
    paths.run(.seconds(12))
    for side in 0...1 {
      #expect(paths.agents[side].selected == [address(2), address(1)][side], "seed \(seed)")
      #expect(paths.agents[side].kind == .holePunched)
    }
  }

  @Test func `finds a path within a round trip and the pace, and then is quiet`() {
    var paths = SimulatedPaths(seed: 1)
    paths.agents[0].addCandidates([Candidate(.host, address(2))], now: start)
    paths.agents[1].addCandidates([Candidate(.host, address(1))], now: start)
    paths.run(.milliseconds(40))
    #expect(paths.agents[0].kind == .direct && paths.agents[1].kind == .direct)
    let sent = paths.sentCount
    paths.run(.seconds(100))
    // One challenge and one answer every ten seconds.
    #expect(paths.sentCount[0] - sent[0] <= 22 && paths.sentCount[1] - sent[1] <= 22)
  }

  @Test(arguments: 0..<UInt64(50))
  func `follows a peer to a new address without a gap of more than two round trips`(seed: UInt64) {
    var paths = Self.connected(seed)
    let moved = paths.now
    paths.reachable[address(9)] = (0, .milliseconds(20))
    paths.reachable[address(1)] = nil
    paths.source[0] = address(9)
    paths.run(.seconds(3))
    #expect(paths.agents[1].selected == address(9), "seed \(seed)")
    #expect(paths.changes[1].last?.cause == .moved && paths.agents[1].changes == 1)
    #expect(paths.longestGap(0, since: moved) <= 130)
    #expect(paths.longestGap(1, since: moved) <= 60)
  }

  @Test(arguments: 0..<UInt64(50))
  func `is not led away by a thief who sends copies ahead of the packets`(seed: UInt64) {
    var paths = Self.connected(seed)
    paths.thief = address(66)
    let stolen = paths.now
    paths.run(.seconds(5))
    #expect(paths.agents[1].selected == address(1), "seed \(seed)")
    #expect(paths.agents[1].changes == 0)
    paths.thief = nil
    paths.run(.seconds(1))
    // Three probe timeouts of a 40 ms round trip: 3 × (40 + 20 + 25) ms.
    #expect(paths.longestGap(0, since: stolen) <= 255)
    #expect(paths.longestGap(1, since: stolen) <= 255)
  }

  /// A thief who also passes the checks on is on the path, and may carry what it cannot read; when
  /// it stops, the peer is found again.
  @Test func `returns from a thief who was on the path and left`() {
    var paths = Self.connected(4)
    paths.reachable[address(66)] = (0, .milliseconds(15))
    paths.source[0] = address(66)
    paths.run(.seconds(3))
    #expect(paths.agents[1].selected == address(66))
    paths.source[0] = address(1)
    paths.reachable[address(66)] = nil
    let left = paths.now
    paths.run(.seconds(3))
    #expect(paths.agents[1].selected == address(1))
    #expect(paths.longestGap(0, since: left) <= 1000)
  }

  @Test func `replaces a path that fell silent by one that answers, and does not flap`() {
    var paths = SimulatedPaths(seed: 6)
    paths.reachable[address(22)] = (1, .milliseconds(60))
    paths.agents[0].addCandidates(
      [Candidate(.host, address(2)), Candidate(.relayed, address(22))], now: start)
    paths.agents[1].addCandidates([Candidate(.host, address(1))], now: start)
    paths.run(.seconds(1))
    #expect(paths.agents[0].kind == .direct)
    paths.talk()
    paths.run(.seconds(1))
    // Side 1 cannot be reached at its first address, and hears nothing; side 0 hears on, because
    // only one direction broke, until side 1 is silenced as well.
    paths.reachable[address(2)] = nil
    paths.source[1] = address(22)
    paths.sendsMedia[1] = false
    let failed = paths.now
    paths.run(.seconds(2))
    #expect(paths.agents[0].selected == address(22) && paths.agents[0].kind == .relayed)
    #expect(paths.agents[0].changes == 1)
    #expect(paths.longestGap(1, since: failed) <= 1000)
    paths.run(.seconds(30))
    #expect(paths.agents[0].changes == 1)
  }

  @Test func `keeps the last path through an outage, and needs nobody to recover`() {
    var paths = Self.connected(8)
    paths.lossPercent = 100
    paths.run(.seconds(12))
    #expect(paths.agents[0].selected == address(2))
    let sent = paths.sentCount[0]
    paths.lossPercent = 0
    let back = paths.now
    paths.run(.seconds(2))
    #expect(paths.longestGap(0, since: back) <= 60)
    #expect(paths.agents[0].changes == 0)
    #expect(sent < 1000)
  }

  /// It says PING each second.
  @Test func `does not doubt a peer that sends no media before a second and a half`() {
    var paths = Self.connected(10)
    paths.sendsMedia = [false, false]
    for side in 0...1 { paths.agents[side].setExpectsMedia(false, now: paths.now) }
    let checks = paths.agents[0].counters.checks
    paths.run(.milliseconds(1_490))
    #expect(paths.agents[0].counters.checks == checks)
    // What was under way came until 20 ms later.
    paths.run(.milliseconds(40))
    #expect(paths.agents[0].counters.checks == checks + 1)
  }
}

@Suite struct AgentFuzzTests {
  /// Whatever arrives: once everything due is done, the next deadline lies ahead, the list of
  /// paths is bounded, and nothing goes to an address that never answered but checks and answers.
  @Test(arguments: 0..<UInt64(300))
  func `is never woken for what is done, whatever arrives`(seed: UInt64) {
    var random = RandomSource(seed: seed)
    var agent = Agent(random: RandomSource(seed: seed &+ 1))
    var now = start
    var tokens: [Agent.Probe] = []
    var proven: Set<SocketAddress> = []
    for _ in 0..<600 {
      let source = address(UInt8(random.next() % 24))
      switch random.next() % 9 {
      case 0: agent.addCandidates([Candidate(.host, source)], now: now)
      case 1: agent.handleChallenge(token: random.next(), from: source, byteCount: 34, now: now)
      case 2, 3:
        guard let probe = tokens.randomElement(using: &random) else { continue }
        let from = random.next() % 4 == 0 ? source : probe.address
        if from == probe.address { proven.insert(from) }
        _ = agent.handleResponse(token: probe.token, from: from, seenAs: address(1), now: now)
      case 4, 5:
        agent.handleAuthenticatedPacket(
          from: source, byteCount: 34, isHighestYet: random.next() % 2 == 0, now: now)
      case 8:
        agent.renewCandidates(
          [Candidate(.host, source), Candidate(.host, address(UInt8(random.next() % 24)))], now: now
        )
      case 6: agent.setExpectsMedia(random.next() % 2 == 0, now: now)
      default: now = now + .milliseconds(Int64(random.next() % 900))
      }
      _ = agent.handleTimeout(now: now)
      while let probe = agent.pollCheck(now: now) { tokens.append(probe) }
      while agent.pollResponse() != nil {}
      if let deadline = agent.nextDeadline { #expect(deadline > now, "EARSHOT_SEED=\(seed)") }
      if let selected = agent.selected { #expect(proven.contains(selected)) }
      #expect(agent.pathCount <= 13)
    }
  }
}

@Suite struct KeepAliveTests {
  @Test func `asks for PING a second after the last packet, and once a second`() {
    var keepAlive = KeepAlive(now: start)
    #expect(keepAlive.nextDeadline == start + .seconds(1))
    keepAlive.noteSent(now: start + .milliseconds(900))
    let early = keepAlive.poll(now: start + .milliseconds(1899))
    let due = keepAlive.poll(now: start + .milliseconds(1900))
    let again = keepAlive.poll(now: start + .milliseconds(1901))
    #expect(!early && due && !again)
    #expect(keepAlive.nextDeadline == start + .milliseconds(2900))
  }
}
