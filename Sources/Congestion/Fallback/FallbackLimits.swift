/// When to fall back to audio and when to return. Rates are in bit/s on the line, delays in
/// microseconds, shares 0...1.
package struct FallbackLimits: Sendable, BitwiseCopyable {
  /// Audio and the smallest video: below it video has no use.
  package var needed: Double
  /// What must be shown for a return: 1.5 × `needed`, so that a border rate does not flap.
  package var returnRate: Double
  /// How long the rate must be too low: longer than a drain takes.
  package var rateTime = Duration.seconds(2)
  /// Of the packets; above it video only takes what the audio's repair needs.
  package var mostLoss = 0.15
  /// How long the loss must be that high: longer than a burst.
  package var lossTime = Duration.seconds(3)
  /// A queue that no conversation bears.
  package var mostDelay = 400_000.0
  /// How long the queue must be that long.
  package var delayTime = Duration.seconds(1)
  /// Without a report; the path may be gone.
  package var silenceTime = Duration.seconds(2)
  /// How long video must have been shown to fit; after a relapse twice as long each time.
  package var returnTime = Duration.seconds(2)
  /// The longest that `returnTime` becomes.
  package var mostReturnTime = Duration.seconds(60)
  /// Of `needed`: what must be shown beside somebody who fills the queue, where a share is had or
  /// is not, and no border rate is.
  package var contestedGain = 1.15
  /// How long it must have been shown there.
  package var contestedReturnTime = Duration.seconds(1)
  /// Of the packets; above it there is no return.
  package var mostReturnLoss = 0.05
  /// Out again so soon after a return is a relapse.
  package var relapseTime = Duration.seconds(30)
  /// With video for so long, and the relapses are forgotten.
  package var settledTime = Duration.seconds(120)
  /// How long a probe lasts while it shows nothing yet.
  package var probeTime = Duration.seconds(3)
  /// Between the first two probes; half as long again after each that was in vain.
  package var probePause = Duration.seconds(2)
  /// After a probe that has shown the rate for a while before its queue came, without a relapse.
  package var shownProbePause = Duration.seconds(1)
  /// For how long that is.
  package var shownTime = Duration.milliseconds(500)
  /// The longest that the pause becomes so.
  package var mostVainProbePause = Duration.seconds(4)
  /// The longest that the pause becomes with the relapses: the way back is always found in time.
  package var mostProbePause = Duration.seconds(5)
  /// Above this queueing delay a probe stops: the audio comes first.
  package var mostProbeDelay = 40_000.0
  /// The same while it has not shown the rate yet: a queue before that says that it will not.
  package var mostVainProbeDelay = 20_000.0
  /// How long it must be so long on a line of high delay variability; twice as long a queue counts
  /// at once.
  package var variableProbeTime = Duration.milliseconds(100)
  /// For so long before a return the probe goes beyond what that needs: what is carried then is
  /// what video begins with.
  package var riseTime = Duration.milliseconds(1_500)
  /// Of `returnRate`, in that time.
  package var riseGain = 3.0
  /// Of `returnRate`: with so much carried in that time, for `shownTime`, a queue says that there
  /// is no room for three times what the return needs, and nothing against the return.
  package var risenGain = 1.5
  /// The longest that this queue may be, in microseconds.
  package var mostRisenDelay = 150_000.0

  package init(audio: Double, leastVideo: Double) {
    needed = audio + leastVideo
    returnRate = 1.5 * (audio + leastVideo)
  }
}
