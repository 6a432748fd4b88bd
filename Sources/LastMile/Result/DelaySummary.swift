/// Percentiles of a delay, in milliseconds.
public struct DelaySummary: Sendable, Equatable {
  /// Least.
  public var minimumMs: Double
  /// Median.
  public var p50Ms: Double
  /// 95th percentile.
  public var p95Ms: Double
  /// 99th percentile.
  public var p99Ms: Double
  /// Mean, as other tools report it; `nil` when only percentiles are known.
  public var meanMs: Double?
  /// Samples behind it.
  public var sampleCount: Int

  /// Percentiles as given, in milliseconds.
  public init(
    minimumMs: Double, p50Ms: Double, p95Ms: Double, p99Ms: Double, sampleCount: Int
  ) {
    self.minimumMs = minimumMs
    self.p50Ms = p50Ms
    self.p95Ms = p95Ms
    self.p99Ms = p99Ms
    self.sampleCount = sampleCount
  }

  /// Nearest-rank percentiles of `samples` in nanoseconds; `nil` when there are none.
  package init?(nanoseconds samples: [Int64]) {
    guard !samples.isEmpty else { return nil }
    let sorted = samples.sorted()
    func percentile(_ share: Double) -> Double {
      let rank = (Double(sorted.count) * share).rounded(.up)
      let index = min(sorted.count - 1, max(0, Int(rank) - 1))
      return Double(sorted[index]) / 1e6
    }
    self.init(
      minimumMs: percentile(0), p50Ms: percentile(0.5), p95Ms: percentile(0.95),
      p99Ms: percentile(0.99), sampleCount: sorted.count)
    meanMs = sorted.reduce(0) { $0 + Double($1) / 1e6 } / Double(sorted.count)
  }
}

/// Round trips while the line is idle.
public struct RoundTripReport: Sendable, Equatable {
  /// Percentiles of the round trips; the minimum is the sum of the two directions' least delays,
  /// which meet more often than in one packet and its answer (docs/protocol/probe.md §5).
  public var delay: DelaySummary
  /// Echoes sent.
  public var sent: Int
  /// Echoes answered.
  public var answered: Int

  /// Round trips as given.
  public init(delay: DelaySummary, sent: Int, answered: Int) {
    self.delay = delay
    self.sent = sent
    self.answered = answered
  }
}
