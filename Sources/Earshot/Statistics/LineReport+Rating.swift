internal import Audio
public import LastMile

extension LineReport {
  /// What the report means: grades, uses, how a call should begin, how it will sound. A pure
  /// function of the report.
  public var rating: LineRating {
    LineRating(self, listeningBasis: MOSEstimate.basis) { speech in
      MOSEstimate(
        bitsPerSecond: speech.bitsPerSecond, concealedFraction: speech.concealedFraction,
        meanConcealedRun: speech.meanConcealedRun
      ).score
    }
  }
}
