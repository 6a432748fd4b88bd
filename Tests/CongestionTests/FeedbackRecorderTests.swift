import Congestion
import Primitives
import Testing
import Wire

let millisecond: UInt64 = 1_000_000

func at(_ milliseconds: UInt64) -> Instant { Instant(nanoseconds: milliseconds * millisecond) }

/// One FEEDBACK as a receiver of it sees it.
struct Report {
  var frame: FeedbackFrame
  var packet: [UInt8]
  var entries: [FeedbackEntry]

  var received: [UInt32] { entries.filter(\.isReceived).map(\.number) }
}

func takeReport(
  _ recorder: inout FeedbackRecorder, now: Instant, room: Int = 1175
) throws -> Report? {
  var wrote = false
  let packet = [UInt8](capacity: 1200) { output in
    wrote = recorder.writeReport(into: &output, room: room, now: now)
  }
  guard wrote else {
    #expect(packet.isEmpty)
    return nil
  }
  #expect(packet.count <= room)
  var reader = FrameReader(packet.span)
  guard case .feedback(let frame)? = try reader.next() else { return nil }
  #expect(try reader.next() == nil)
  var all: [FeedbackEntry] = []
  var entries = frame.entries(in: packet.span)
  while let entry = entries.next() { all.append(entry) }
  return Report(frame: frame, packet: packet, entries: all)
}

extension FeedbackRecorder {
  mutating func note(
    _ number: UInt64, at time: UInt64, _ demand: FeedbackDemand = .interval, mark: Bool = false
  ) {
    let arrival = Instant(nanoseconds: time * millisecond)
    record(number, at: arrival, isCongestionExperienced: mark, demand: demand)
  }
}

@Suite struct FeedbackRecorderTests {
  @Test func `where much arrives reports come sooner, to a relay at most each 50 ms`() throws {
    let cases: [(FeedbackRecorder, UInt64)] = [(FeedbackRecorder(), 20), (.ofRelay, 50)]
    for (made, least) in cases {
      var recorder = made
      recorder.note(0, at: 1000)
      _ = try takeReport(&recorder, now: at(1020))
      for number in 1...4 as ClosedRange<UInt64> {
        recorder.record(
          number, at: at(1021), isCongestionExperienced: false, demand: .interval,
          byteCount: 1200)
      }
      #expect(recorder.nextDeadline == at(1020 + least))
    }
  }

  @Test func `a message is reported after twenty milliseconds, audio at its interval`() throws {
    var recorder = FeedbackRecorder()
    #expect(recorder.nextDeadline == nil)
    recorder.note(0, at: 1000)
    #expect(recorder.nextDeadline == at(1020))
    _ = try takeReport(&recorder, now: at(1020))
    #expect(recorder.nextDeadline == nil)
    recorder.note(1, at: 1040)
    recorder.note(2, at: 1060)
    #expect(recorder.nextDeadline == at(1120))
    recorder.note(3, at: 1070, .soon)
    #expect(recorder.nextDeadline == at(1090))
    recorder.note(4, at: 1080, .soon)
    #expect(recorder.nextDeadline == at(1090))
    #expect(!recorder.isDue(now: at(1089)) && recorder.isDue(now: at(1090)))
  }

  @Test func `the more arrives the sooner it is reported, for 5 % at most`() throws {
    var recorder = FeedbackRecorder()
    recorder.note(0, at: 1000)
    _ = try takeReport(&recorder, now: at(1020))
    func note(_ number: UInt64, at time: UInt64, _ byteCount: Int) {
      recorder.record(
        number, at: at(time), isCongestionExperienced: false, demand: .interval,
        byteCount: byteCount)
    }
    note(1, at: 1024, 700)
    #expect(recorder.nextDeadline == at(1120))
    // 20 × (66 + 2) = 1360 bytes are enough.
    note(2, at: 1028, 700)
    #expect(recorder.nextDeadline == at(1040))
    _ = try takeReport(&recorder, now: at(1040))
    // Long after the last report: a moment for what arrives together.
    note(3, at: 1100, 1_200)
    note(4, at: 1100, 1_200)
    #expect(recorder.nextDeadline == at(1102))
    _ = try takeReport(&recorder, now: at(1102))
    // Small packets: not more numbers than two reports can cover.
    for number in 5..<125 as Range<UInt64> { note(number, at: 1110, 8) }
    #expect(recorder.nextDeadline == at(1122))
  }

