import Primitives
import Testing
import Wire

@testable import Connectivity

/// Each part of the agent alone.
@Suite struct PathPartsTests {
  private let start = Instant(nanoseconds: 1_000_000_000)
  private let one = SocketAddress(v4: 192, 0, 2, 1, port: 4000)
  private let two = SocketAddress(v4: 192, 0, 2, 2, port: 4000)

  @Test func `a round repeats its challenge at doubling intervals, then is over`() {
    let policy = PathPolicy.standard
    var round = ChallengeRound(opening: nil, checkAt: start)
    var waits: [Duration] = []
    var token: UInt64 = 0
    while let due = round.nextAt {
      token += 1
      round.appendChallenge(token, policy, now: due)
      if let next = round.nextAt { waits.append(next - due) }
    }
    #expect(waits.map(\.milliseconds) == [100, 200, 400, 800, 1600])
    #expect(round.isOver && round.checks == 6 && round.attempts == 6)
    let foreign = round.handleAnswer(99)
    #expect(foreign == nil)
    let sentAt = round.handleAnswer(2)
    #expect(sentAt == start + .milliseconds(100), "an earlier one is still accepted")
    #expect(round.lastUnanswered == nil && round.attempts == 0)
  }

  /// It is there: only loss keeps its answer away.
  @Test func `a round to where the peer was heard from repeats every 50 ms at first`() {
    var round = ChallengeRound(opening: nil, checkAt: start)
    var waits: [Duration] = []
    var token: UInt64 = 0
    while let due = round.nextAt {
      token += 1
      round.appendChallenge(token, .standard, isHeard: token > 2, now: due)
      if let next = round.nextAt { waits.append(next - due) }
    }
    let early = [100, 200] + [Int64](repeating: 50, count: 6)
    #expect(waits.map(\.milliseconds) == early + [100, 200, 400, 800, 1600])
  }

  @Test func `a challenge of the peer hastens a round once`() {
    var round = ChallengeRound(opening: nil, checkAt: start)
    round.appendChallenge(1, .standard, now: start)
    round.trigger(at: start + .milliseconds(10))
    #expect(round.nextAt == start + .milliseconds(10))
    round.appendChallenge(2, .standard, now: start + .milliseconds(10))
    let due = round.nextAt
    round.trigger(at: start + .milliseconds(20))
    #expect(round.nextAt == due)
  }

  @Test func `the first challenge may only open the way out`() {
    var round = ChallengeRound(opening: .milliseconds(500), checkAt: start)
    let opens = round.appendOpening(1, now: start)
    let opensAgain = round.appendOpening(2, now: start)
    #expect(opens && !opensAgain && round.nextAt == start + .milliseconds(500))
    #expect(round.attempts == 0 && round.checks == 1)
  }

  @Test func `the peer's word that it hears nothing is not refuted by its packets`() {
    var doubt = PathDoubt()
    doubt.begin(now: start)
    doubt.handlePacket()
    #expect(doubt.since == nil)
    doubt.handleRenewal(isElsewhere: true, now: start)
    doubt.handlePacket()
    #expect(doubt.since == start && doubt.renewedAt == start)
    doubt.settle()
    #expect(doubt.since == nil && doubt.renewedAt == nil)
    #expect(doubt.maySearch(after: .seconds(2), now: start))
    doubt.search(now: start)
    #expect(!doubt.maySearch(after: .seconds(2), now: start + .seconds(1)))
  }

  @Test func `a table has room for so many candidates, and forgets what is not offered`() {
    var table = PathTable()
    for number in UInt8(1)...20 {
      let address = SocketAddress(v4: 192, 0, 2, number, port: 4000)
      table.add(Candidate(.host, address), opening: nil, checkAt: start)
    }
    #expect(table.paths.count == PathLimits.remoteCandidates)
    table.forgetAllBut([one], selected: DatagramPath(two))
    #expect(table.paths.map(\.path.remote) == [one, two])
    let stranger = SocketAddress(v4: 198, 51, 100, 1, port: 9)
    let place = table.learn(DatagramPath(stranger), selected: nil, now: start)
    #expect(place == 2 && table[2].origin == .peerReflexive)
  }

  @Test func `the quicker path is better only by a margin`() {
    var table = PathTable()
    for address in [one, two] { table.add(Candidate(.host, address), opening: nil, checkAt: start) }
    func answer(_ index: Int, after milliseconds: Int) {
      table[index].round.appendChallenge(UInt64(index), .standard, now: start)
      let isTaken = table[index].handleAnswer(
        UInt64(index), now: start + .milliseconds(milliseconds))
      #expect(isTaken)
    }
    answer(0, after: 50)
    answer(1, after: 45)
    #expect(table.better(than: table[0], .standard) == nil)
    answer(0, after: 400)
    answer(0, after: 400)
    let better = table.better(than: table[0], .standard)
    #expect(better?.path.remote == two && better?.isForSpeed == true)
    #expect(table.successor(of: DatagramPath(one), since: start)?.remote == two)
  }

  @Test func `bytes that go to an unproven address are three for each that came`() {
    var bytes = UnprovenBytes()
    #expect(bytes.allowed == 0)
    bytes.countReceived(100)
    bytes.countAnswered(250)
    #expect(bytes.allowed == 50)
  }
}
