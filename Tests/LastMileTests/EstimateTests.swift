import Primitives
import Testing
import Wire

@testable import LastMile

/// A line that serves `rate` bit/s, made by arithmetic: packets of one size at an even pace.
private struct Line {
  var rate: Double
  var size: UInt16 = 1228
  var jitter: Int64 = 0
  var random = RandomSource(seed: 1)

  /// - Parameter lost: Which packets are lost behind the bottleneck.
  mutating func entries(
    _ count: Int, sentAt sendRate: Double, part: TestPackets.Part = .loaded,
    lost: (Int) -> Bool = { _ in false }
  ) -> [TestPackets.Entry] {
    let step = Double(size) * 8e9 / sendRate
    let service = Double(size) * 8e9 / rate
    var free = 0.0
    return (0..<count).map { index in
      let sent = Double(index) * step
      free = max(free, sent) + service
      var entry = TestPackets.Entry(
        sent: Int64(sent), byteCount: size, part: part, train: 1)
      if !lost(index) {
        let noise = jitter > 0 ? Int64(random.next() % UInt64(jitter)) : 0
        entry.arrival = Int64(free) + 30_000_000 + noise
      }
      return entry
    }
  }
}

@Suite struct LineFitTests {
  @Test func `a straight line is found`() throws {
    let fit = try #require(LineFit((0..<100).map { (Double($0), 3 * Double($0) + 7) }))
    #expect(abs(fit.slope - 3) < 1e-9 && abs(fit.intercept - 7) < 1e-9)
    #expect(fit.standardError < 1e-9)
  }

  @Test func `a point alone, or all of one place, give none`() {
    #expect(LineFit([(1, 1)]) == nil)
    #expect(LineFit([(1, 1), (1, 2), (1, 3), (1, 4)]) == nil)
  }
}

@Suite struct TrainVerdictTests {
  @Test func `a train that the line carries has its own rate`() throws {
    var line = Line(rate: 5e6)
    let verdict = try #require(TrainVerdict(line.entries(40, sentAt: 2e6), idleLoss: 0))
    #expect(!verdict.isSaturated && abs(verdict.rate / 2e6 - 1) < 0.01)
  }

  @Test func `a train that is too fast shows what comes out`() throws {
    var line = Line(rate: 1e6)
    let verdict = try #require(TrainVerdict(line.entries(40, sentAt: 2.5e6), idleLoss: 0))
    #expect(verdict.isSaturated && abs(verdict.rate / 1e6 - 1) < 0.05)
  }

  @Test func `what chance may have done is doubted, what it cannot is not`() throws {
    var line = Line(rate: 10e6)
    let unlucky = line.entries(20, sentAt: 2e6) { $0 % 4 == 3 }
    let doubtful = try #require(TrainVerdict(unlucky, idleLoss: 0.01))
    #expect(doubtful.isSaturated && doubtful.isDoubtful)
    let half = line.entries(20, sentAt: 2e6) { $0 % 2 == 1 }
    let clear = try #require(TrainVerdict(half, idleLoss: 0.01))
    #expect(clear.isSaturated && !clear.isDoubtful)
  }

  @Test func `nothing is said of a train of which nearly nothing came`() {
    var line = Line(rate: 1e6)
    #expect(TrainVerdict(line.entries(40, sentAt: 1e6) { $0 > 2 }, idleLoss: 0) == nil)
  }
}

@Suite struct BandwidthFitTests {
  @Test func `random loss behind the bottleneck does not lower the rate`() throws {
    var line = Line(rate: 1e6, jitter: 20_000_000)
    var dice = RandomSource(seed: 5)
    let entries = line.entries(300, sentAt: 1.1e6) { _ in dice.next() % 5 == 0 }
    let fit = try #require(
      BandwidthFit(entries, base: 50e6, calm: (100, 500), longest: 500e6))
    #expect(fit.isBusy && abs(fit.rate / 1e6 - 1) < 0.03)
    #expect(abs(fit.rate / 1e6 - 1) < fit.error)
  }

  @Test func `a line without a queue carries at least what was sent`() throws {
    var line = Line(rate: 10e6)
    let entries = line.entries(300, sentAt: 2e6)
    let fit = try #require(
      BandwidthFit(entries, base: 31e6, calm: (0, 500), longest: 40e6))
    #expect(!fit.isBusy && abs(fit.rate / 2e6 - 1) < 0.01)
  }

  /// Of 1.5 Mbit/s every third packet, and nothing of a queue: 1 Mbit/s passes.
  @Test func `what a policer drops is not carried`() throws {
    var line = Line(rate: 10e6)
    let entries = line.entries(300, sentAt: 1.5e6) { $0 % 3 == 2 }
    let fit = try #require(
      BandwidthFit(entries, base: 31e6, calm: (0, 500), longest: 40e6))
    #expect(fit.isBusy && abs(fit.rate / 1e6 - 1) < 0.02)
    #expect(abs(fit.rate / 1e6 - 1) <= fit.error)
  }

  @Test func `what chance may have lost of a fast line was carried`() throws {
    var line = Line(rate: 10e6)
    var dice = RandomSource(seed: 5)
    let entries = line.entries(300, sentAt: 2e6) { _ in dice.next() % 5 == 0 }
    let fit = try #require(
      BandwidthFit(entries, base: 31e6, calm: (100, 500), longest: 40e6))
    #expect(!fit.isBusy && abs(fit.rate / 2e6 - 1) < 0.01)
  }
}

