import Primitives

/// What a probe tells its owner, and when: phases, the first grade, progress, the end.
struct ProbeNews: Sendable {
  private var events: [ProbeProgress] = [.phaseBegan(.asking)]
  private var nextProgress = Instant.zero
  private var hasToldFirstGrade = false

  mutating func append(_ event: ProbeProgress) { events.append(event) }

  mutating func poll() -> ProbeProgress? { events.isEmpty ? nil : events.removeFirst() }

  /// Whether the first grade is to be told now; it is told once.
  ///
  /// - Parameter trips: Round trips so far.
  mutating func isFirstGradeDue(
    _ schedule: ProbeSchedule, trips: EchoTrips, now: Instant
  ) -> Bool {
    guard !hasToldFirstGrade else { return false }
    let isLate = now >= schedule.began + Self.firstGradeLimit
    let isMeasured: Bool
    switch schedule.phase {
    case .asking, .idle: isMeasured = false
    case .ramp, .steady, .loadedDownlink, .loadedUplink, .loadedBoth, .finishing:
      isMeasured = isLate || schedule.hasLasted(trips.roundTrip + .milliseconds(60), now: now)
    }
    guard isMeasured || (isLate && !trips.isEmpty) else { return false }
    hasToldFirstGrade = true
    return true
  }

  /// Tells about ten times a second how much of the time is over.
  mutating func tellProgress(
    seconds: Double, latestRoundTrip: Int64?, of plan: ProbePlan, now: Instant
  ) {
    guard now >= nextProgress else { return }
    nextProgress = now + .milliseconds(100)
    events.append(
      .progressed(
        share: min(1, seconds / plan.seconds),
        latestRoundTripMs: latestRoundTrip.map { Double($0) / 1e6 }))
  }

  private static let firstGradeLimit = Duration.milliseconds(1900)
}
