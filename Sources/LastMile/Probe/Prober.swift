package import Primitives
package import Wire

/// Measures the line to the other end of a session (docs/protocol/probe.md). Its owner seals what
/// it writes and hands it what comes.
package struct Prober: Sendable {
  package let plan: ProbePlan
  package let run: UInt32
  /// IP and UDP headers of a packet, in bytes.
  let overhead: Int
  let began: Instant
  package internal(set) var phase = ProbePhase.asking
  var phaseBegan: Instant
  var phases: [PhaseSpan] = []
  var path: PathFacts
  var events: [ProbeProgress] = []
  /// Why it ended; `nil` while it runs.
  package internal(set) var ending: LineReport.Ending?

  var up: ProbeSide
  var down: ProbeSide
  /// Round trips of echoes on the idle line, in ns; and the last one.
  var roundTrips: [Int64] = []
  var latestRoundTrip: Int64?
  var echoesSent = 0
  var lateness: [Int64] = []

  var pacer = TrainPacer()
  var nextEcho: Instant?
  var echoInterval: Duration
  var requestNumber: UInt32 = 0
  var nextRequest: Instant
  var lastHeard: Instant
  var nextTick: Instant
  var wantsReport = false
  var nextTrain: UInt8 = 0
  var reportedEnd: UInt32 = 0
  var hasToldFirstGrade = false
  var steadyEnds = Instant.zero
  var loadEnds = Instant.zero
  /// What the loaded parts take, each.
  var loadTime = Duration.zero
  /// Times of the other end, unwrapped.
  var sentClock = WrappingClock(nanosecondsPerTick: 1000)
  var arrivalClock = WrappingClock(
    nanosecondsPerTick: Int64(ProbeReportFrame.nanosecondsPerTick))

  var bytesSent = 0
  var bytesReceived = 0
  var byteLimitDown: Int

  /// - Parameters:
  ///   - run: Random, not 0.
  ///   - overhead: IP and UDP headers of a packet: 28 or 48 bytes.
  package init(_ plan: ProbePlan, run: UInt32, overhead: Int, path: PathFacts, now: Instant) {
    self.plan = plan
    self.run = max(1, run)
    self.overhead = overhead
    self.path = path
    began = now
    phaseBegan = now
    up = ProbeSide(.uplink, plan: plan)
    down = ProbeSide(.downlink, plan: plan)
    nextRequest = now
    lastHeard = now
    nextTick = now
    byteLimitDown = plan.measuresBandwidth ? Self.byteBudget : Self.smallByteBudget
    let least = Double(min(plan.expectedUplink, plan.expectedDownlink))
    let echoBits = Double(Self.echoByteCount + overhead) * 8
    echoInterval = .nanoseconds(Int64(max(10e6, echoBits * 3e9 / least)))
    events.append(.phaseBegan(.asking))
  }

  // MARK: - Inputs

  package mutating func handle(_ answer: ProbeAnswerFrame, now: Instant) {
    guard answer.run == run, ending == nil else { return }
    lastHeard = now
    switch answer.status {
    case .accepted:
      byteLimitDown = min(byteLimitDown, Int(answer.byteLimit))
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
    if packet.train == down.train?.id { down.lastNews = now }
    if ecn == ECNField.congestionExperienced { down.packets.marked += 1 }
    if ecn == ECNField.notCapable { down.packets.bleached += 1 }
    let sent = sentClock.unwrap(packet.sent)
    let part = packet.train == 0 ? echoPart : down.parts[packet.train] ?? .ramp
    down.packets.noteReceived(
      packet.sequence,
      TestPackets.Entry(
        sent: sent, arrival: Int64(clamping: now.nanoseconds),
        byteCount: UInt16(clamping: byteCount),
        part: part, train: packet.train))
    if packet.isEcho { takeRoundTrip(packet, now: now) }
    if phase == .asking { enter(.idle, now: now) }
  }

  private mutating func takeRoundTrip(_ packet: ProbePacketFrame, now: Instant) {
    let index = Int(packet.answered)
    guard index < up.packets.entries.count else { return }
    let entry = up.packets.entries[index]
    let trip = Int64(clamping: now.nanoseconds) - entry.sent - Int64(packet.delay) * 1000
    guard trip >= 0 else { return }
    latestRoundTrip = trip
    if entry.part == .idle, phase == .idle || phase == .finishing || phase == .ramp {
      roundTrips.append(trip)
    }
  }

  /// `packet` is what the report was read from.
  package mutating func handle(
    _ report: ProbeReportFrame, in packet: Span<UInt8>, now: Instant
  ) {
    guard report.run == run, ending == nil else { return }
    lastHeard = now
    up.packets.duplicated = max(up.packets.duplicated, Int(report.duplicateCount))
    up.packets.reordered = max(up.packets.reordered, Int(report.reorderedCount))
    up.packets.marked = max(up.packets.marked, Int(report.markedCount))
    up.packets.bleached = max(up.packets.bleached, Int(report.bleachedCount))
    if phase == .finishing { down.packets.noteSentCount(report.sentCount) }
    var end = report.first
    var arrivals = report.arrivals(in: packet)
    while let arrival = arrivals.next() {
      end = arrival.sequence &+ 1
      guard let ticks = arrival.ticks else { continue }
      let isNew = up.packets.noteArrival(arrival.sequence, at: arrivalClock.unwrap(ticks))
      if isNew == up.train?.id { up.lastNews = now }
    }
    // What was reported may yet be completed by packets that were held up.
    if report.first <= reportedThrough, end > reportedThrough {
      reportedThrough = end
      reportedEnd = max(reportedEnd, end - min(end, Self.heldBack))
    }
  }

  var nextProgress = Instant.zero
  /// Every number before it was reported at least once.
  var reportedThrough: UInt32 = 0

  /// Bytes of an IP packet that carried any of the probe's frames.
  package mutating func noteReceived(byteCount: Int) { bytesReceived += byteCount }

  package mutating func handleTimeout(now: Instant) {
    guard ending == nil else { return }
    guard now >= nextTick else { return }
    nextTick = now + Self.tick
    advance(now: now)
  }

  // MARK: - Commands

  /// Stops; the result so far comes as the last event.
  package mutating func cancel(now: Instant) { finish(.cancelled, now: now) }

  /// Ends because something outside the probe did.
  package mutating func end(_ reason: LineReport.Ending, now: Instant) { finish(reason, now: now) }

  // MARK: - Outputs

  package mutating func pollEvent() -> ProbeProgress? {
    events.isEmpty ? nil : events.removeFirst()
  }

  /// Whether the last event is out and the other end was told.
  package var isOver: Bool { ending != nil && farewells == 0 }
  /// How often the other end is still to be told that the run is over.
  var farewells = 0

  package var nextDeadline: Instant? {
    if ending != nil { return farewells > 0 ? nextRequest : nil }
    let next = earliest(nextTick, pacer.nextDeadline ?? nextRequest)
    return earliest(next, nextEcho)
  }

  /// The probe's deadline, with time to reckon.
  var deadline: Instant { began + .nanoseconds(Int64(plan.seconds * 1e9)) - Self.reckoning }

  /// The most that one side may send in a probe, in bytes of IP packets.
  package static let byteBudget = 2_500_000
  /// The same without bandwidth.
  package static let smallByteBudget = 60_000
  static let tick = Duration.milliseconds(20)
  private static let reckoning = Duration.milliseconds(100)
  /// UDP payload of an echo, with room for a request beside it.
  static let echoByteCount = 84
  static let heldBack: UInt32 = 64
}

/// Unwraps 32-bit times of the other end.
struct WrappingClock: Sendable {
  private let nanosecondsPerTick: Int64
  private var last: Int64?

  init(nanosecondsPerTick: Int64) { self.nanosecondsPerTick = nanosecondsPerTick }

  /// Nanoseconds of the other end's clock; never more than half the range from the last.
  mutating func unwrap(_ ticks: UInt32) -> Int64 {
    var unwrapped = Int64(ticks)
    if let last {
      let step = Int32(bitPattern: ticks &- UInt32(truncatingIfNeeded: last))
      unwrapped = last &+ Int64(step)
    }
    last = unwrapped
    return unwrapped &* nanosecondsPerTick
  }
}
