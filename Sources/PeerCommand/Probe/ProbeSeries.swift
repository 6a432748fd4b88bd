package import Earshot
internal import Plotting
internal import Primitives

/// How often the line is probed, and for how long: of `--watch`, and of `--every` and `--for`.
package struct ProbeRepetition: Equatable, Sendable {
  /// From the beginning of one probe to that of the next.
  package var period: Duration
  /// After which no further one begins; `nil` = until a signal.
  package var total: Duration?

  package init(period: Duration, total: Duration? = nil) {
    self.period = period
    self.total = total
  }
}

/// What probes of one line have found, one after the other.
package struct ProbeSeries: Sendable {
  /// One probe. What was not measured is absent.
  package struct Sample: Sendable {
    /// Seconds from the beginning of the series to the end of the probe.
    package var at: Double
    package var grade: LineGrade
    /// Whether the other end answered.
    package var isAnswered: Bool
    package var roundTripMs: Double?
    package var uplinkLoss: Double?
    package var downlinkLoss: Double?
    package var uplinkBps: Double?
    package var downlinkBps: Double?
  }

  /// A week of one probe a minute has 10 080.
  package static let mostSamples = 100_000

  /// The first ones, `mostSamples` at the most.
  package private(set) var samples: [Sample] = []
  /// Of all.
  package private(set) var count = 0
  package private(set) var answeredCount = 0
  /// What the clock of UTC said at its beginning, in seconds of the day, where that is known.
  private let secondOfDay: Int?

  package init(secondOfDay: Int? = nil) { self.secondOfDay = secondOfDay }

  package mutating func append(_ report: LineReport, _ rating: LineRating, at seconds: Double) {
    append(
      Sample(
        at: seconds, grade: rating.grade, isAnswered: report.state != .unavailable,
        roundTripMs: report.idleRoundTrip?.delay.p50Ms, uplinkLoss: report.uplink?.loss?.share,
        downlinkLoss: report.downlink?.loss?.share,
        uplinkBps: report.uplink?.bandwidth?.bitsPerSecond,
        downlinkBps: report.downlink?.bandwidth?.bitsPerSecond))
  }

  package mutating func append(_ sample: Sample) {
    count += 1
    if sample.isAnswered { answeredCount += 1 }
    if samples.count < Self.mostSamples { samples.append(sample) }
  }

  /// The answered one with the worst grade; the first of several.
  package var worst: Sample? {
    var worst: Sample?
    for sample in samples where sample.isAnswered {
      if let known = worst, known.grade.rawValue >= sample.grade.rawValue { continue }
      worst = sample
    }
    return worst
  }

  /// Least, median, 95th percentile and greatest of what was measured.
  package func spread(
    _ value: (Sample) -> Double?
  ) -> (least: Double, p50: Double, p95: Double, most: Double)? {
    let values = samples.compactMap(value).sorted()
    guard let least = values.first, let most = values.last else { return nil }
    let place = { (share: Double) in values[Int((Double(values.count - 1) * share).rounded())] }
    return (least, place(0.5), place(0.95), most)
  }

  /// From half an hour on people ask what time it was; above two days, on which day.
  package var clockSecond: Int? {
    guard let last = samples.last, (1800...172_800).contains(last.at) else { return nil }
    return secondOfDay
  }

  // MARK: - Words

  /// The end of a watched line, as `ping` has one; empty before the first probe.
  package var text: String {
    guard let last = samples.last else { return "" }
    let length = Timestamp.clock(seconds: Int(last.at))
    let what = count == 1 ? "probe" : "probes"
    var lines = ["\(count) \(what) in \(length), \(answeredCount) answered"]
    if let worst {
      lines[0] +=
        "; the worst was \(worst.grade.rawValue) \(worst.grade.word), at "
        + (clockSecond.map {
          TimeAxis.clock(worst.at, until: last.at, secondOfDay: $0) + " UTC"
        } ?? Timestamp.clock(seconds: Int(worst.at)))
    }
    add("round trip", spread(\.roundTripMs), Figures.delay, to: &lines)
    add("loss up", spread(\.uplinkLoss), Figures.percent, to: &lines)
    add("loss down", spread(\.downlinkLoss), Figures.percent, to: &lines)
    add("carries up", spread(\.uplinkBps), Figures.rate, to: &lines)
    add("carries down", spread(\.downlinkBps), Figures.rate, to: &lines)
    return lines.joined(separator: "\n")
  }

  private func add(
    _ title: String, _ spread: (least: Double, p50: Double, p95: Double, most: Double)?,
    _ text: (Double) -> String, to lines: inout [String]
  ) {
    guard let spread else { return }
    let pad = String(repeating: " ", count: max(1, 14 - title.count))
    lines.append(
      "  \(title)\(pad)\(text(spread.p50)) (least \(text(spread.least)), "
        + "95 % \(text(spread.p95)), greatest \(text(spread.most)))")
  }

  /// What `summary` has of it.
  package var json: JSONObject {
    var object = JSONObject()
    object.add("probes", count)
    object.add("answered", answeredCount)
    object.add("worstQuality", worst?.grade.rawValue)
    object.add("worstAtMs", worst.map { Int(($0.at * 1000).rounded()) })
    add("rttMs", spread(\.roundTripMs), 1000, to: &object)
    add("uplinkLossRate", spread(\.uplinkLoss), 1e6, to: &object)
    add("downlinkLossRate", spread(\.downlinkLoss), 1e6, to: &object)
    add("uplinkBps", spread(\.uplinkBps), 1, to: &object)
    add("downlinkBps", spread(\.downlinkBps), 1, to: &object)
    return object
  }

  private func add(
    _ name: String, _ spread: (least: Double, p50: Double, p95: Double, most: Double)?,
    _ scale: Double, to object: inout JSONObject
  ) {
    guard let spread else { return }
    let rounded = { (value: Double) in (value * scale).rounded() / scale }
    var part = JSONObject()
    part.add("min", rounded(spread.least))
    part.add("p50", rounded(spread.p50))
    part.add("p95", rounded(spread.p95))
    part.add("max", rounded(spread.most))
    object.add(name, part)
  }
}

extension ProbeSeries.Sample {
  /// A `probe` line.
  package init(line: JSONValue, at seconds: Double) {
    let number = { (value: JSONValue?, range: ClosedRange<Double>) in
      value?.asNumber.flatMap { range.contains($0) ? $0 : nil }
    }
    let grade = number(line["quality"], 0...6).flatMap { LineGrade(rawValue: Int($0)) }
    self.init(
      at: seconds, grade: grade ?? .unknown,
      isAnswered: line["state"]?.asString.map { $0 != "unavailable" } ?? false,
      roundTripMs: number(line["rttMs"]?["p50"], 0...1e9),
      uplinkLoss: number(line["uplink"]?["packetLossRate"], 0...1),
      downlinkLoss: number(line["downlink"]?["packetLossRate"], 0...1),
      uplinkBps: number(line["uplink"]?["availableBandwidthBps"], 0...1e12),
      downlinkBps: number(line["downlink"]?["availableBandwidthBps"], 0...1e12))
  }
}
