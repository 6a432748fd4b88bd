package import Primitives
package import Wire

/// Measures the line to the other end of a session (docs/protocol/probe.md). Its owner seals what
/// it writes and hands it what comes.
package struct Prober: Sendable {
  package let run: UInt32
  /// Why it ended; `nil` while it runs.
  package private(set) var ending: LineReport.Ending?
  var schedule: ProbeSchedule
  var line: LineMeasurement
  var trains = ProbeTrains()
  var requests: ProbeRequests
  var echoes: EchoPace
  var bytes: ProbeBytes
  private var news = ProbeNews()
  private var clocks = OtherClocks()
  private var lastHeard: Instant
  private var nextTick: Instant

  /// - Parameters:
  ///   - run: Random, not 0.
  ///   - overhead: IP and UDP headers of a packet: 28 or 48 bytes.
  package init(_ plan: ProbePlan, run: UInt32, overhead: Int, path: PathFacts, now: Instant) {
    self.run = max(1, run)
    schedule = ProbeSchedule(plan, now: now)
    line = LineMeasurement(plan, path: path)
    requests = ProbeRequests(now: now)
    echoes = EchoPace(
      byteCount: Self.echoByteCount + overhead,
      rate: Double(min(plan.expectedUplink, plan.expectedDownlink)))
    bytes = ProbeBytes(
      overhead: overhead, uplinkLimit: max(Self.byteBudget, plan.byteBudget(.uplink)),
      downlinkLimit: plan.byteBudget(.downlink))
    lastHeard = now
    nextTick = now
  }

  // MARK: - Inputs

  package mutating func handle(_ answer: ProbeAnswerFrame, now: Instant) {
    guard answer.run == run, ending == nil else { return }
    lastHeard = now
    switch answer.status {
    case .accepted:
      bytes.limitDownlink(to: Int(answer.byteLimit))
      line.down.limit(to: Double(answer.rateLimit) / ProbeSide.loadShare)
      if phase == .asking { enter(.idle, now: now) }
    case .busy: finish(.busy, now: now)
    case .notAllowed: finish(.notAllowed, now: now)
    case .callInProgress: finish(.callInProgress, now: now)
    case .budgetSpent: finish(.budgetSpent, now: now)
    case .over: finish(.sessionLost, now: now)
    }
  }

  /// - Parameters:
  ///   - byteCount: Of the IP packet.
  ///   - ecn: Of its header (RFC 3168 §5).
  package mutating func handle(
    _ packet: ProbePacketFrame, byteCount: Int, ecn: UInt8, now: Instant
  ) {
    guard packet.run == run, ending == nil else { return }
    lastHeard = now
    let part = packet.train == 0 ? part(ofEcho: packet) : line.down.parts[packet.train] ?? .ramp
    line.down.appendArrival(
      packet.sequence,
      TestPackets.Entry(
        sent: clocks.sending.unwrap(packet.sent), arrival: Int64(clamping: now.nanoseconds),
        byteCount: UInt16(clamping: byteCount), part: part, train: packet.train),
      ecn: ecn, now: now)
    if packet.isEcho { appendRoundTrip(packet, now: now) }
    if phase == .asking { enter(.idle, now: now) }
  }

  /// The answer to the second echo of a pair waits for the first one's, as its echo does.
  private func part(ofEcho packet: ProbePacketFrame) -> TestPackets.Part {
    let index = Int(packet.answered)
    guard packet.isEcho, index < line.up.packets.entries.count,
      line.up.packets.entries[index].part == .ramp
    else { return echoPart }
    return .ramp
  }

  private mutating func appendRoundTrip(_ packet: ProbePacketFrame, now: Instant) {
    let index = Int(packet.answered)
    guard index < line.up.packets.entries.count else { return }
    let entry = line.up.packets.entries[index]
    let trip = Int64(clamping: now.nanoseconds) - entry.sent - Int64(packet.delay) * 1000
    guard trip >= 0 else { return }
    let isIdle =
      entry.part == .idle && (phase == .idle || phase == .finishing || phase == .ramp)
    line.trips.append(trip, isIdle: isIdle)
    echoes.handleAnswer(
      to: index, isSecondOfPair: phase == .idle && entry.part == .ramp, trip: trip)
  }

  /// `packet` is what the report was read from.
  package mutating func handle(
    _ report: ProbeReportFrame, in packet: Span<UInt8>, now: Instant
  ) {
    guard report.run == run, ending == nil else { return }
    lastHeard = now
    line.up.packets.raiseCounts(to: report)
    if phase == .finishing { line.down.packets.noteSentCount(report.sentCount) }
    var end = report.first
    var arrivals = report.arrivals(in: packet)
    while let arrival = arrivals.next() {
      end = arrival.sequence &+ 1
      guard let ticks = arrival.ticks else { continue }
      line.up.confirmArrival(arrival.sequence, at: clocks.arrival.unwrap(ticks), now: now)
    }
    requests.handleReport(from: report.first, to: end)
  }

  /// Bytes of an IP packet that carried any of the probe's frames.
  package mutating func noteReceived(byteCount: Int) { bytes.countReceived(byteCount) }

  package mutating func handleTimeout(now: Instant) {
    guard ending == nil, now >= nextTick else { return }
    nextTick = now + Self.tick
    advance(now: now)
    guard ending == nil else { return }
    if news.isFirstGradeDue(schedule, trips: line.trips, now: now) {
      news.append(.firstGrade(makeReport(.underWay, now: now)))
    }
    news.tellProgress(
      seconds: Double(now.nanoseconds(since: schedule.began)) / 1e9,
      latestRoundTrip: line.trips.latest, of: plan, now: now)
  }

  // MARK: - Commands

  /// Stops; the result so far comes as the last event.
  package mutating func cancel(now: Instant) { finish(.cancelled, now: now) }

  /// Ends because something outside the probe did.
  package mutating func end(_ reason: LineReport.Ending, now: Instant) { finish(reason, now: now) }

  // MARK: - Outputs

  package mutating func pollEvent() -> ProbeProgress? { news.poll() }

  /// Whether the last event is out and the other end was told.
  package var isOver: Bool { ending != nil && requests.farewells == 0 }

  package var nextDeadline: Instant? {
    if ending != nil { return requests.farewells > 0 ? requests.due : nil }
    let next = earliest(nextTick, trains.pacer.nextDeadline ?? requests.due)
    return earliest(next, echoes.nextDeadline)
  }

  // MARK: - Getters

  package var plan: ProbePlan { line.plan }
  package var phase: ProbePhase { schedule.phase }

  /// What small packets count as, now.
  var echoPart: TestPackets.Part {
    switch phase {
    case .asking, .idle: .idle
    case .finishing: plan.measuresBandwidth ? .last : .idle
    case .ramp: .ramp
    // The other direction's load does not touch them; their own train's does.
    case .steady, .loadedDownlink, .loadedUplink, .loadedBoth: .ramp
    }
  }

  // MARK: - From phase to phase

  private mutating func advance(now: Instant) {
    if now >= schedule.deadline {
      return finish(line.trips.isEmpty ? .noAnswer : .finished, now: now)
    }
    if now >= lastHeard + .seconds(2) { return finish(.noAnswer, now: now) }
    advancePhase(now: now)
  }

  mutating func enter(_ next: ProbePhase, now: Instant) {
    schedule.enter(next, now: now)
    news.append(.phaseBegan(next))
    requests.hasten(now: now)
    nextTick = now
    beginPhase(now: now)
  }

  mutating func finish(_ reason: LineReport.Ending, now: Instant) {
    guard ending == nil else { return }
    schedule.closePhase(now: now)
    trains.stop(&line)
    echoes.stop()
    ending = reason
    news.append(.finished(makeReport(reason, now: now)))
    requests.beginFarewells(now: now)
  }

  private func makeReport(_ reason: LineReport.Ending, now: Instant) -> LineReport {
    line.makeReport(reason, schedule: schedule, bytes: bytes, now: now)
  }

  // MARK: - Constants

  /// The most that one side may send in a probe of up to 5 Mbit/s, in bytes of IP packets.
  package static let byteBudget = 2_500_000
  /// bit/s.
  static let usualRate = 5_000_000
  /// The same without bandwidth.
  package static let smallByteBudget = 60_000
  private static let tick = Duration.milliseconds(20)
  /// UDP payload of an echo, with room for a request beside it.
  static let echoByteCount = 84
}
