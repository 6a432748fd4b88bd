import Congestion
import Primitives
import Testing
import Wire

extension SentPacketHistory {
  mutating func send(_ number: UInt64, at time: UInt64, elicits: Bool = true) {
    record(
      SentPacket(
        number: number, sent: Instant(nanoseconds: time * millisecond), byteCount: 100,
        elicitsFeedback: elicits, hasMessages: false, token: UInt32(truncatingIfNeeded: number)))
  }

  /// Handles a report that a recorder would write at `made` about `arrivals` (number, time).
  mutating func receive(
    _ arrivals: [(UInt64, UInt64)], made: UInt64, now: UInt64
  ) throws {
    var recorder = FeedbackRecorder(epoch: UInt32((arrivals.first?.0 ?? 0) >> 32))
    for (number, time) in arrivals { recorder.note(number, at: time) }
    guard let report = try takeReport(&recorder, now: at(made)) else { return }
    try handle(report.frame, in: report.packet.span, now: at(now))
  }

  mutating func drain() -> [(UInt64, PacketOutcome.Fate)] {
    var all: [(UInt64, PacketOutcome.Fate)] = []
    while let outcome = poll() { all.append((outcome.packet.number, outcome.fate)) }
    return all
  }
}

func numbers(
  _ outcomes: [(UInt64, PacketOutcome.Fate)], _ fate: PacketOutcome.Fate
) -> [UInt64] {
  outcomes.filter { $0.1 == fate }.map(\.0)
}

@Suite struct SentPacketHistoryTests {
  @Test func `a report gives arrivals, a round trip, and frees the path`() throws {
    var history = SentPacketHistory(capacity: 16)
    history.send(0, at: 1000)
    history.send(1, at: 1020)
    #expect(history.bytesInFlight == 200)
    // Arrived at 1050 and 1075 on a clock of its own, reported 10 ms later, here after 40 ms.
    try history.receive([(0, 1050), (1, 1075)], made: 1085, now: 1125)
    let polled = [history.poll(), history.poll(), history.poll()]
    let first = try #require(polled[0])
    #expect(first.packet.number == 0 && first.fate == .acknowledged && first.packet.token == 0)
    #expect(first.arrivalTicks == 4200)
    #expect(polled[1]?.arrivalTicks == 4300)
    #expect(polled[2] == nil)
    #expect(history.latestSample == 95 * millisecond)
    #expect(history.bytesInFlight == 0)
    #expect(history.quality.packetsAcknowledged == 2)
    #expect(history.quality.lossFraction == 0)
    #expect(!history.hasOpenPackets)
  }

  @Test func `three numbers higher is lost, two is not yet`() throws {
    var history = SentPacketHistory(capacity: 16)
    for number in 0..<5 as Range<UInt64> { history.send(number, at: 1000 + number) }
    try history.receive([(3, 1050)], made: 1050, now: 1100)
    let outcomes = history.drain()
    #expect(numbers(outcomes, .lost) == [0])
    #expect(numbers(outcomes, .acknowledged) == [3])
    // The other two: 9/8 of 97 ms after they were sent.
    let delay = 97 * millisecond + 97 * millisecond / 8
    let due = Instant(nanoseconds: 1001 * millisecond + delay)
    #expect(history.nextDeadline == due)
    history.handleTimeout(now: Instant(nanoseconds: due.nanoseconds - 1))
    #expect(history.drain().isEmpty)
    history.handleTimeout(now: due)
    #expect(numbers(history.drain(), .lost) == [1])
    #expect(history.nextDeadline == Instant(nanoseconds: 1002 * millisecond + delay))
    history.handleTimeout(now: at(2000))
    #expect(numbers(history.drain(), .lost) == [2])
    #expect(history.nextDeadline == nil)
    #expect(history.quality.longestBurst == 3)
    #expect(history.quality.burstCount == 1)
    #expect(history.bytesInFlight == 100)
  }

