/// How much faster than the estimate packets leave.
package struct PacingGain: Sendable, BitwiseCopyable {
  /// Usual, × estimate, at least 1: frames leave a little faster than they come. Tuned.
  package var usual = 1.1
  /// Where padding fills what frames leave, × estimate, at least 1. Tuned: the queue is then asked
  /// at all times, and what leaves ahead of it only stands in front of the audio.
  package var filled = 1.04
  /// On a path that marks, × estimate, at least 1. Tuned.
  package var marked = 1.02
  /// What delay variability of 1 adds, so that what the line carries shows. Tuned.
  package var variable = 1.5
  /// Variability that filling makes by itself, 0 to 1: below it nothing is added. Tuned.
  package var filledVariability = 0.3
  /// What padding may fill up to, × estimate, at least 1. Tuned.
  package var fill = 1.07

  package init() {}

  /// - Parameter variability: Of the delay, 0 to 1.
  func value(isFilled: Bool, isStarting: Bool, variability: Double) -> Double {
    let free = isFilled ? filledVariability : 0
    let gain = isFilled && !isStarting ? filled : usual
    return gain + variable * max(0, (variability - free) / (1 - free))
  }
}
