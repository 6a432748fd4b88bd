/// The loudness of what is heard in pauses, to tell a pause from speech.
struct NoiseFloor: Sendable {
  private var floor: Float = 1_000_000

  /// Takes the mean square of the next stretch of sound.
  ///
  /// - Returns: whether that stretch is a pause: within 9 dB of the floor (as libwebrtc has it) or
  ///   below -60 dBFS, and in no case above -38 dBFS.
  mutating func isPassive(energy: Float) -> Bool {
    floor = min(floor * Self.rise, max(energy, 1))
    return energy <= threshold
  }

  /// The mean square up to which a stretch is a pause.
  var threshold: Float { min(Self.loudestPause, max(8 * floor, Self.faintest)) }

  /// 2 dB a second, at one stretch each 10 or 20 ms.
  private static let rise: Float = 1.008
  /// Mean squares of 16-bit samples at -60 and -38 dBFS.
  private static let faintest: Float = 1_074
  private static let loudestPause: Float = 170_000
}
