package import Primitives

/// When a picture is to be shown so that it goes with the sound.
///
/// Both media count the same time of the sender (docs/protocol/frames.md §5, §10): a picture is due
/// when the sound of its media time is heard.
package struct LipSync: Sendable {
  /// What was heard last: which media time (in 10 ms) at which moment.
  private var heard: (mediaTime: UInt16, at: Instant)?

  package init() {}

  /// The sound of `mediaTime` is heard `now`.
  package mutating func handleHeard(mediaTime: UInt16, now: Instant) { heard = (mediaTime, now) }

  /// When to show the picture of `mediaTime` (in 10 ms / 256): `now` without sound, or where the
  /// two are so far apart that they cannot belong together.
  package func showTime(of mediaTime: UInt32, now: Instant) -> Instant {
    guard let heard, now - heard.at < Self.memory else { return now }
    let due = heard.at + .nanoseconds(Int64(Self.ticks(mediaTime, heard.mediaTime)) * 39_062)
    return due > now && due - now <= Self.longestWait ? due : now
  }

  /// How far the picture, shown `now`, is behind its sound; negative: before it.
  package func offset(of mediaTime: UInt32, now: Instant) -> Duration? {
    guard let heard, now - heard.at < Self.memory else { return nil }
    return now - heard.at - .nanoseconds(Int64(Self.ticks(mediaTime, heard.mediaTime)) * 39_062)
  }

  /// From the sound to the picture, in 10 ms / 256; both wrap together at 24 bits.
  private static func ticks(_ picture: UInt32, _ sound: UInt16) -> Int32 {
    Int32(truncatingIfNeeded: (picture &- UInt32(sound) << 8) << 8) >> 8
  }

  /// Longer ago no sound says anything about the present.
  private static let memory = Duration.seconds(2)
  /// Further ahead a picture is not held.
  private static let longestWait = Duration.milliseconds(500)
}
