package import Earshot

/// The result of a probe for people: a sentence, both directions side by side, the test over time,
/// and what to do with it.
package enum ProbeTable {
  /// Letters that a sparkline has.
  static let sparkWidth = 60

  package static func text(
    _ report: LineReport, _ rating: LineRating, columns: Int? = nil
  ) -> String {
    var parts = [rating.sentence]
    if report.state != .unavailable {
      let sides = rows(report, rating).map { row in
        "  " + padded(row.title, 20) + padded(row.up, 26) + row.down
      }
      parts.append(sides.map(trimmed).joined(separator: "\n"))
      if let lines = overTime(report, columns: columns) { parts.append(lines) }
      parts.append(
        facts(report, rating).map { trimmed("  " + padded($0.title, 13) + $0.text) }
          .joined(separator: "\n"))
    }
    return parts.joined(separator: "\n\n")
  }

  // MARK: - Side by side

  package typealias Row = (title: String, up: String, down: String)

  private typealias Cell = (DirectionReport, LineDirection) -> String?

  /// The table; rows in which neither side has a figure are left out.
  package static func rows(_ report: LineReport, _ rating: LineRating) -> [Row] {
    let grade: Cell = { _, direction in
      let grade = direction == .uplink ? rating.uplinkGrade : rating.downlinkGrade
      return "\(grade.rawValue) \(grade.word)"
    }
    // Of a line that loses something both are told, also where nothing will be left.
    let left: Cell = { side, direction in
      let speech = rating.speech
      let share = direction == .uplink ? speech?.uplinkResidualLoss : speech?.downlinkResidualLoss
      return share.flatMap { share in
        let isLossy = share > 0 || (side.loss?.share ?? 0) > 0
        return isLossy ? "\(Figures.percent(share)) (predicted)" : nil
      }
    }
    let heading: Row = ("", heading(report, .uplink), heading(report, .downlink))
    let all = [("grade", grade)] + quantities + [("  left by repair", left)] + delays + oddities
    return [heading]
      + all.compactMap { title, cell in
        let cells = [LineDirection.uplink, .downlink].map { direction in
          report[direction].flatMap { cell($0, direction) }
        }
        guard cells.contains(where: { $0 != nil }) else { return nil }
        return (title, cells[0] ?? "-", cells[1] ?? "-")
      }
  }

  private static var quantities: [(String, Cell)] {
    [
      ("bandwidth", { side, _ in side.bandwidth.map(bandwidth) }),
      ("  95 % interval", { side, _ in side.bandwidth.map(interval) }),
      ("loss", { side, _ in side.loss.map { Figures.percent($0.share) } }),
      ("  95 % interval", { side, _ in side.loss.map(interval) }),
      ("  in a row", { side, _ in side.meanLossBurst.map(burst) }),
    ]
  }

  private static var delays: [(String, Cell)] {
    [
      ("loss when full", { side, _ in side.overloadLoss.map { Figures.percent($0.share) } }),
      ("jitter", { side, _ in side.delayVariation.map { Figures.delay($0.p50Ms) } }),
      (
        "  95 %, 99 %",
        { side, _ in
          side.delayVariation.map {
            "\(Figures.delay($0.p95Ms)), \(Figures.delay($0.p99Ms))"
          }
        }
      ),
      (
        "round trip, full",
        { side, _ in side.loadedRoundTrip.map { Figures.delay($0.p50Ms) } }
      ),
      ("  95 %", { side, _ in side.loadedRoundTrip.map { Figures.delay($0.p95Ms) } }),
      (
        "  RPM",
        { side, _ in
          side.loadedRoundTrip.flatMap {
            // Of whole microseconds, as files keep them: an inspection shows the same.
            let milliseconds = ($0.p50Ms * 1000).rounded() / 1000
            if milliseconds > 0, milliseconds < 0.1 { return "over 600000" }
            return milliseconds > 0 ? "\(Int((60_000 / milliseconds).rounded()))" : nil
          }
        }
      ),
    ]
  }

  private static var oddities: [(String, Cell)] {
    [
      ("reordered", { side, _ in side.reordered > 0 ? "\(side.reordered)" : nil }),
      ("duplicated", { side, _ in side.duplicated > 0 ? "\(side.duplicated)" : nil }),
      ("ECN", { side, _ in side.ecn?.rawValue }),
      ("held by", { side, _ in held(side) }),
      ("packets", { side, _ in "\(side.received) of \(side.sent)" }),
    ]
  }

  /// What was the limit, where it was neither the line nor what was expected.
  private static func held(_ side: DirectionReport) -> String? {
    if side.bandwidth?.heldByHost == true { return "the host that sends" }
    if side.bandwidth?.ranOutOfTime == true { return "the test's time" }
    return side.otherEndLimit.map { "the other end's \(Figures.rate($0))" }
  }

  private static func heading(_ report: LineReport, _ direction: LineDirection) -> String {
    report.plan.probes(direction) ? direction.word : "\(direction.word) (not probed)"
  }

  private static func bandwidth(_ estimate: BandwidthEstimate) -> String {
    let rate = "\(kilobits(estimate.bitsPerSecond)) kbit/s"
    return (estimate.isLowerBound ? "at least \(rate)" : rate)
      + (estimate.isUnsteady ? ", unsteady" : "")
  }

  private static func interval(_ estimate: BandwidthEstimate) -> String {
    let low = kilobits(estimate.low)
    return estimate.isLowerBound
      ? "from \(low) kbit/s" : "\(low) to \(kilobits(estimate.high)) kbit/s"
  }

  private static func kilobits(_ bitsPerSecond: Double) -> String {
    guard bitsPerSecond.isFinite, abs(bitsPerSecond) < 1e15 else { return "-" }
    return String(Int((max(0, bitsPerSecond) / 1000).rounded()))
  }

  private static func burst(_ length: Double) -> String {
    let text = Figures.short(length)
    return text == "1" ? "1 packet" : "\(text) packets"
  }

  private static func interval(_ estimate: ShareEstimate) -> String {
    "\(precise(estimate.low * 100)) to \(precise(estimate.high * 100)) %"
  }

  /// Two decimals: intervals are narrow.
  private static func precise(_ value: Double) -> String {
    guard value.isFinite, abs(value) < 1e9 else { return "-" }
    let hundredths = Int((max(0, value) * 100).rounded())
    let rest = hundredths % 100
    return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
  }

  // MARK: - Over time

  /// Added delay and loss of each direction as sparklines; `nil` when there are none.
  package static func overTime(_ report: LineReport, columns width: Int? = nil) -> String? {
    let timeline = settled(report)
    guard let end = timeline.map(\.at).max() else { return nil }
    func columns(_ direction: LineDirection, _ value: (TimelinePoint) -> Double?) -> [Double?] {
      let points = timeline.filter { $0.direction == direction }
      return Sparkline.columns(
        points.compactMap { point in value(point).map { (point.at, $0) } },
        count: width.map { min(sparkWidth, max(8, $0 - 19)) } ?? sparkWidth, until: end)
    }
    let delays = LineDirection.allCases.map { direction in
      columns(direction) { $0.largestAddedDelayMs ?? $0.addedDelayMs }
    }
    let losses = LineDirection.allCases.map { direction in
      columns(direction) { $0.sent > 0 ? Double($0.lost) / Double($0.sent) : nil }
    }
    let topDelay = delays.joined().compactMap(\.self).max() ?? 0
    let topLoss = losses.joined().compactMap(\.self).max() ?? 0
    var lines: [String] = []
    for (index, direction) in LineDirection.allCases.enumerated()
    where report.plan.probes(direction) {
      lines.append(
        "  \(padded("\(direction.word) delay", 16))"
          + Sparkline.text(delays[index], top: max(topDelay, 10)))
      lines.append(
        "  \(padded("loss", 16))" + Sparkline.text(losses[index], top: max(topLoss, 0.01)))
    }
    lines.append(
      "  \(padded("", 16))0 to \(Figures.short(end)) s; full height is "
        + "\(Figures.milliseconds(max(topDelay, 10))) above the least delay, "
        + "\(Figures.percent(max(topLoss, 0.01))) loss")
    return lines.map(trimmed).joined(separator: "\n")
  }

  /// The test over time without its last moments: of what was sent while the last reports were
  /// awaited nobody knows whether it arrived.
  static func settled(_ report: LineReport) -> [TimelinePoint] {
    let end = report.phases.last { $0.phase == .finishing }?.from
    let last = report.phases.last { $0.phase != .finishing }?.to
    guard let end = end ?? last else { return report.timeline }
    return report.timeline.filter { $0.at < end }
  }

  /// The test over time, a line for each part of it and direction; empty when nothing was sent.
  package static func intervals(_ report: LineReport, seconds: Double) -> String {
    var lines = ["  time        way    sent          arrived       loss     delay added"]
    for direction in LineDirection.allCases where report.plan.probes(direction) {
      let points = settled(report).filter { $0.direction == direction && $0.sent > 0 }
      let groups = Dictionary(grouping: points) { Int($0.at / seconds) }
      for (index, group) in groups.sorted(by: { $0.key < $1.key }) {
        lines.append(interval(index, group, direction, seconds: seconds))
      }
    }
    return lines.count > 1 ? lines.map(trimmed).joined(separator: "\n") : ""
  }

  private static func interval(
    _ index: Int, _ points: [TimelinePoint], _ direction: LineDirection, seconds: Double
  ) -> String {
    let sent = points.reduce(0) { $0 + $1.sent }
    let loss = Double(points.reduce(0) { $0 + $1.lost }) / Double(max(1, sent))
    // What was sent in the parts of which there is something, over the whole of the time.
    let rate = points.reduce(0) { $0 + $1.sentRate } * 0.1 / seconds
    let time = (0...1).map { Figures.short(Double(index + $0) * seconds) }.joined(separator: "-")
    let delay = points.compactMap(\.largestAddedDelayMs).max().map(Figures.delay) ?? ""
    return "  " + padded(time + " s", 12) + padded(direction == .uplink ? "up" : "down", 7)
      + padded(Figures.rate(rate), 14) + padded(Figures.rate(rate * (1 - loss)), 14)
      + padded(Figures.percent(loss), 9) + delay
  }

  // MARK: - Facts and advice

  package typealias Fact = (title: String, text: String)

  package static func facts(_ report: LineReport, _ rating: LineRating) -> [Fact] {
    var facts: [Fact] = []
    if let trip = report.idleRoundTrip {
      let delay = trip.delay
      let figures = [delay.minimumMs, delay.p50Ms, delay.p95Ms, delay.p99Ms].map(Figures.delay)
      facts.append(
        (
          "round trip",
          "\(figures[1]) (least \(figures[0]), 95 % \(figures[2]), 99 % \(figures[3])); "
            + "\(trip.answered) of \(trip.sent) answered"
        ))
    }
    if let path = path(report.path) { facts.append(("path", path)) }
    let fitness = rating.fitness
    facts.append(
      (
        "fit for",
        "voice \(fitness.voice.rawValue), 360p video \(fitness.video.rawValue), "
          + "720p video \(fitness.hd.rawValue)" + (fitness.limit.map { "; limit: \($0)" } ?? "")
      ))
    if let settings = rating.recommended { facts += advice(settings) }
    if let speech = rating.speech {
      facts.append(("speech", "MOS \(Wording.decimal(speech.mos)) of 5 (\(speech.basis))"))
    }
    facts.append(("measured", measured(report)))
    return facts
  }

  private static func advice(_ settings: RecommendedSettings) -> [Fact] {
    let rate = Figures.rate(Double(settings.audioBitrate))
    var facts = [(title: "begin with", text: "audio of \(rate): \(settings.audioBasis)")]
    facts.append(("", "FEC \(settings.usesFEC ? "on" : "off"): \(settings.fecBasis)"))
    facts.append(
      ("", "jitter buffer \(settings.jitterBufferStartMs) ms: \(settings.jitterBufferBasis)"))
    if let ceiling = settings.videoCeiling {
      let what = ceiling == 0 ? "no video" : "video up to \(Figures.rate(Double(ceiling)))"
      facts.append(("", "\(what): \(settings.videoBasis)"))
    }
    return facts
  }

  private static func path(_ path: PathFacts) -> String? {
    var parts: [String] = []
    if let kind = path.kind { parts.append(kind.rawValue) }
    if let remote = path.remote { parts.append("to \(remote)") }
    if let seen = path.seenAs { parts.append("seen as \(seen)") }
    if let mapping = path.mapping { parts.append(mapping.rawValue) }
    let sizes = [path.largestUplinkPacket, path.largestDownlinkPacket].compactMap(\.self)
    if let size = sizes.min() { parts.append("packets of \(size) bytes pass") }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  private static func measured(_ report: LineReport) -> String {
    let cost = report.cost
    var text = "in \(Figures.short(cost.seconds)) s with \(bytes(cost.bytesSent)) sent, "
    text += "\(bytes(cost.bytesReceived)) received"
    if let clock = report.clock {
      text += "; clock step \(Figures.short(clock.resolutionUs)) µs"
      if let late = clock.sendLatenessP95Us {
        text += ", packets left up to \(Figures.delay(late / 1000)) late (95 %)"
      }
      if let drift = clock.driftPpm, let doubt = clock.driftUncertaintyPpm {
        text += ", the other clock \(Figures.short(abs(drift))) ± \(Figures.short(doubt)) ppm "
        text += drift < 0 ? "slow" : "fast"
      }
      if let stamps = clock.stamps {
        text +=
          stamps == .kernel
          ? ", arrivals stamped by the kernel" : ", arrivals stamped by this program"
      }
    }
    if cost.refusedByHost > 0 {
      text += "; this host's kernel had no room for \(cost.refusedByHost) of our packets"
    }
    if cost.overflowedHere > 0 {
      text += "; this host's socket had no room for \(cost.overflowedHere) packets that came"
    }
    return text
  }

  private static func bytes(_ count: Int) -> String {
    count < 1_000_000
      ? "\(Figures.short(Double(count) / 1e3)) kB" : "\(Figures.short(Double(count) / 1e6)) MB"
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(text.isEmpty ? 0 : 1, width - text.count))
  }

  private static func trimmed(_ line: String) -> String {
    String(line.reversed().drop { $0 == " " }.reversed())
  }
}