@Suite struct LoadControlTests {
  @Test func `it goes up while no queue shows, and down when one does`() {
    let now = Instant(nanoseconds: 1_000_000_000)
    var control = LoadControl(
      centre: 1e6, ceiling: 5e6, base: 31e6, loss: 0, full: 300e6, opening: 1.02, now: now)
    var fast = Line(rate: 10e6)
    let free = fast.entries(60, sentAt: 1e6)
    control.update(free[...], roundTrip: 60e6, now: now + .milliseconds(500))
    #expect(control.rate > 1.05e6 && control.rate <= 5e6)
    let before = control.rate
    var slow = Line(rate: 0.8e6)
    let full = slow.entries(120, sentAt: 1.1e6)
    control.update(full[...], roundTrip: 60e6, now: now + .milliseconds(1000))
    #expect(control.rate < before && control.rate < 0.8e6, "the queue must drain")
  }
}

@Suite struct TrainPacerTests {
  @Test func `a late timer is made up for by three packets at most`() {
    var pacer = TrainPacer()
    let start = Instant(nanoseconds: 0)
    pacer.start(rate: 1_228_000 * 8, payloadByteCount: 1200, overhead: 28, count: 1000, now: start)
    var sent = 0
    var now = start + .milliseconds(100)  // Two packets a millisecond would have been due.
    while pacer.isDue(now: now) {
      _ = pacer.countSent(now: now)
      sent += 1
    }
    #expect(sent <= 4)
    now = now + .milliseconds(100)
    #expect(pacer.isDue(now: now) && pacer.remaining == 1000 - sent)
  }
}

@Suite struct ArrivalTableTests {
  private func report(_ table: inout ArrivalTable, from: UInt32 = 0) -> [UInt32?] {
    var bytes: [UInt8] = []
    bytes.append(addingCapacity: 1200) { output in
      table.writeReport(
        run: 1, from: from, isAskedFor: false, sentCount: 0, room: 1100, into: &output)
    }
    var reader = FrameReader(bytes.span)
    guard case .probeReport(let report) = try? reader.next() else { return [] }
    var arrivals = report.arrivals(in: bytes.span)
    var ticks: [UInt32?] = []
    while let arrival = arrivals.next() { ticks.append(arrival.ticks) }
    return ticks
  }

  @Test func `what came is reported, in whatever order it came`() {
    var table = ArrivalTable()
    for (sequence, time) in [(0, 10), (2, 11), (1, 12), (5, 20), (5, 21)] as [(UInt32, Int64)] {
      table.record(sequence, ecn: 0, at: Instant.zero + .milliseconds(16 * time))
    }
    #expect(table.end == 6 && table.receivedCount == 4)
    #expect(report(&table) == [10_000, 12_000, 11_000, nil, nil, 20_000])
  }

  @Test func `what lies before a gap of a second is left out of what is newest`() {
    var table = ArrivalTable()
    table.record(0, ecn: 0, at: Instant.zero + .seconds(1))
    table.record(1, ecn: 0, at: Instant.zero + .seconds(3))
    #expect(report(&table).count == 1)
  }

  @Test func `numbers far out of reach are nothing`() {
    var table = ArrivalTable()
    table.record(1_000_000, ecn: 0, at: .zero)
    #expect(table.end == 0)
  }
}

@Suite struct TimelineTests {
  @Test func `each tenth of a second has its rate, loss and delay`() {
    var side = ProbeSide(.uplink, plan: ProbePlan())
    for index in 0..<20 {
      side.packets.append(
        TestPackets.Entry(
          sent: Int64(index) * 10_000_000,
          arrival: index % 10 == 0 ? .min : Int64(index) * 10_000_000 + 5_000_000,
          byteCount: 125, part: .idle, train: 0))
    }
    let points = Timeline.points(
      up: side, down: ProbeSide(.downlink, plan: ProbePlan()), began: .zero)
    #expect(points.map(\.sent) == [10, 10] && points.map(\.lost) == [1, 1])
    #expect(points.allSatisfy { $0.sentRate == 100_000 && $0.addedDelayMs == 0 })
  }
}