  @Test func `a late report turns a loss into a spurious one`() throws {
    var history = SentPacketHistory(capacity: 16)
    for number in 0..<4 as Range<UInt64> { history.send(number, at: 1000) }
    try history.receive([(3, 1050)], made: 1050, now: 1100)
    #expect(numbers(history.drain(), .lost) == [0])
    try history.receive([(0, 1060), (3, 1050)], made: 1070, now: 1110)
    #expect(numbers(history.drain(), .acknowledgedLate) == [0])
    #expect(history.quality.spuriousLosses == 1)
    #expect(history.quality.packetsLost == 0)
    try history.receive([(0, 1060), (3, 1050)], made: 1070, now: 1111)
    #expect(history.drain().isEmpty)
  }

  /// A check of another path is reported like any packet, also where it is the newest.
  @Test func `what says nothing of the path is reported, and counts as nothing`() throws {
    var history = SentPacketHistory(capacity: 16)
    for number in 0..<4 as Range<UInt64> { history.send(number, at: 1000 + number) }
    for number in 4..<8 as Range<UInt64> { history.skip(number) }
    let arrivals: [(UInt64, UInt64)] = [(0, 1050), (1, 1051), (2, 1052), (3, 1053), (6, 1054)]
    try history.receive(arrivals, made: 1060, now: 1100)
    #expect(numbers(history.drain(), .acknowledged) == [0, 1, 2, 3])
    history.send(8, at: 1100)
    try history.receive([(8, 1150)], made: 1150, now: 1200)
    #expect(numbers(history.drain(), .lost).isEmpty && history.quality.packetsLost == 0)
    #expect(history.quality.packetsAcknowledged == 5 && !history.hasOpenPackets)
  }

  @Test func `refuses reports on numbers never sent`() throws {
    var history = SentPacketHistory(capacity: 16)
    #expect(throws: WireError.self) { try history.receive([(0, 5)], made: 6, now: 7) }
    history.send(0, at: 1)
    #expect(throws: WireError.self) { try history.receive([(1, 5)], made: 6, now: 7) }
    #expect(throws: WireError.self) { try history.receive([(1 << 32, 5)], made: 6, now: 7) }
    #expect(history.drain().isEmpty)
    try history.receive([(0, 5)], made: 6, now: 7)
    #expect(numbers(history.drain(), .acknowledged) == [0])
  }

  @Test func `a delay that cannot be true gives no sample`() throws {
    var history = SentPacketHistory(capacity: 16)
    history.send(0, at: 1000)
    try history.receive([(0, 5)], made: 200, now: 1100)
    #expect(history.latestSample == nil)
    #expect(!history.roundTrip.hasSample)
    #expect(numbers(history.drain(), .acknowledged) == [0])
  }

  @Test func `numbers begin anew with each epoch`() throws {
    var history = SentPacketHistory(capacity: 16)
    for number in 0..<4 as Range<UInt64> { history.send(number, at: 1000 + number) }
    for number in 0..<4 as Range<UInt64> { history.send(1 << 32 | number, at: 1004 + number) }
    try history.receive([(1 << 32 | 3, 1060)], made: 1060, now: 1100)
    // The new epoch's numbers say nothing of the old one's but that they are older.
    #expect(numbers(history.drain(), .lost) == [1 << 32])
    try history.receive([(2, 1061), (3, 1062)], made: 1062, now: 1101)
    let older = history.drain()
    #expect(numbers(older, .acknowledged) == [2, 3])
    #expect(numbers(older, .lost) == [0])
    history.handleTimeout(now: at(1300))
    #expect(numbers(history.drain(), .lost) == [1, 1 << 32 | 1, 1 << 32 | 2])
  }

  @Test func `numbers skipped are no packets`() throws {
    var history = SentPacketHistory(capacity: 16)
    history.send(0, at: 1000)
    history.send(9, at: 1001)
    try history.receive([(9, 1050), (8, 1051)], made: 1060, now: 1100)
    let outcomes = history.drain()
    #expect(numbers(outcomes, .lost) == [0])
    #expect(numbers(outcomes, .acknowledged) == [9])
    history.send(1000, at: 1101)
    try history.receive([(1000, 1150)], made: 1150, now: 1200)
    #expect(numbers(history.drain(), .acknowledged) == [1000])
  }

