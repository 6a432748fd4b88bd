import Primitives
import Wire

/// What the prober asks of the other end: numbered requests, repeated while it wants something, and
/// farewells at the end (docs/protocol/probe.md §2).
struct ProbeRequests: Sendable {
  private var number: UInt32 = 0
  private(set) var due: Instant
  /// The next one asks for a report by name.
  private var wantsReport = false
  /// Every number before it was reported at least once.
  private(set) var reportedThrough: UInt32 = 0
  /// Reported as well, with numbers before them that were not: in order, apart from each other.
  private var later: [Range<UInt32>] = []
  /// Every number before it need not be reported again.
  private var reportedEnd: UInt32 = 0
  /// How often the other end is still to be told that the run is over.
  private(set) var farewells = 0

  init(now: Instant) { due = now }

  // MARK: - Inputs

  /// A report about the numbers from `first` to before `end` came.
  mutating func handleReport(from first: UInt32, to end: UInt32) {
    guard end > first, end > reportedThrough else { return }
    guard first <= reportedThrough else { return keep(first..<end) }
    reportedThrough = end
    while let next = later.first, next.lowerBound <= reportedThrough {
      reportedThrough = max(reportedThrough, next.upperBound)
      later.removeFirst()
    }
    // What was reported may yet be completed by packets that were held up.
    reportedEnd = max(reportedEnd, reportedThrough - min(reportedThrough, Self.heldBack))
  }

  /// A report of the newest numbers came, and those before are yet to be asked for.
  private mutating func keep(_ range: Range<UInt32>) {
    if let last = later.last, range.lowerBound <= last.upperBound,
      range.upperBound > last.lowerBound
    {
      later[later.count - 1] =
        min(last.lowerBound, range.lowerBound)..<max(last.upperBound, range.upperBound)
    } else if range.lowerBound > later.last?.upperBound ?? 0, later.count < Self.mostLater {
      later.append(range)
    }
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
  ///
  /// - Parameter sentCount: Packets that this side has sent.
  mutating func scheduleNext(
    in phase: ProbePhase, hasTrain: Bool, sentCount: Int = 0, now: Instant
  ) {
    wantsReport = false
    let open = sentCount - Int(reportedThrough)
    due = now + Self.interval(in: phase, hasTrain: hasTrain, open: open)
  }

  // MARK: - Outputs

  /// - Parameters:
  ///   - byteBudget: The most that the other end may send in the run.
  ///   - up: The uplink's train.
  ///   - phase: Of the probe; the last one once it is over.
  ///   - isNarrow: The echoes have not shown more of the line yet.
  mutating func next(
    run: UInt32, byteBudget: Int, down: ProbeSide, up: ProbeSide.Train? = nil, phase: ProbePhase,
    isNarrow: Bool = false, isOver: Bool
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
    request.reportInterval = Self.reportInterval(in: phase, up: up, isNarrow: isNarrow)
    return request
  }

  private static func interval(
    in phase: ProbePhase, hasTrain: Bool, open: Int
  ) -> Duration {
    switch phase {
    case .asking: .milliseconds(100)
    // Where one report cannot say all, the next is asked for sooner.
    case .finishing: .milliseconds(open > ProbeReportFrame.maximumCount ? 20 : 60)
    case .idle, .ramp, .steady, .loadedDownlink, .loadedUplink, .loadedBoth:
      .milliseconds(hasTrain ? 40 : 200)
    }
  }

  /// In 10 ms. Reports must not load the line that they are not about.
  /// But each must have room for what came since the last one.
  private static func reportInterval(
    in phase: ProbePhase, up: ProbeSide.Train?, isNarrow: Bool
  ) -> UInt8 {
    let usual: UInt8 =
      switch phase {
      // On a narrow line reports would be as much as the echoes.
      case .idle: isNarrow ? 20 : 5
      case .asking, .ramp, .loadedUplink, .loadedBoth: 5
      case .steady: 25
      case .loadedDownlink, .finishing: 0
      }
    guard usual > 0, let up, up.rate > 0 else { return usual }
    let packetsPerTen = up.rate / Double(8 * (up.payloadByteCount + 28)) / 100
    return max(1, min(usual, UInt8(clamping: Int(fullReport / packetsPerTen))))
  }

  private static let heldBack: UInt32 = 64
  private static let mostLater = 64
  /// Packets: a quarter of what a report can say, so that three may get lost in a row.
  private static let fullReport = 120.0
}
