import Primitives

/// How long to wait between two attempts to register (docs/protocol/session.md §2).
///
/// An attempt with a known card is never silent for more than 3.4 s, and the longest wait is
/// 6.25 s: a rendezvous that is back is found within 10 s, however long it was away. That costs the
/// network about 1 kB/s. The jitter keeps those who lost it together from coming back together.
enum RegistrationBackOff {
  /// - Parameters:
  ///   - failures: attempts in a row that came to nothing, from 1.
  ///   - chance: 0..<1.
  static func wait(after failures: Int, isInCall: Bool, chance: Double) -> Duration {
    let seconds = isInCall ? 0.5 : min(mostSeconds, Double(1 << min(max(failures, 1) - 1, 5)))
    return .milliseconds(Int64(seconds * (0.75 + 0.5 * chance) * 1000))
  }

  /// Before jitter, in s.
  private static let mostSeconds = 5.0
}