  @Test func `what wants no feedback gets it only by the way`() throws {
    var recorder = FeedbackRecorder()
    recorder.note(0, at: 5, .none)
    #expect(recorder.nextDeadline == nil)
    #expect(recorder.hasUnreported)
    recorder.note(1, at: 6, .soon)
    #expect(try takeReport(&recorder, now: at(26))?.received == [1, 0])
    #expect(!recorder.hasUnreported)
    #expect(try takeReport(&recorder, now: at(27)) == nil)
  }

  @Test func `two reports in a row cover every packet`() throws {
    var recorder = FeedbackRecorder()
    recorder.note(0, at: 0)
    recorder.note(1, at: 20)
    #expect(try takeReport(&recorder, now: at(20))?.received == [1, 0])
    recorder.note(3, at: 60)
    #expect(try takeReport(&recorder, now: at(100))?.received == [3, 1, 0])
    recorder.note(4, at: 120)
    let third = try #require(try takeReport(&recorder, now: at(120)))
    #expect(third.entries.map(\.number) == [4, 3])
    recorder.note(2, at: 130)
    recorder.note(6, at: 140)
    let fourth = try #require(try takeReport(&recorder, now: at(145)))
    #expect(fourth.received == [6, 4, 3, 2])
    #expect(fourth.frame.header.delay == 20)
    #expect(fourth.frame.header.arrival == 560)
    #expect(fourth.entries.last?.arrival == 520)
  }

  @Test func `reports the older epoch first`() throws {
    var recorder = FeedbackRecorder(epoch: 6)
    recorder.note(6 << 32 | 9, at: 0)
    recorder.note(7 << 32 | 0, at: 10, .soon)
    recorder.note(6 << 32 | 10, at: 12, .soon)
    let first = try #require(try takeReport(&recorder, now: at(30)))
    #expect(first.frame.header.epoch == 2)
    #expect(first.received == [10, 9])
    #expect(recorder.isDue(now: at(30)))
    let second = try #require(try takeReport(&recorder, now: at(30)))
    #expect(second.frame.header.epoch == 3)
    #expect(second.received == [0])
    #expect(recorder.nextDeadline == nil)
    recorder.note(5 << 32, at: 40, .soon)
    #expect(recorder.nextDeadline == nil)
  }

  @Test func `what cannot be reported any more wakes nobody`() throws {
    var recorder = FeedbackRecorder()
    recorder.note(1000, at: 0, .soon)
    _ = try takeReport(&recorder, now: at(20))
    recorder.note(1000, at: 30, .soon)
    recorder.note(745, at: 30, .soon)
    #expect(recorder.nextDeadline == nil && !recorder.hasUnreported)
    recorder.note(746, at: 30, .soon)
    #expect(try takeReport(&recorder, now: at(50))?.received == [1000, 746])
    recorder.note(1 << 32, at: 60, .none)
    recorder.note(1001, at: 61, .soon)
    _ = try takeReport(&recorder, now: at(70))
    recorder.note(1002, at: 71, .soon)
    _ = try takeReport(&recorder, now: at(71))
    recorder.note(1003, at: 72, .soon)
    recorder.forgetPreviousEpoch()
    #expect(recorder.isDue(now: at(92)) == recorder.hasUnreported)
  }

  @Test func `marks say which packets met congestion`() throws {
    var recorder = FeedbackRecorder()
    for number in 0..<20 as Range<UInt64> {
      recorder.note(number, at: number, mark: number == 3 || number == 19)
    }
    let report = try #require(try takeReport(&recorder, now: at(20)))
    #expect(report.entries.filter(\.isCongestionExperienced).map(\.number) == [19, 3])
  }

