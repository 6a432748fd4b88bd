import Primitives

/// Whether a peer goes on, or says goodbye: last words first, then CLOSE to everybody.
enum PeerLife {
  case running
  case ending(since: Instant)
  /// CLOSE is on its way to everybody.
  case over

  mutating func end(now: Instant) { if case .running = self { self = .ending(since: now) } }

  var isRunning: Bool { if case .running = self { true } else { false } }

  var isOver: Bool { if case .over = self { true } else { false } }

  /// When last words are given up.
  ///
  /// - Parameter latest: When the machine last had something to do.
  func nextDeadline(latest: Instant) -> Instant? {
    guard case .ending(let began) = self else { return nil }
    let early = began + Self.lastWordPatience
    return latest < early ? early : began + Self.longestPatience
  }

  /// For receipts of what the rendezvous has taken: it delivers by itself.
  static let lastWordPatience = Duration.milliseconds(500)
  /// For receipts while the rendezvous takes nothing: as long as a last word is repeated.
  static let longestPatience = Duration.seconds(8)
}
