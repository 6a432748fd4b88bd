/// How speech over a probed line will probably sound, 1...5.
public struct SpeechPrediction: Sendable, Equatable {
  /// 1...5; the scale is that of the listening model.
  public var mos: Double
  /// What it rests on.
  public var basis: String

  /// What a listening model is told: how the stream reaches the ear.
  public struct Speech: Sendable, Equatable {
    /// Of the audio alone.
    public var bitsPerSecond: Int
    /// Share of the sound that has to be made up, 0...1; a frame restored from its coarse copy
    /// counts as `restoredWeight` of one.
    public var concealedFraction: Double
    /// Mean length of a concealment in frames of 20 ms.
    public var meanConcealedRun: Double
  }

  /// A frame that was restored from its coarse copy harms this share of what one does that was not.
  public static let restoredWeight = 0.2
  /// Below it Opus spends nothing on coarse copies.
  static let leastBitrateOfFEC = 24_000
  /// Encoder, packet of 20 ms and sound card, beside the line and the jitter buffer.
  static let fixedDelayMs = 40.0

  /// Predicts for the worse of the probed directions.
  ///
  /// - Parameters:
  ///   - report: what was measured.
  ///   - settings: what the call begins with.
  ///   - listening: the score without any delay, 1...5: falls with the concealed share, rises with
  ///     the bit rate.
  ///   - listeningBasis: what that rests on.
  /// - Returns: `nil` when no loss was measured.
  public init?(
    _ report: LineReport, _ settings: RecommendedSettings, listeningBasis: String,
    listening: (Speech) -> Double
  ) {
    let directions = LineDirection.allCases.filter { report.plan.probes($0) }
      .compactMap { report[$0] }
    let scores = directions.compactMap { direction -> Double? in
      guard let loss = direction.loss ?? direction.overloadLoss else { return nil }
      return listening(
        Self.speech(loss.share, direction.meanLossBurst ?? 1, settings.audioBitrate))
    }
    guard let worst = scores.min(), let roundTrip = report.idleRoundTrip else { return nil }
    let oneWay =
      roundTrip.delay.p50Ms / 2 + Double(settings.jitterBufferStartMs) + Self.fixedDelayMs
    mos = min(max(worst - Self.harm(ofDelayMs: oneWay), 1), 5)
    basis =
      "\(listeningBasis); less the delay term of ITU-T G.107 for "
      + "\(Figures.milliseconds(oneWay)) from mouth to ear"
  }

  /// The first frames of a run of losses cannot be restored, the last one can: its coarse copy
  /// rides in the packet after it.
  static func speech(_ loss: Double, _ meanBurst: Double, _ bitrate: Int) -> Speech {
    let run = max(meanBurst, 1)
    let restored = bitrate >= leastBitrateOfFEC ? (1 - min(max(loss, 0), 1)) / run : 0
    return Speech(
      bitsPerSecond: bitrate, concealedFraction: loss * (1 - restored * (1 - restoredWeight)),
      meanConcealedRun: run)
  }

  /// What delay takes from the score: the difference between the E-model's scores without and with
  /// its delay term (ITU-T G.107, in the form of Cole and Rosenbluth 2001).
  static func harm(ofDelayMs delay: Double) -> Double {
    let best = 93.2
    let beyond = max(0, delay - 177.3)
    return score(best) - score(best - 0.024 * max(0, delay) - 0.11 * beyond)
  }

  /// From transmission rating to score (ITU-T G.107, annex B).
  static func score(_ rating: Double) -> Double {
    // The cubic falls below 1 for ratings under 6.5, where the recommendation says 1.
    let rating = min(max(rating, 0), 100)
    return max(1, 1 + 0.035 * rating + 7e-6 * rating * (rating - 60) * (100 - rating))
  }
}
