/// Keeps a queue between two clocks short and never empty: watches its least level and says by how
/// much more than time passes is to be taken from it.
///
/// The least level of a second is what delay could be saved; its changes from second to second are
/// the drift of one clock against the other. A share of 0.1 % is no audible change of pitch.
package struct DriftServo {
  /// Seconds that the queue is to hold where it is lowest.
  package private(set) var target: Double
  /// The share by which more (or less) is to be taken, at most `most` each way.
  package private(set) var correction = 0.0
  /// The least level of the last whole window, in seconds; `nil` before there was one.
  package private(set) var leastLevel: Double?

  private let firstTarget: Double
  private var least = Double.infinity
  private var observed = 0.0

  /// - Parameter target: in seconds.
  package init(target: Double) {
    self.target = target
    firstTarget = target
  }

  /// The queue's level, where it is lowest in a cycle.
  ///
  /// - Parameters:
  ///   - level: in seconds.
  ///   - elapsed: seconds since the last one.
  /// - Returns: Whether a window ended with it.
  @discardableResult
  package mutating func handle(level: Double, elapsed: Double) -> Bool {
    least = min(least, level)
    observed += elapsed
    guard observed >= Self.window else { return false }
    leastLevel = least
    correction = min(max((least - target) / Self.horizon, -Self.most), Self.most)
    target = max(firstTarget, target - Self.relief)
    least = .infinity
    observed = 0
    return true
  }

  /// The queue ran empty: its other end is less even than was thought.
  package mutating func handleEmpty() {
    target = min(target + Self.step, firstTarget + Self.mostMore)
  }

  /// A part was thrown away, or there is a new beginning.
  package mutating func restart() {
    least = .infinity
    observed = 0
    correction = 0
    leastLevel = nil
  }

  /// Seconds. Longer than the longest usual period of a sound server.
  private static let window = 1.0
  /// Seconds in which an excess is to be gone.
  private static let horizon = 2.0
  /// Quartz is good to 0.01 %, a bad one to 0.1 %; above 0.5 % voices change.
  private static let most = 0.005
  /// Seconds more after an empty queue, and at most; a guess.
  private static let step = 0.006
  private static let mostMore = 0.012
  /// Seconds less after each window without: a step in 100 s.
  private static let relief = 0.000_05
}
