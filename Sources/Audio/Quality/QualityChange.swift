/// The quality has become bad, or good again: why, and the numbers of the two seconds that decided.
package struct QualityChange: Equatable, Sendable {
  /// Why it is bad, as far as the receiver can tell.
  package enum Cause: String, Sendable {
    /// Frames do not arrive, and nothing repairs them in time; or nothing at all arrives, and
    /// whether it is the path or the other host cannot be told.
    case loss
    /// They arrive, but too late; or so irregularly that they are heard more than 400 ms later.
    case jitter
    /// They arrive regularly, but are heard more than 400 ms later.
    case delay
    /// The path carries too little: a queue grows, or the sender saves what headers cost.
    case bandwidth
    /// The other side is there, but sends no sound, or bad sound.
    case farEnd
  }

  package let isBad: Bool
  /// The estimate for the window that decided, 1...4.6.
  package let score: Double
  /// `nil` when it is good again.
  package let cause: Cause?
  /// Share of frames lost before anything repaired them, 0...1.
  package let lostFraction: Double
  /// Share of frames that nothing brought in time, 0...1.
  package let residualLostFraction: Double
  /// How long nothing had come, in seconds of sound; `nil` where packets came.
  package internal(set) var silentSeconds: Double?
  /// Share of the sound that was made up, 0...1.
  package let concealedFraction: Double
  /// 0 while it is not known.
  package let mouthToEarMilliseconds: Double
  /// What the sender spends on the frames themselves.
  package let bitsPerSecond: Int

  init(
    isBad: Bool, score: Double, cause: Cause?, from first: QualityMonitor.Totals,
    to last: QualityMonitor.Totals, _ surroundings: QualitySurroundings
  ) {
    self.isBad = isBad
    self.score = score
    self.cause = cause
    lostFraction = last.lostFraction(since: first) ?? 0
    residualLostFraction = last.missingFraction(since: first) ?? 0
    let samples = Double(max(1, last.samples &- first.samples))
    concealedFraction = Double(last.concealed &- first.concealed) / samples
    mouthToEarMilliseconds = surroundings.mouthToEarMilliseconds
    bitsPerSecond = surroundings.bitsPerSecond
  }
}
