package import Earshot
package import Primitives

/// How often others may cause a line. A person who mutes and writes stays far below.
package struct PeersAllowance: Sendable {
  /// Lines of files: 200 at once, and then 50 a second.
  package static let lines = PeersAllowance(interval: 20_000_000, burst: 200)
  /// Sentences for people: 40 at once, and then one a second.
  package static let sentences = PeersAllowance(interval: 1_000_000_000, burst: 40)

  private let interval: UInt64
  private let burst: UInt64
  /// When the allowance is whole again, in nanoseconds of the clock.
  private var wholeAt: UInt64 = 0
  private var leftOut = 0

  private init(interval: UInt64, burst: UInt64) {
    self.interval = interval
    self.burst = burst
  }

  /// Whether one more is allowed; it is counted either way.
  package mutating func spend(now: Instant) -> Bool {
    let due = max(wholeAt, now.nanoseconds) + interval
    guard due <= now.nanoseconds + burst * interval else {
      leftOut += 1
      return false
    }
    wholeAt = due
    return true
  }

  /// How many were left out since this was last asked; `nil` = none.
  package mutating func takeLeftOut() -> Int? {
    defer { leftOut = 0 }
    return leftOut > 0 ? leftOut : nil
  }
}

extension ChannelStep {
  /// Whether members can bring it about as often as they like: who comes and goes, and with what.
  package var isUpToOthers: Bool {
    switch self {
    case .userJoined, .userOffline, .audienceJoined, .audienceLeft, .memberChecked,
      .memberReturned:
      true
    default: false
    }
  }
}
