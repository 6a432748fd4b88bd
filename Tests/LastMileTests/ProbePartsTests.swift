import Primitives
import Testing
import Wire

@testable import LastMile

/// Each part of a prober alone.
@Suite struct ProbePartsTests {
  private let start = Instant(nanoseconds: 1_000_000_000)

  @Test func `round trips of the idle line count, and the latest of any`() {
    var trips = EchoTrips()
    #expect(trips.roundTrip == .milliseconds(300), "before the first answer")
    trips.append(40_000_000, isIdle: true)
    trips.append(60_000_000, isIdle: true)
    trips.append(900_000_000, isIdle: false)
    #expect(trips.idle == [40_000_000, 60_000_000] && trips.latest == 900_000_000)
    #expect(trips.roundTrip == .milliseconds(60), "the longest of the idle ones")
  }

  @Test func `echoes take a third of a slow line, and make up for one at most`() throws {
    var pace = EchoPace(byteCount: 100, rate: 24_000)
    #expect(pace.nextDeadline == nil && !pace.isDue(now: start))
    pace.start(at: start)
    pace.advance(now: start)
    // 800 bits, three times: 100 ms at 24 kbit/s. Nothing is to be learnt from pairs.
    #expect(pace.nextDeadline == start + .milliseconds(100) && !pace.isSecondOfPair)
    let late = start + .seconds(1)
    pace.advance(now: late)
    #expect(pace.nextDeadline == late, "one that a late timer missed, and no more")
    pace.stop()
    #expect(!pace.isDue(now: late))
  }

  @Test(arguments: [(-9, 10), (0.5, 10), (4.0, 10), (9, 30), (22, 30)] as [(Double, Int64)])
  func `pairs of echoes that all come apart keep the pace of a narrow line`(
    apart: Double, pace: Int64
  ) {
    var echoes = EchoPace(byteCount: 112, rate: 2_500_000)
    echoes.start(at: start)
    for number in 0..<10 {
      let isSecond = echoes.isSecondOfPair
      echoes.advance(now: echoes.nextDeadline ?? start)
      // The last pair decides.
      let distance = number == 9 ? apart : 22
      let trip = 60_000_000 + (isSecond ? Int64(distance * 1e6) : 0)
      echoes.handleAnswer(to: number, isSecondOfPair: isSecond, trip: trip)
    }
    #expect(!echoes.isSecondOfPair && echoes.isSlow == (pace == 30))
    let from = echoes.nextDeadline ?? start
    echoes.advance(now: from)
    #expect(echoes.nextDeadline == from + .milliseconds(pace))
  }

  @Test func `bytes count against the limits of both sides`() {
    var bytes = ProbeBytes(overhead: 28, downlinkLimit: 1000)
    bytes.countSent(100)
    bytes.countReceived(300)
    bytes.limitDownlink(to: 600)
    bytes.limitDownlink(to: 900)
    #expect(bytes.sent == 128 && bytes.left(.downlink) == 300)
    #expect(bytes.left(.uplink) == Prober.byteBudget - 128 && !bytes.isSpent)
    for _ in 0..<2500 { bytes.countSent(1000) }
    #expect(bytes.isSpent)
  }

  @Test func `the schedule keeps when each phase ran`() {
    var schedule = ProbeSchedule(ProbePlan(), now: start)
    schedule.enter(.idle, now: start + .milliseconds(250))
    #expect(schedule.phase == .idle)
    #expect(schedule.spans == [PhaseSpan(phase: .asking, from: 0, to: 0.25)])
    #expect(schedule.deadline == start + .milliseconds(7900))
    let now = start + .seconds(2)
    schedule.beginSteady(seconds: 2, now: now)
    #expect(schedule.steadyEnds == now + .seconds(2))
    schedule.prolongSteady()
    #expect(schedule.steadyEnds == now + .milliseconds(2150))
    schedule.beginLoad(now: now)
    #expect(schedule.loadEnds == now + .milliseconds(2050), "2.2 s less what was added before")
  }

