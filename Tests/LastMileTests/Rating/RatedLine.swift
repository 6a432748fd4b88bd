import LastMile
import Primitives

/// A line in the figures that ratings look at, and the report of a probe that found them.
struct RatedLine {
  struct Side {
    var rate: Double? = 2_500_000
    var isLimitedByTest = false
    var loss = 0.0
    var burst = 1.0
    var jitterMs = 5.0
    var loadedMs: Double?
    var isShared = false
  }

  var roundTripMs = 40.0
  var up = Side()
  var down = Side()

  /// Loss of whole packets of 10 000.
  var report: LineReport {
    var report = LineReport(plan: ProbePlan(), ending: .finished)
    report.state =
      up.rate == nil || down.rate == nil ? .incompleteNoBandwidth : .complete
    report.idleRoundTrip = RoundTripReport(
      delay: Self.summary(roundTripMs), sent: 100, answered: 100)
    report.uplink = Self.direction(up)
    report.downlink = Self.direction(down)
    return report
  }

  var rating: LineRating {
    LineRating(report, listeningBasis: "made up", listening: Self.listening)
  }

  /// Something that falls with loss and rises with the rate, as listening models do.
  static func listening(_ speech: SpeechPrediction.Speech) -> Double {
    let clean = 3 + 1.4 * min(Double(speech.bitsPerSecond), 48_000) / 48_000
    return 1 + (clean - 1) / (1 + 12 * speech.concealedFraction)
  }

  private static func direction(_ side: Side) -> DirectionReport {
    let hits = Int((side.loss * 10_000).rounded())
    var report = DirectionReport(sent: 10_000, received: max(1, 10_000 - hits))
    report.loss = ShareEstimate(hits: hits, of: 10_000)
    report.meanLossBurst = hits == 0 ? nil : side.burst
    report.delayVariation = summary(side.jitterMs)
    report.loadedRoundTrip = side.loadedMs.map(summary)
    report.isShared = side.isShared
    report.bandwidth = side.rate.map { rate in
      BandwidthEstimate(
        bitsPerSecond: rate, low: rate * 0.97, high: rate * 1.03,
        limitedByTest: side.isLimitedByTest)
    }
    return report
  }

  private static func summary(_ value: Double) -> DelaySummary {
    DelaySummary(
      minimumMs: value / 2, p50Ms: value, p95Ms: value, p99Ms: value * 2, sampleCount: 100)
  }
}

extension RatedLine {
  /// Any line, from perfect to hopeless.
  static func random(_ random: inout RandomSource) -> RatedLine {
    func side() -> Side {
      var side = Side()
      // Rates and the like over several powers of ten.
      side.rate = random.unit() < 0.1 ? nil : spread(5_000, 5_000_000, &random)
      side.isLimitedByTest = random.unit() < 0.2
      side.loss = random.unit() < 0.3 ? 0 : spread(0.000_1, 1, &random)
      side.burst = 1 + 5 * random.unit()
      side.jitterMs = spread(0.1, 1000, &random)
      return side
    }
    return RatedLine(roundTripMs: spread(0.1, 3000, &random), up: side(), down: side())
  }

  private static func spread(
    _ low: Double, _ high: Double, _ random: inout RandomSource
  ) -> Double {
    var value = low
    // Doubles at most as often as it takes to reach the high end, then moves within the octave.
    let octaves = Int(random.unit() * 20)
    for _ in 0..<octaves where value * 2 <= high { value *= 2 }
    return min(high, value * (1 + random.unit()))
  }

  /// The same line, worse in one thing.
  func worsened(_ random: inout RandomSource) -> RatedLine {
    var line = self
    let side: WritableKeyPath<RatedLine, Side> = random.unit() < 0.5 ? \.up : \.down
    let factor = 1 + random.unit() * 3
    switch Int(random.unit() * 4) {
    case 0: line.roundTripMs *= factor
    case 1: line[keyPath: side].loss = min(1, line[keyPath: side].loss * factor + 0.001)
    case 2: line[keyPath: side].jitterMs *= factor
    default: line[keyPath: side].rate = line[keyPath: side].rate.map { $0 / factor }
    }
    return line
  }
}