  @Test func `a full ring gives up its oldest`() {
    var history = SentPacketHistory(capacity: 4)
    for number in 0..<6 as Range<UInt64> { history.send(number, at: 1000) }
    #expect(numbers(history.drain(), .lost) == [0, 1])
    #expect(history.bytesInFlight == 400)
  }

  /// A model that keeps everything in dictionaries: every packet's fate at every report must agree.
  @Test(arguments: 0..<200 as Range<UInt64>)
  func `agrees with a simple model`(seed: UInt64) throws {
    var random = RandomSource(seed: seed)
    var history = SentPacketHistory(capacity: 1024)
    var recorder = FeedbackRecorder()
    let base: UInt64 = seed % 2 == 0 ? 0 : (1 << 31) - 400
    var model = LossModel()
    var flights: [(arrival: UInt64, number: UInt64)] = []
    var reports: [(arrival: UInt64, report: Report)] = []
    for time in 0..<4000 as Range<UInt64> {
      if time % 10 == 0, time < 3900 {
        let number = base + time / 10
        history.send(number, at: 10_000 + time)
        model.open[number] = 10_000 + time
        if random.unit() > 0.15 {
          flights.append((time + 30 + UInt64.random(in: 0...25, using: &random), number))
        }
      }
      for flight in flights where flight.arrival == time {
        recorder.note(flight.number, at: 77_000 + time)
      }
      if recorder.isDue(now: at(77_000 + time)),
        let report = try takeReport(&recorder, now: at(77_000 + time)), random.unit() > 0.2
      {
        reports.append((time + 30 + UInt64.random(in: 0...40, using: &random), report))
      }
      let now = 10_000 + time
      for report in reports where report.arrival == time {
        try history.handle(report.report.frame, in: report.report.packet.span, now: at(now))
        model.handle(report.report, base: base, now: now)
      }
      history.handleTimeout(now: at(now))
      model.age(now: now, delay: history.roundTrip.lossDelay)
      while let outcome = history.poll() { model.told(outcome, seed: seed) }
      if !model.isTold { Issue.record("seed \(seed), \(time) ms: \(model.untold)") }
    }
    #expect(model.fates.values.filter { $0 == .acknowledged }.count > 250)
  }
}

/// RFC 9002 §6.1 in the plainest words.
struct LossModel {
  /// Those without a fate, and when they were sent.
  var open: [UInt64: UInt64] = [:]
  var fates: [UInt64: PacketOutcome.Fate] = [:]
  var untold: [UInt64: PacketOutcome.Fate] = [:]
  var largest: UInt64?

  var isTold: Bool { untold.isEmpty }

  mutating func handle(_ report: Report, base: UInt64, now: UInt64) {
    for number in report.received.map(UInt64.init) {
      largest = max(largest ?? 0, number)
      switch fates[number] {
      case nil: decide(number, .acknowledged)
      case .lost: decide(number, .acknowledgedLate)
      case .acknowledged, .acknowledgedLate: break
      }
    }
    for number in open.keys where number + 3 <= largest ?? 0 {
      decide(number, .lost)
    }
  }

  mutating func age(now: UInt64, delay: UInt64) {
    for (number, time) in open
    where number < largest ?? 0
      && time * millisecond + delay <= now * millisecond
    {
      decide(number, .lost)
    }
  }

  private mutating func decide(_ number: UInt64, _ fate: PacketOutcome.Fate) {
    open[number] = nil
    fates[number] = fate
    untold[number] = fate
  }

  mutating func told(_ outcome: PacketOutcome, seed: UInt64) {
    let number = outcome.packet.number
    if untold[number] != outcome.fate { Issue.record("seed \(seed), packet \(number)") }
    untold[number] = nil
  }
}
