import Primitives
import Wire

/// What the prober asks of the other end: numbered requests, repeated while it wants something, and
/// farewells at the end (docs/protocol/probe.md §2).
struct ProbeRequests: Sendable, BitwiseCopyable {
  private var number: UInt32 = 0
  private(set) var due: Instant
  /// The next one asks for a report by name.
  private var wantsReport = false
  /// Every number before it was reported at least once.
  private(set) var reportedThrough: UInt32 = 0
  /// Every number before it need not be reported again.
  private var reportedEnd: UInt32 = 0
  /// How often the other end is still to be told that the run is over.
  private(set) var farewells = 0

  init(now: Instant) { due = now }

  // MARK: - Inputs

  /// A report about the numbers from `first` to before `end` came.
  mutating func handleReport(from first: UInt32, to end: UInt32) {
    guard first <= reportedThrough, end > reportedThrough else { return }
    reportedThrough = end
    // What was reported may yet be completed by packets that were held up.
    reportedEnd = max(reportedEnd, end - min(end, Self.heldBack))
  }

  // MARK: - Commands

  mutating func askForReport() { wantsReport = true }

  /// Something new is wanted: the next one is due now.
  mutating func hasten(now: Instant) { due = now }

  /// The run is over: all that is left are farewells.
  mutating func beginFarewells(now: Instant) {
    farewells = 2
    due = now
  }

  mutating func countFarewell(now: Instant) {
    farewells -= 1
    due = now + .milliseconds(50)
  }

  /// The request after this one.
  mutating func scheduleNext(in phase: ProbePhase, hasTrain: Bool, now: Instant) {
    wantsReport = false
    due = now + Self.interval(in: phase, hasTrain: hasTrain)
  }

  // MARK: - Outputs

  /// - Parameters:
  ///   - byteBudget: The most that the other end may send in the run.
  ///   - phase: Of the probe; the last one once it is over.
  mutating func next(
    run: UInt32, byteBudget: Int, down: ProbeSide, phase: ProbePhase, isOver: Bool
  ) -> ProbeRequestFrame {
    number += 1
    let train = down.train
    var request = ProbeRequestFrame(
      run: run, number: number,
      payloadByteCount: UInt16(clamping: train?.payloadByteCount ?? Prober.echoByteCount),
      byteBudget: UInt32(clamping: byteBudget))
    request.isOver = isOver
    request.wantsReport = wantsReport || (phase == .finishing && !isOver)
    if let train {
      request.rate = UInt32(clamping: Int(train.rate))
      request.train = train.id
      request.trainLimit = UInt16(clamping: train.count)
    }
    request.receivedEnd = UInt32(clamping: down.packets.entries.count)
    request.receivedCount = UInt32(clamping: down.packets.receivedCount)
    request.reportedEnd = reportedEnd
    request.reportInterval = Self.reportInterval(in: phase)
    return request
  }

  private static func interval(in phase: ProbePhase, hasTrain: Bool) -> Duration {
    switch phase {
    case .asking: .milliseconds(100)
    case .finishing: .milliseconds(60)
    case .idle, .ramp, .steady, .loadedDownlink, .loadedUplink, .loadedBoth:
      .milliseconds(hasTrain ? 40 : 200)
    }
  }

  /// In 10 ms. Reports must not load the line that they are not about.
  private static func reportInterval(in phase: ProbePhase) -> UInt8 {
    switch phase {
    case .asking, .idle, .ramp, .loadedUplink, .loadedBoth: 5
    case .steady: 25
    case .loadedDownlink, .finishing: 0
    }
  }

  private static let heldBack: UInt32 = 64
}
