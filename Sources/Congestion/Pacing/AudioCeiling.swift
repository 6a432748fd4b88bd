package import Primitives

/// What audio must make do with since it filled the path by itself (docs/congestion.md §9). It
/// falls to what empties the queue within a second, is then a little below what the path carries,
/// and rises step by step while no queue grows.
///
/// Whether the queue is audio's own shows in a moment: with less sent it becomes shorter. One that
/// does not is a longer route or somebody else's; to send less would not help against it.
package struct AudioCeiling: Sendable, BitwiseCopyable {
  /// A queue that audio has to empty.
  private struct Drain: Sendable, BitwiseCopyable {
    /// What the path carried when it began, in bit/s.
    var lineRate: Double
    /// The longest standing delay of it, and how much shorter it should have become since, µs.
    var longest: Double
    var expected = 0.0
  }

  /// In bit/s; infinite while nothing limits audio.
  package private(set) var rate = Double.infinity
  private var drain: Drain?
  /// What it is once the queue is short, in bit/s; `nil` while no queue has to be emptied.
  private var rest: Double?
  /// Where audio last was too much: the rate of the path in bit/s, and when.
  private var overload: (rate: Double, at: Instant)?
  /// Standing delay that sending less did not shorten, µs.
  private var foreignDelay = 0.0
  private var lastReport: Instant?
  /// At the last report.
  private var wasShort = true

  package init() {}

  /// Takes what one FEEDBACK has taught the estimator.
  package mutating func handleReport(_ estimator: BandwidthEstimator, now: Instant) {
    let elapsed = lastReport.map { Double(now.nanoseconds(since: $0)) / 1e3 } ?? 0
    lastReport = now
    let delay = estimator.standingDelay
    foreignDelay = min(foreignDelay, delay)
    // Where delays scatter, now and then all of the last packets are late.
    let spared = foreignDelay + Self.scatterMargin * estimator.path.queue.scatter
    let isOverloaded = estimator.isOverloadedByUnpacedTraffic(beyond: spared)
    let isShort = delay - foreignDelay < Self.shortQueue * estimator.targetDelay
    defer { wasShort = isShort }
    if var drain {
      drain.longest = max(drain.longest, delay)
      drain.expected += elapsed * max(0, 1 - estimator.unpacedRate / drain.lineRate)
      self.drain = isShort ? nil : drain
      guard drain.expected >= Self.trial || isShort else { return }
      if drain.longest - delay < Self.leastFall * drain.expected { return lift(foreign: delay) }
      self.drain = nil
      // What is left may yet be another's.
      if !isShort { return lower(estimator, delay, now) }
    }
    if isShort, let rest {
      rate = max(rate, rest)
      self.rest = nil
    }
    // A queue of our own grows; what is there at once is a stall.
    if isOverloaded, !wasShort { return lower(estimator, delay, now) }
    guard rate.isFinite else { return }
    if estimator.acknowledgedRate > Self.provenAbove * rate { return lift(foreign: foreignDelay) }
    if isShort { rise(elapsed, now) }
  }

  /// What waits is not ours.
  private mutating func lift(foreign delay: Double) {
    foreignDelay = delay
    rate = .infinity
    drain = nil
    rest = nil
    overload = nil
  }

  private mutating func lower(_ estimator: BandwidthEstimator, _ delay: Double, _ now: Instant) {
    let arrived = estimator.path.arrivals.rates(over: Self.span, atLeast: Self.packetCount)
    let lineRate = max(arrived?.arrival ?? 0, estimator.acknowledgedRate, Self.least)
    drain = Drain(lineRate: lineRate, longest: delay)
    overload = (lineRate, now)
    rest = max(min(rest ?? rate, lineRate * Self.share), Self.least)
    let emptying = min(Self.share, 1 - (delay - foreignDelay) / Self.emptyingTime)
    rate = max(min(rate, lineRate * emptying), Self.least)
  }

  /// Near where audio was too much not long ago, slowly; well beyond, the line is another one.
  private mutating func rise(_ elapsed: Double, _ now: Instant) {
    let isNear =
      overload.map {
        now - $0.at < Self.caution && rate > $0.rate * Self.near && rate < $0.rate * Self.beyond
      } ?? false
    rate *= 1 + (isNear ? Self.slowRise : Self.rise) * min(elapsed / 1e6, 1)
    if rate > Self.whole { rate = .infinity }
  }

  /// What the path carries is measured over this, µs, and so many packets: a moment of jitter is no
  /// narrow line.
  private static let span: Int64 = 400_000
  private static let packetCount = 8
  /// Of what the path carries: 15 % are left to empty the queue.
  private static let share = 0.85
  /// A queue is gone after this, µs.
  private static let emptyingTime = 1_000_000.0
  /// In bit/s: frames of 60 ms at 8 kbit/s, with their headers.
  private static let least = 15_500.0
  /// In bit/s: audio with all its copies.
  private static let whole = 150_000.0
  /// Other traffic has shown that the path carries more, above this × ceiling.
  private static let provenAbove = 1.5
  /// Standing delay that counts as no queue, × scatter.
  private static let scatterMargin = 2.0
  /// It rises while the standing delay is below this × target; at 2.5 × audio is too much.
  private static let shortQueue = 1.5
  /// Shares a second.
  private static let rise = 0.1
  private static let slowRise = 0.02
  /// Of the rate at which audio was too much.
  private static let near = 0.8
  private static let beyond = 1.1
  /// The path may be another one by then.
  private static let caution = Duration.seconds(30)
  /// By so much the queue should have fallen before it is judged, µs.
  private static let trial = 100_000.0
  /// Of that, what a queue of audio's own falls by at the least.
  private static let leastFall = 0.3
}