  @Test func `a request asks for what is missing, then says good-bye twice`() {
    var requests = ProbeRequests(now: start)
    let down = ProbeSide(.downlink, plan: ProbePlan())
    requests.handleReport(from: 0, to: 200)
    requests.handleReport(from: 500, to: 900)
    requests.handleReport(from: 880, to: 1000)
    #expect(requests.reportedThrough == 200, "a gap is asked for again")
    requests.askForReport()
    let first = requests.next(run: 7, byteBudget: 1000, down: down, phase: .ramp, isOver: false)
    #expect(first.number == 1 && first.wantsReport && first.reportedEnd == 136 && !first.isOver)
    requests.scheduleNext(in: .ramp, hasTrain: true, now: start)
    #expect(requests.due == start + .milliseconds(40))
    requests.handleReport(from: 150, to: 500)
    #expect(requests.reportedThrough == 1000, "what came before the gap was closed counts")
    let fast = ProbeSide.Train(
      id: 1, rate: 100_000_000, payloadByteCount: 1200, count: 0, part: .loaded, began: start,
      ends: start, first: 0)
    let second = requests.next(
      run: 7, byteBudget: 1000, down: down, up: fast, phase: .ramp, isOver: false)
    #expect(second.number == 2 && !second.wantsReport && second.reportedEnd == 936)
    #expect(first.reportInterval == 5 && second.reportInterval == 1, "each must have room")
    requests.scheduleNext(in: .finishing, hasTrain: false, sentCount: 9000, now: start)
    #expect(requests.due == start + .milliseconds(20), "more than one report must come")
    requests.beginFarewells(now: start)
    #expect(requests.farewells == 2 && requests.due == start)
    requests.countFarewell(now: start)
    #expect(requests.farewells == 1 && requests.due == start + .milliseconds(50))
  }

  @Test func `what was to be sent is compared with what was`() throws {
    var order = SendingOrder()
    order.begin(10_000_000, now: start)
    order.change(to: 20_000_000, now: start + .milliseconds(500))
    order.change(to: 20_000_000, now: start + .seconds(1))
    // 15 Mbit/s on average; 7.5 are a half.
    let entries = (0..<101).map { index in
      TestPackets.Entry(
        sent: Int64(index) * 1_000_000, byteCount: 938, part: .loaded, train: 1)
    }
    let share = try #require(order.share(of: entries))
    #expect(abs(share - 0.5) < 0.01)
    let none = order.share(of: Array(entries.prefix(20)))
    #expect(none == nil, "too few to say")
  }

  @Test func `a budget lasts for two seconds at what is expected, and 4 s at 5 Mbit per s`() {
    var plan = ProbePlan()
    // 5.75 Mbit/s for 2.5, which a reflector grants: half of what 2.5 MB reserved.
    #expect(plan.byteBudget(.uplink) == 1_437_500)
    plan.seconds = 30
    #expect(plan.byteBudget(.uplink) == 2_500_000)
    plan.seconds = 8
    plan.expectedUplink = 100_000_000
    #expect(plan.byteBudget(.uplink) == 26_250_000 && plan.isValid)
    plan.probesUplink = false
    #expect(plan.byteBudget(.uplink) == 1_312_500, "then it carries reports alone")
    plan.measuresBandwidth = false
    #expect(plan.byteBudget(.downlink) == 60_000)
    plan.expectedDownlink = 100_000_001
    #expect(!plan.isValid)
  }

  @Test func `a fast train makes up for two milliseconds, a slow one for three packets`() {
    for (rate, caught) in [(100_000_000, 21), (1_000_000, 4)] as [(UInt64, Int)] {
      var pacer = TrainPacer()
      pacer.start(rate: rate, payloadByteCount: 1172, overhead: 28, count: 10_000, now: start)
      _ = pacer.countSent(now: start)
      let late = start + .seconds(1)
      var count = 0
      while pacer.isDue(now: late) {
        _ = pacer.countSent(now: late)
        count += 1
      }
      #expect(count <= caught && count >= caught - 2, "\(rate)")
    }
  }

  @Test func `a packet of the report has its times by one clock`() {
    let up = [
      TestPackets.Entry(
        sent: 1_001_000_000, arrival: 9_020_000, byteCount: 100, part: .idle, train: 0),
      TestPackets.Entry(sent: 1_002_000_000, byteCount: 100, part: .loaded, train: 1),
    ]
    var came = TestPackets.Entry(
      sent: 7_000_000, arrival: 1_050_000_000, byteCount: 90, part: .steady, train: 2)
    came.ecn = 3
    let all = ProbedPacket.all(up: up, down: [came], began: start, roundTripMs: 40)
    #expect(all.map(\.sentUs) == [1000, 2000, 30_000])
    #expect(all.map(\.arrivedUs) == [21_000, nil, 50_000], "half of the least round trip each way")
    #expect(all.map(\.ecn) == [nil, nil, 3] && all.map(\.part) == ["idle", "loaded", "steady"])
    #expect(all.map(\.sequence) == [0, 1, 0] && all[2].direction == .downlink)
  }