  @Test func `a short room shortens the report and nothing else`() throws {
    for room in 0..<40 {
      var recorder = FeedbackRecorder()
      for number in 0..<20 as Range<UInt64> {
        recorder.note(number, at: number * 50, mark: number == 0)
      }
      let report = try takeReport(&recorder, now: at(1000), room: room)
      #expect((report == nil) == (room < 14))
      let count = report?.entries.count ?? 0
      #expect((report?.received ?? []) == (0..<count).map { 19 - UInt32($0) })
    }
  }

  /// Arrivals with loss, reordering, marks, near the end of the numbers and of 32-bit time: each
  /// report says only what is true, and every packet that comes soon enough is in a report; with
  /// one report of any two lost, too.
  @Test(arguments: 0..<300 as Range<UInt64>)
  func `reports what arrived, and when`(seed: UInt64) throws {
    var random = RandomSource(seed: seed)
    var recorder = FeedbackRecorder()
    let firstNumber: UInt64 = seed % 3 == 0 ? (1 << 31) - 300 : seed % 3 == 1 ? 0 : 70_000
    // 32-bit ticks wrap at 1 073 741 824 ms.
    let start: UInt64 = seed % 2 == 0 ? 1_073_741_824 - 2000 : 5000
    var arrivals: [UInt32: (ticks: UInt32, isMarked: Bool)] = [:]
    var events: [(time: UInt64, number: UInt64)] = []
    for step in 0..<300 as Range<UInt64> where random.unit() > 0.1 {
      let late = random.unit() < 0.1 ? UInt64.random(in: 0...150, using: &random) : 0
      events.append((start + step * 10 + late, firstNumber + step))
    }
    events.sort { ($0.time, $0.number) < ($1.time, $1.number) }
    var covered: [Set<UInt32>] = []
    var last: Instant?
    for event in events {
      while let deadline = recorder.nextDeadline, deadline <= at(event.time) {
        let report = try #require(try takeReport(&recorder, now: deadline))
        covered.append(check(report, against: arrivals, now: deadline, seed: seed))
      }
      let isMarked = random.unit() < 0.05
      recorder.note(event.number, at: event.time, mark: isMarked)
      arrivals[UInt32(event.number)] = (
        UInt32(truncatingIfNeeded: event.time * 4), isMarked
      )
      last = at(event.time)
    }
    let end = try #require(last)
    while let report = try takeReport(&recorder, now: end) {
      covered.append(check(report, against: arrivals, now: end, seed: seed))
    }
    for parity in 0...1 {
      let kept = covered.indices.filter { $0 % 2 == parity || $0 == covered.count - 1 }
      let known = kept.reduce(into: Set<UInt32>()) { $0.formUnion(covered[$1]) }
      let missed = arrivals.keys.filter { !known.contains($0) }
      #expect(missed.isEmpty, "seed \(seed), reports \(parity) mod 2 kept, missed \(missed)")
    }
  }

  private func check(
    _ report: Report, against arrivals: [UInt32: (ticks: UInt32, isMarked: Bool)], now: Instant,
    seed: UInt64
  ) -> Set<UInt32> {
    for entry in report.entries {
      guard let truth = arrivals[entry.number] else {
        #expect(!entry.isReceived, "seed \(seed): \(entry.number) never arrived")
        continue
      }
      let isTrue =
        entry.isReceived && entry.arrival == truth.ticks
        && entry.isCongestionExperienced == truth.isMarked
      if !isTrue { Issue.record("seed \(seed): \(entry), in truth \(truth)") }
    }
    let nowTicks = UInt32(truncatingIfNeeded: now.nanoseconds / 250_000)
    let header = report.frame.header
    #expect(UInt32(header.delay) == nowTicks &- header.arrival, "seed \(seed)")
    return Set(report.received)
  }
}
