import Primitives

/// Whether somebody is mute for somebody who should hear it, and since when.
struct VoiceWatch {
  private struct Pair: Hashable {
    let listener: Int
    let host: Int
  }

  /// Since when the listener has had to hear the host.
  private var since: [Pair: Instant] = [:]
  /// When it did so last.
  private var heard: [Pair: Instant] = [:]
  private var isTold: Set<Pair> = []
  /// The longest time that somebody was mute.
  private(set) var longest = Duration.zero

  mutating func recordFrame(of host: Int, at listener: Int, now: Instant) {
    heard[Pair(listener: listener, host: host)] = now
  }

  /// Something has happened because of which nobody need be heard at once.
  mutating func restart() { since = [:] }

  /// - Parameter isEntitled: Both are there and know of each other, and the host speaks.
  /// - Returns: How long the host has been mute, where that is longer than it may be; once each.
  mutating func look(
    _ listener: Int, _ host: Int, isEntitled: Bool, now: Instant
  ) -> Duration? {
    let pair = Pair(listener: listener, host: host)
    guard isEntitled else {
      since[pair] = nil
      isTold.remove(pair)
      return nil
    }
    let start = since[pair] ?? now
    since[pair] = start
    let silence = now - max(start, heard[pair] ?? .zero)
    longest = max(longest, silence)
    guard silence > Self.bound else {
      isTold.remove(pair)
      return nil
    }
    return isTold.insert(pair).inserted ? silence : nil
  }

  /// Nobody is mute for more than 2 s.
  static let goal = Duration.seconds(2)
  /// What holds in all of 5000 worlds: two miss the goal by 0.1 and 0.2 s (Benchmarks/README.md).
  private static let bound = Duration.milliseconds(2300)
}
