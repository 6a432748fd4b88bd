package import Earshot
internal import Primitives
internal import Reactor

/// One probe from its start to its result, or one after the other while a line is watched: turns
/// what happens into lines, the live region, and what keys and signals ask for.
package final class ProbeRun {
  /// How long after its time a result is waited for before it is asked for, and then once more.
  static let patience = Duration.milliseconds(250)
  /// How long after a signal the result is waited for.
  static let grace = Duration.milliseconds(500)

  /// The result; while a line is watched, the last one.
  package private(set) var report: LineReport?
  /// What all of a watched line have found.
  package private(set) var series = ProbeSeries(
    secondOfDay: Int(SystemClock.wallNanoseconds / 1_000_000_000 % 86_400))
  /// Whether nothing more is to come.
  package private(set) var isOver = false
  /// Whether a signal or key has asked for the end.
  package private(set) var wasStopped = false
  /// Whether a second signal did, before the end had come.
  package private(set) var hasAborted = false
  private let options: ProbeOptions
  private let console: Console
  private let lines: JSONLines
  private let sheet: ProbeSheet?
  /// Whether a probe of a watched line was not clearly fit for what is required.
  private var wasUnfit = false
  private let began: Instant
  /// The probe that runs, or ran last.
  private var runBegan: Instant
  /// What the probe that runs has told so far.
  private var first: LineReport?
  private var hasBegun = false
  private var wasAskedToEnd = false
  private var view: ProbeView
  private var deadlines = Deadlines<Timer>()

  enum Timer: CaseIterable, Hashable, Sendable {
    /// Draw the region again.
    case status
    /// No result came in its time.
    case overdue
    /// The next grade of a watched line.
    case again
  }

  /// What a input asks of whoever holds the probe.
  package enum Wish: Equatable {
    case nothing
    /// Begin a probe.
    case begin
    /// Stop the one that runs; its result is still to come.
    case stop
  }

  package init(
    _ options: ProbeOptions, _ console: Console, _ lines: JSONLines, _ sheet: ProbeSheet? = nil,
    now: Instant
  ) {
    self.options = options
    self.sheet = sheet
    self.console = console
    self.lines = lines
    began = now
    runBegan = now
    view = ProbeView(target: options.target)
    deadlines.set(.overdue, at: now + .milliseconds(Int64(options.plan.seconds * 1000)))
    if console.hasRegion { deadlines.set(.status, at: now) }
  }

  package var nextDeadline: Instant? { deadlines.next }

  /// What the exit code and the page are made of; a probe of which nothing came is one without an
  /// answer.
  package var result: LineReport {
    if let report { return report }
    let ending = wasStopped ? LineReport.Ending.cancelled : .noAnswer
    guard var partial = first else { return LineReport(plan: options.plan, ending: ending) }
    partial.ending = ending
    return partial
  }

  // MARK: - What happens

  package func handleProgress(_ progress: ProbeProgress, now: Instant) {
    guard !isOver else { return }
    switch progress {
    case .phaseBegan(let phase):
      view.phase = phase
      console.log(.debug, "phase \(phase.rawValue)")
      if !options.watches { event("probePhase") { $0.add("phase", phase.rawValue) } }
    case .progressed(let share, let latest):
      view.share = share
      view.latestRoundTripMs = latest ?? view.latestRoundTripMs
    case .firstGrade(let report): showFirstGrade(report)
    case .finished(let report): finish(report, now: now)
    }
  }

  /// A signal, or the key for it.
  package func stop() -> Wish {
    if wasStopped { hasAborted = true }
    wasStopped = true
    guard !isOver else { return .nothing }
    if report != nil, deadlines[.again] != nil {
      endSeries()
      return .nothing
    }
    // The result should come at once; if it does not, nobody waits for it.
    deadlines.set(.overdue, at: SystemClock.now + Self.grace)
    return .stop
  }

  package func wake(now: Instant) -> Wish {
    var wish = Wish.nothing
    while let timer = deadlines.popDue(at: now) {
      switch timer {
      case .status:
        console.show(view)
        deadlines.set(.status, at: now + .milliseconds(100))
      case .overdue:
        if hasBegun, !wasStopped, !wasAskedToEnd {
          // What is known is better than nothing; a machine that was held up will tell it.
          wasAskedToEnd = true
          deadlines.set(.overdue, at: now + Self.patience)
          wish = .stop
        } else {
          finish(result, now: now)
        }
      case .again: wish = .begin
      }
    }
    return isOver ? .nothing : wish
  }

  /// Nothing can be measured, for a reason that is told elsewhere.
  package func giveUp(_ ending: LineReport.Ending, now: Instant) {
    if !repeatsAnyway { wasStopped = true }
    finish(LineReport(plan: options.plan, ending: ending), isTold: true, now: now)
  }

  private func showFirstGrade(_ report: LineReport) {
    first = report
    let rating = report.rating
    view.grade = rating.grade
    guard !options.watches else { return }
    event("probeFirstGrade") { object in
      object.add("quality", rating.grade.rawValue)
      object.add("rttMs", report.idleRoundTrip?.delay.p50Ms)
      object.add("uplinkLossRate", report.uplink?.loss?.share)
      object.add("downlinkLossRate", report.downlink?.loss?.share)
    }
  }

  private func event(_ name: String, _ fill: (inout JSONObject) -> Void) {
    lines.write("event") { object in
      object.add("name", name)
      fill(&object)
    }
  }

  // MARK: - The end

  private func finish(_ report: LineReport, isTold: Bool = false, now: Instant) {
    guard !isOver else { return }
    var report = report
    report.plan = options.plan
    if report.cost.seconds == 0 {
      report.cost.seconds = Double(now.nanoseconds(since: began)) / 1e9
    }
    self.report = report
    let rating = report.rating
    ProbeLine.write(report, rating, isAlone: options.repetition == nil, to: lines)
    sheet?.append(report, rating, wallNanoseconds: SystemClock.wallNanoseconds)
    guard let repetition = options.repetition else {
      console.clear()
      if !isTold { printResult(report, rating) }
      end()
      return
    }
    let elapsed = Double(now.nanoseconds(since: began)) / 1e9
    // One that was cut off says nothing of the line.
    if !wasStopped {
      series.append(report, rating, at: elapsed)
      let code = ExitCode(report, rating, required: options.required)
      if code == .quality { wasUnfit = true }
      console.say(Self.watchLine(report, rating, seconds: Int(elapsed)))
    }
    let next = max(now, runBegan + repetition.period)
    guard !wasStopped, repetition.total.map({ next - began < $0 }) ?? true else {
      return endSeries()
    }
    deadlines.cancel(.overdue)
    deadlines.set(.again, at: next)
    view.nextAt = Int((next - began).milliseconds / 1000)
  }

  /// Whether a probe that could not be begun is no reason to stop: the next one may be.
  private var repeatsAnyway: Bool { options.repetition != nil && !options.watches }

  /// What the program tells of a watched line: one that was never unfit is fit.
  ///
  /// - Parameter last: of the last probe.
  package func code(last: ExitCode) -> ExitCode {
    guard series.answeredCount > 0 else { return last == .interrupted ? .done : last }
    return wasUnfit ? .quality : .done
  }

  private func endSeries() {
    end()
    if !series.text.isEmpty { console.say(series.text) }
  }

  private func printResult(_ report: LineReport, _ rating: LineRating) {
    var table = ProbeTable.text(report, rating, columns: LineWrap.columns())
    if let interval = options.interval {
      table = ProbeTable.intervals(report, seconds: interval) + "\n\n" + table
    }
    if report.state == .unavailable {
      // What a quiet program says of it, its command knows best.
      console.sayFailed(table)
    } else {
      console.say(table)
    }
  }

  /// The probe begins: contact was made; or another one of a watched line.
  package func begin(now: Instant) {
    runBegan = now
    hasBegun = true
    view.nextAt = nil
    view.share = 0
    wasAskedToEnd = false
    first = nil
    deadlines.set(
      .overdue, at: now + .milliseconds(Int64(options.plan.seconds * 1000)) + Self.patience)
  }

  private func end() {
    isOver = true
    deadlines.cancelAll()
    console.clear()
  }

  /// `0:12  2 good  rtt 41 ms  up: loss 0 %, jitter 3 ms  down: loss 0.4 %, jitter 5 ms`.
  package static func watchLine(
    _ report: LineReport, _ rating: LineRating, seconds: Int
  ) -> String {
    var text = "\(Timestamp.clock(seconds: seconds))  \(rating.grade.rawValue) \(rating.grade.word)"
    guard report.state != .unavailable else { return text + "  " + rating.sentence }
    if let trip = report.idleRoundTrip { text += "  rtt \(Figures.delay(trip.delay.p50Ms))" }
    for (name, side) in [("up", report.uplink), ("down", report.downlink)] {
      guard let side else { continue }
      var parts: [String] = []
      if let loss = side.loss { parts.append("loss \(Figures.percent(loss.share))") }
      if let jitter = side.delayVariation {
        parts.append("jitter \(Figures.delay(jitter.p95Ms))")
      }
      if let rate = side.bandwidth {
        parts.append("\(rate.isLowerBound ? "≥ " : "")\(Figures.rate(rate.bitsPerSecond))")
      }
      if !parts.isEmpty { text += "  \(name): \(parts.joined(separator: ", "))" }
    }
    return text
  }
}

/// The last line of a probe with `--json`.
package enum ProbeSummary {
  package static func write(
    _ report: LineReport, _ rating: LineRating, target: String, series: ProbeSeries? = nil,
    to lines: JSONLines
  ) {
    lines.write("summary") { object in
      object.add("outcome", outcome(report))
      object.add("reason", rating.sentence)
      object.add("target", target)
      object.add("durationMs", Int((report.cost.seconds * 1000).rounded()))
      object.add("quality", rating.grade.rawValue)
      object.add("series", series?.json)
    }
  }

  /// In the words of a call's outcome.
  package static func outcome(_ report: LineReport) -> String {
    switch report.ending {
    case .cancelled: "cancelled"
    case .busy, .callInProgress: "busy"
    case .notAllowed: "rejected"
    case .notSupported, .identityChanged: "failed"
    default: report.state == .unavailable ? "unreachable" : "completed"
    }
  }
}
