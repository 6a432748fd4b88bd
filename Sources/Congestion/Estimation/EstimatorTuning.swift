/// The constants of the estimator, and where they come from (docs/congestion.md). Times are in
/// microseconds.
package struct EstimatorTuning: Sendable, BitwiseCopyable {
  package var pacingGain = 1.1
  /// The same where padding fills what frames leave: the queue is then asked at all times, and what
  /// leaves ahead of it only stands in it, in front of the audio. At the start it is as usual.
  package var filledPacingGain = 1.04
  /// Of padding that fills up what the encoder leaves.
  package var fillGain = 1.07
  package var slack = 0.0
  package var rateSpan = 60_000.0
  package var startVelocity = 1.0
  package var leastVelocity = 0.07
  package var mostVelocity = 0.5
  package var returnVelocity = 0.5
  package var slowMemory = 2_000_000.0
  package var fairness = 0.1
  package var leastBusy = 3_000.0
  /// Packets that a standing queue must have been seen by, where they come within this time: where
  /// few are sent a line that serves in turns would seem to have one. What is older says nothing
  /// of now, on a slow line least of all.
  package var usuallySeen = 6
  package var longestSeen: Int64 = 200_000
  /// Of the estimate: where less arrives, and the queue is short, it says nothing of the capacity.
  package var usedShare = 0.65
  package var capacityMemory = 120_000.0
  package var pull = 0.3
  package var mostCut = 0.25
  package var mostRaise = 0.1
  package var overloadGuard = 10_000.0
  package var reference = 2_000_000.0
  package var targetAtReference = 7_300.0
  package var leastTarget = 3_000.0
  package var calmShare = 0.5
  package var mostTarget = 13_500.0
  /// How much of the scatter beyond the usual of frames is added to the target.
  package var scatterShare = 0.5
  package var scatterFree = 4_000.0
  /// Of the packets; above it the start is over.
  package var startLoss = 0.3
  package var markWeight = 0.06
  /// Without a report, after which the path counts as silent.
  package var silence = 600_000.0
  package var priorShare = 0.95
  package var markedPacingGain = 1.02
  /// A round trip, at the reference rate, on a path that marks.
  package var markedGrowth = 0.01
  /// Of the capacity that marks tell of, how fast it is taken over: a part of it a round trip.
  package var markedMemory = 1.0
  /// A round trip, times the share of marked packets.
  package var markedCut = 0.4
  /// Of the capacity: no cut goes below the one, and up to the other the way back is quick.
  package var markedLeast = 0.88
  package var markedReturn = 0.95
  /// Of the target: with a longer queue marks are not enough.
  package var markedDelay = 4.0
  /// Since the least delay was last seen, after which it is looked for; it is forgotten in 30 s.
  package var mostUntouched: Int64 = 12_000_000
  /// Of the capacity, while it is looked for.
  package var soundingShare = 0.7
  /// Of a round trip and a report's interval: a queue that is gone sooner went by itself; and what
  /// of the rate before it holds then.
  package var spellShare = 1.05
  package var spellReturn = 0.95
  /// What may always be added to what was acknowledged, in bit/s.
  package var growthRate = 20_000.0
  /// Of delay that came at once: from what on; against the time that the packets behind take on the
  /// line, how slow and how fast they may come; how much is believed, and how fast it must go.
  package var leastForeign = 2_500.0
  package var foreignSlowness = 1.25
  package var foreignHaste = 0.65
  package var mostForeign = 70_000.0
  package var foreignLeak = 0.1
  package var flightShare = 0.97
  package var growthShare = 1.6
  package var reportShare = 1.05
  package var scatterGuard = 3.0
  /// Scatter with which restlessness begins: this, and so many packets at the estimate; and from
  /// there to the whole of it. Over how long it is seen: one change of the capacity is none.
  package var restlessFrom = 6_500.0
  package var restlessPackets = 0.3
  package var restlessSpan = 5_000.0
  package var restlessMemory = 10_000_000.0
  /// On a restless line frames leave faster, so that what it carries shows, where what they leave
  /// is filled only from a share of restlessness on; less waits for reports;
  /// more scatter is no overload; under way is no more than a round trip and this time at the
  /// usual rate; the target is halved less after a drain.
  package var restlessGain = 1.5
  package var filledRestlessness = 0.3
  package var restlessReportShare = 0.35
  package var restlessScatterGuard = 3.0
  package var usualFlight = 115_000.0
  package var restlessCalm = 0.15
  /// How much longer a drain may take there until somebody else must be in the queue.
  package var restlessPatience = 2.0
  /// Of the usual rate.
  package var usualMemory = 2_000_000.0
  /// A round trip and a report's interval, after an outage, in which what was before it is tried.
  package var resumption = 1.0

  /// IPv4 and UDP.
  static let headerByteCount = 28

  package init() {}

  /// ratio^−0.75 without a C library: two square roots.
  static func powerLaw(_ ratio: Double) -> Double {
    let root = max(ratio, 1e-6).squareRoot()
    return 1 / (root * root.squareRoot())
  }
}
