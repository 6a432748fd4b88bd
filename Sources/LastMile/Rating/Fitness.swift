/// What a line can be used for.
public enum LineUse: String, Sendable, CaseIterable {
  /// Speech alone.
  case voice
  /// Speech and a picture of 640 × 360.
  case video
  /// Speech and a picture of 1280 × 720.
  case hd
}

/// Whether a line is fit for a use, and what stands against it.
public struct Fitness: Sendable, Equatable {
  /// Worst last.
  public enum Verdict: String, Sendable, CaseIterable, Comparable {
    /// Every measured figure is within what the use needs.
    case yes
    /// It will work, not always well; or something that it needs was not measured.
    case maybe
    /// It will not work.
    case no

    /// Whether the one is better than the other.
    public static func < (left: Verdict, right: Verdict) -> Bool { left.rank < right.rank }
    private var rank: Int { self == .yes ? 0 : self == .maybe ? 1 : 2 }
  }

  /// For speech.
  public var voice: Verdict
  /// For speech and 360p video.
  public var video: Verdict
  /// For speech and 720p video.
  public var hd: Verdict
  /// The one thing that stands most against the least demanding use that is not a clear yes;
  /// `nil` when nothing does.
  public var limit: String?

  /// The verdict for one use.
  public subscript(use: LineUse) -> Verdict {
    switch use {
    case .voice: voice
    case .video: video
    case .hd: hd
    }
  }

  /// Judges what was measured; directions that were not asked for do not count.
  public init(_ report: LineReport) {
    var limits: [(verdict: Verdict, text: String)] = []
    func judge(_ use: LineUse) -> Verdict {
      let found = Self.obstacle(to: Need.of(use), report)
      if let found { limits.append(found) }
      return found?.verdict ?? .yes
    }
    voice = judge(.voice)
    // Whatever carries a picture carries speech.
    video = max(voice, judge(.video))
    hd = max(video, judge(.hd))
    limit = limits.first?.text
  }

  /// What a use needs of each direction: first what it needs to be good, then what it needs at all.
  struct Need: Sendable {
    /// Bits a second of IP packets.
    var rate: (good: Double, least: Double)
    var loss: (good: Double, most: Double)
    var roundTripMs: (good: Double, most: Double)
    var jitterMs: (good: Double, most: Double)

    /// Rates: speech of 24 kbit/s in packets of 20 ms takes 46 kbit/s with its headers, of 12
    /// kbit/s in packets of 60 ms 20; VP8 wants 0.4 Mbit/s for 360p and 1.2 for 720p (our choice,
    /// as all limits here).
    static func of(_ use: LineUse) -> Need {
      switch use {
      case .voice:
        Need(
          rate: (60_000, 30_000), loss: (0.05, 0.15), roundTripMs: (400, 800), jitterMs: (60, 200))
      case .video:
        Need(
          rate: (500_000, 300_000), loss: (0.03, 0.10), roundTripMs: (400, 700),
          jitterMs: (60, 150))
      case .hd:
        Need(
          rate: (1_500_000, 1_000_000), loss: (0.02, 0.06), roundTripMs: (300, 600),
          jitterMs: (40, 100))
      }
    }
  }

  // MARK: - Judging

  private typealias Obstacle = (verdict: Verdict, text: String)

  /// What stands most against a use; `nil` when nothing does.
  private static func obstacle(to need: Need, _ report: LineReport) -> Obstacle? {
    var all: [Obstacle] = []
    if let roundTrip = report.idleRoundTrip {
      all.append(
        (
          verdict(roundTrip.delay.p50Ms, need.roundTripMs.good, need.roundTripMs.most),
          "round trip \(Figures.milliseconds(roundTrip.delay.p50Ms))"
        ))
    }
    for direction in LineDirection.allCases where report.plan.probes(direction) {
      all += obstacles(to: need, direction, report[direction], report.plan)
    }
    if all.isEmpty { return (.no, "nothing was measured") }
    let worst = all.max { $0.verdict < $1.verdict }
    return worst.flatMap { $0.verdict == .yes ? nil : $0 }
  }

  private static func obstacles(
    to need: Need, _ direction: LineDirection, _ report: DirectionReport?, _ plan: ProbePlan
  ) -> [Obstacle] {
    guard let report, report.received > 0 else {
      return [(.no, "nothing came through the \(direction.word)")]
    }
    var all: [Obstacle] = []
    if let loss = report.loss ?? report.overloadLoss {
      all.append(
        (
          verdict(loss.share, need.loss.good, need.loss.most),
          "\(direction.word) loss \(Figures.percent(loss.share))"
        ))
    } else {
      all.append((.maybe, "the \(direction.word)'s loss was not measured"))
    }
    if let variation = report.delayVariation {
      all.append(
        (
          verdict(variation.p95Ms, need.jitterMs.good, need.jitterMs.most),
          "\(direction.word) jitter \(Figures.milliseconds(variation.p95Ms))"
        ))
    }
    all.append(bandwidth(report.bandwidth, need, direction, plan))
    return all
  }

  private static func bandwidth(
    _ estimate: BandwidthEstimate?, _ need: Need, _ direction: LineDirection, _ plan: ProbePlan
  ) -> Obstacle {
    guard let estimate else {
      return (.maybe, "the \(direction.word)'s bandwidth was not measured")
    }
    let found = verdict(-estimate.bitsPerSecond, -need.rate.good, -need.rate.least)
    let rate = Figures.rate(estimate.bitsPerSecond)
    if estimate.isLowerBound {
      return (min(found, .maybe), "the \(direction.word) was tested up to \(rate) only")
    }
    return (found, "\(direction.word) bandwidth \(rate)")
  }

  /// What is no number is no.
  private static func verdict(_ value: Double, _ good: Double, _ most: Double) -> Verdict {
    value <= good ? .yes : value <= most ? .maybe : .no
  }
}

extension LineReport {
  /// What was found out about one direction.
  public subscript(direction: LineDirection) -> DirectionReport? {
    direction == .uplink ? uplink : downlink
  }
}

extension LineDirection {
  /// For people.
  public var word: String { self == .uplink ? "uplink" : "downlink" }
}
