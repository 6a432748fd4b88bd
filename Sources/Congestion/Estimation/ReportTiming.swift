import Primitives

/// When reports come, and when none does.
package struct ReportTiming: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// First value of the interval, µs. Tuned.
    package var firstInterval = 25_000.0
    /// Weight of one report in the interval, 0 to 1. Tuned.
    package var intervalWeight = 0.125
    /// A pause counts for no more than this in the interval, µs. Tuned.
    package var mostInterval = 300_000.0
    /// Time without a report, beside a cycle, after which the path is silent, µs. Tuned.
    package var silence = 600_000.0
    /// A pause from which what was before it is tried again, × `silence`. Tuned.
    package var pauseShare = 0.5
    /// How long it is tried, × cycle: one round trip and one report.
    package var resumption = 1.0
    /// The longest that it is tried, µs. Tuned.
    package var longestResumption = 300_000.0
    /// A report counts for no more time than this, µs. Tuned.
    package var mostElapsed = 200_000.0
    /// A report has been heard lately for so long. Tuned.
    package var hearing = Duration.seconds(1)

    package init() {}
  }

  let constants: Constants
  /// Between reports, smoothed, in microseconds.
  private(set) var interval: Double
  private var last: Instant?
  /// When last nothing was under way.
  private var lastIdle: Instant?
  /// After a pause what was before it is tried until then.
  private var resumption = Instant.zero
  /// As of the last report.
  private(set) var isResuming = false

  init(_ constants: Constants = Constants()) {
    self.constants = constants
    interval = constants.firstInterval
  }

  /// Since the last report, µs.
  func elapsed(now: Instant) -> Double {
    last.map { Double(now.nanoseconds(since: $0)) / 1_000 } ?? interval
  }

  /// Whether so long without a report says nothing of whose the queue is.
  func isPause(_ elapsed: Double) -> Bool { elapsed > constants.silence * constants.pauseShare }

  /// What was before a pause is tried for a cycle (µs).
  mutating func resume(cycle: Double, now: Instant) {
    let span = min(cycle * constants.resumption, constants.longestResumption)
    resumption = now + .microseconds(Int64(span))
  }

  mutating func handleReport(elapsed: Double, now: Instant) {
    let sample = min(elapsed, constants.mostInterval)
    interval += (sample - interval) * constants.intervalWeight
    last = now
    isResuming = now < resumption
  }

  /// Whether the path is silent.
  ///
  /// - Parameter cycle: Of feedback, µs.
  mutating func isSilent(bytesInFlight: Int, cycle: Double, now: Instant) -> Bool {
    let idle = bytesInFlight == 0 ? now : lastIdle ?? now
    lastIdle = idle
    let since = max(last ?? .zero, idle)
    return Double(now.nanoseconds(since: since)) / 1_000 > constants.silence + cycle
  }

  /// Whether a report has come lately; also before the first one.
  func isHeard(now: Instant) -> Bool { last.map { now - $0 < constants.hearing } ?? true }
}
