/// What a report means: grades, uses, advice, and a sentence for people. A pure function of the
/// report; total, and monotonic: a line that is better in one thing is rated no worse.
public struct LineRating: Sendable, Equatable {
  /// The worse of the probed directions; `unknown` where nothing was measured for another reason
  /// than the line.
  public var grade: LineGrade
  /// This host to the other end.
  public var uplinkGrade: LineGrade
  /// The other end to this host.
  public var downlinkGrade: LineGrade
  /// What the line can be used for.
  public var fitness: Fitness
  /// How a call over it should begin; `nil` when nothing was measured.
  public var recommended: RecommendedSettings?
  /// How speech will probably sound; `nil` when loss or delay was not measured.
  public var speech: SpeechPrediction?
  /// One sentence that says it all.
  public var sentence: String

  /// Rates a report.
  ///
  /// - Parameters:
  ///   - report: what was measured.
  ///   - listeningBasis: what the listening model rests on.
  ///   - listening: the score of speech without delay; see `SpeechPrediction`.
  public init(
    _ report: LineReport, listeningBasis: String,
    listening: (SpeechPrediction.Speech) -> Double
  ) {
    uplinkGrade = .of(report.uplink, report.idleRoundTrip)
    downlinkGrade = .of(report.downlink, report.idleRoundTrip)
    fitness = Fitness(report)
    if report.state == .unavailable {
      grade = [.noAnswer, .noPath].contains(report.ending) ? .down : .unknown
    } else {
      grade = max(uplinkGrade, downlinkGrade)
      let settings = RecommendedSettings(report)
      recommended = settings
      speech = SpeechPrediction(
        report, settings, listeningBasis: listeningBasis, listening: listening)
    }
    sentence = LineSentence.text(
      report, fitness, uplink: uplinkGrade, downlink: downlinkGrade)
  }
}