  @Test func `the first grade is told once, within two seconds`() {
    var news = ProbeNews()
    #expect(news.poll() == .phaseBegan(.asking))
    let schedule = ProbeSchedule(ProbePlan(), now: start)
    var trips = EchoTrips()
    let none = news.isFirstGradeDue(schedule, trips: trips, now: start + .seconds(2))
    #expect(!none, "nothing is known")
    trips.append(40_000_000, isIdle: true)
    let early = news.isFirstGradeDue(schedule, trips: trips, now: start + .milliseconds(1800))
    let due = news.isFirstGradeDue(schedule, trips: trips, now: start + .milliseconds(1900))
    let again = news.isFirstGradeDue(schedule, trips: trips, now: start + .seconds(3))
    #expect(!early && due && !again)
  }

  @Test func `a train of the uplink is paced, one of the downlink only asked for`() {
    var trains = ProbeTrains()
    var line = LineMeasurement(ProbePlan(), path: PathFacts())
    trains.start(
      .ramp, rate: 1_000_000, payloadByteCount: 1000, count: 20, overhead: 28, side: &line.down,
      now: start)
    #expect(line.down.train?.id == 1 && trains.pacer.remaining == 0)
    trains.start(
      .ramp, rate: 1_000_000, payloadByteCount: 1000, count: 20, overhead: 28, side: &line.up,
      now: start)
    #expect(line.up.train?.id == 2 && trains.pacer.remaining == 20)
    _ = trains.countSent(now: start)
    #expect(trains.pacer.nextDeadline == start + .microseconds(8224))
    trains.stop(&line)
    #expect(line.up.train == nil && line.down.train == nil && trains.pacer.remaining == 0)
  }

  @Test func `times of the other end go on where 32 bits begin anew`() {
    var clocks = OtherClocks()
    let first = clocks.sending.unwrap(.max)
    let second = clocks.sending.unwrap(4)
    let late = clocks.sending.unwrap(.max - 9)
    #expect(second - first == 5_000 && late - second == -14_000, "ticks are microseconds")
  }

  @Test func `losses in a row are one burst`() {
    var count = LossCount()
    for isLost in [false, true, true, false, true, false, false, false] {
      count.add(
        TestPackets.Entry(
          sent: 0, arrival: isLost ? .min : 1, byteCount: 100, part: .steady, train: 1))
    }
    #expect(count.meanBurst == 1.5)
    #expect(count.estimate == ShareEstimate(hits: 3, of: 8))
  }
}

/// Each part of a reflector's run alone.
@Suite struct ReflectorPartsTests {
  private let start = Instant(nanoseconds: 1_000_000_000)

  private func request(rate: UInt32, received: UInt32 = 0) -> ProbeRequestFrame {
    var request = ProbeRequestFrame(
      run: 1, number: 1, payloadByteCount: 1000, byteBudget: 100_000)
    request.rate = rate
    request.train = 1
    request.trainLimit = .max
    request.receivedCount = received
    return request
  }

  @Test func `a train doubles only when arrivals are named, and lapses to the first rate`() {
    let limits = ReflectorLimits()
    var train = GrantedTrain(limits)
    func steer(_ received: UInt32, sent: UInt32) {
      train.steer(
        request(rate: 5_000_000, received: received), sentCount: sent, limits: limits,
        overhead: 28, now: start)
    }
    steer(0, sent: 0)
    #expect(train.pacer.rate == UInt64(limits.firstRate))
    steer(7, sent: 20)
    #expect(train.pacer.rate == UInt64(limits.firstRate), "seven could be chance")
    steer(8, sent: 20)
    #expect(train.pacer.rate == 2 * UInt64(limits.firstRate))
    steer(1000, sent: 10)
    #expect(train.pacer.rate == 2 * UInt64(limits.firstRate), "no more than were sent")
    train.lapse(limits)
    #expect(train.pacer.remaining == 0)
  }

  @Test func `a report is due after its interval, or when asked for`() {
    var reports = ArrivalReports()
    reports.setInterval(5)
    #expect(reports.deadline == nil && !reports.isDue(now: start))
    reports.record(0, ecn: 0, at: start)
    #expect(reports.deadline == start + .milliseconds(50))
    #expect(!reports.isDue(now: start + .milliseconds(49)))
    #expect(reports.isDue(now: start + .milliseconds(50)))
    reports.setInterval(0)
    #expect(reports.deadline == nil)
    var asking = request(rate: 0)
    asking.wantsReport = true
    reports.handle(asking)
    #expect(reports.isAskedFor && reports.isDue(now: start))
  }
}
