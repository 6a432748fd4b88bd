import Primitives

/// When the peer was last heard, and from when on its silence means something.
///
/// Five packets missing in a row is a sign that the path is gone; how far apart they are is
/// learnt. A peer that sends no media says PING each second.
struct Hearing: Sendable {
  enum Expectation: Sendable { case nothing, keepAlive, media }

  private(set) var expectation = Expectation.nothing
  private(set) var last: Instant?
  /// Between two packets, smoothed with 1/8, in ns.
  private var spacing = longestSpacing

  mutating func notePacket(now: Instant) {
    if let last {
      let gap = min(Int64(clamping: now.nanoseconds(since: last)), Self.longestSpacing)
      spacing += (gap - spacing) / 8
    }
    last = now
  }

  /// An answer came: no part of the media, but a sign of life.
  mutating func noteAnswer(now: Instant) { last = now }

  mutating func begin(_ expectation: Expectation, now: Instant) {
    self.expectation = expectation
    last = max(last ?? now, now)
  }

  /// When silence becomes suspicious unless something comes.
  func silentAt(_ policy: PathPolicy) -> Instant? {
    guard let last else { return nil }
    switch expectation {
    case .nothing: return nil
    case .keepAlive: return last + policy.keepAliveSilence
    case .media:
      let typical = Duration.nanoseconds(spacing * Self.missing)
      return last + min(max(typical, policy.silence), policy.longestSilence)
    }
  }

  /// Packets missing in a row.
  private static let missing: Int64 = 5
  /// Longer gaps are no spacing of media but silences, in ns.
  private static let longestSpacing: Int64 = 100_000_000
}
