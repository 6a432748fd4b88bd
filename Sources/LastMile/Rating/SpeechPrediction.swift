/// How speech over a probed line will probably sound, 1...5, as a call on it will say it: listening
/// quality of what is left after repair.
public struct SpeechPrediction: Sendable, Equatable {
  /// Listening quality, 1...5: what a call reports as `mos`, on the scale of the listening model.
  public var mos: Double
  /// The same less what delay takes from a conversation.
  public var conversationMos: Double
  /// Of what this side sends, the share that will not be repaired; `nil` where its loss was not
  /// measured.
  public var uplinkResidualLoss: Double?
  /// The same of what this side receives.
  public var downlinkResidualLoss: Double?
  /// What the scores rest on.
  public var basis: String

  /// What a listening model is told: how the stream reaches the ear.
  public struct Speech: Sendable, Equatable {
    /// Of the audio alone.
    public var bitsPerSecond: Int
    /// Share of the sound that has to be made up, 0...1.
    public var concealedFraction: Double
    /// Mean length of a concealment in frames of 20 ms.
    public var meanConcealedRun: Double
  }

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
    // Both sides send alike: what the narrower direction has room for.
    let rate = RecommendedSettings.leastRate(directions)
    let room = rate.map(RecommendedSettings.payloadRoom)
    let begin = rate.map(Self.concealedAtBegin) ?? 0
    func heard(_ speech: Speech) -> Double {
      var speech = speech
      speech.concealedFraction = min(1, speech.concealedFraction + begin)
      return listening(speech)
    }
    func best(_ direction: DirectionReport?) -> Choice? {
      guard let direction, let loss = direction.loss ?? direction.overloadLoss else { return nil }
      return Self.best(
        loss.share, direction.meanLossBurst ?? 1, room, settings.audioBitrate, heard)
    }
    let (up, down) = (best(report.uplink), best(report.downlink))
    guard let worst = [up?.score, down?.score].compactMap(\.self).min(),
      let roundTrip = report.idleRoundTrip
    else { return nil }
    let oneWay =
      roundTrip.delay.p50Ms / 2 + Double(settings.jitterBufferStartMs) + Self.fixedDelayMs
    mos = min(max(worst, 1), 5)
    conversationMos = min(max(worst - Self.harm(ofDelayMs: oneWay), 1), 5)
    uplinkResidualLoss = up?.residualLoss
    downlinkResidualLoss = down?.residualLoss
    basis =
      "\(listeningBasis); what copies repair is not counted; "
      + "in a conversation \(Figures.short(conversationMos)), by the delay term of ITU-T G.107 for "
      + "\(Figures.milliseconds(oneWay)) from mouth to ear"
  }

  /// Share of the sound of a call that is made up because it finds a narrow line's rate by a queue
  /// that grows too long. Fitted to calls of 20 s over 40 and 60 kbit/s (`tools/calibration`).
  static func concealedAtBegin(rate: Double) -> Double {
    let ratio = narrowRate / max(rate, 1)
    return min(mostAtBegin, narrowShare * ratio * ratio)
  }

  private static let narrowRate = 40_000.0
  private static let narrowShare = 0.01
  private static let mostAtBegin = 0.05

  /// How a sender may divide what the line carries.
  private struct Choice {
    var score: Double
    var residualLoss: Double
  }

  /// The best of all divisions between the frames' own bits and copies, as calls look for it.
  private static func best(
    _ loss: Double, _ meanBurst: Double, _ room: Double?, _ bitrate: Int,
    _ listening: (Speech) -> Double
  ) -> Choice {
    var best: Choice?
    for copies in 0...ResidualLoss.mostCopies {
      for rate in RecommendedSettings.audioLadder where rate <= bitrate {
        let taken = Double(rate + copies * bitsPerCopy)
        // The least of all is sent whatever the line carries.
        let isLeast = copies == 0 && rate == RecommendedSettings.audioLadder[0]
        guard isLeast || room.map({ taken <= $0 }) ?? true else { continue }
        let residual = ResidualLoss(of: loss, meanBurst: meanBurst, copies: copies).share
        let score = listening(
          Speech(
            bitsPerSecond: rate, concealedFraction: residual,
            meanConcealedRun: max(1, meanBurst)))
        if score > best?.score ?? 0 { best = Choice(score: score, residualLoss: residual) }
      }
    }
    return best ?? Choice(score: 1, residualLoss: loss)
  }

  /// A low-rate copy in each packet of 20 ms, its header included, in bit/s.
  private static let bitsPerCopy = 12_800

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
