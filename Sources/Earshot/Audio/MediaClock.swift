internal import Synchronization

/// Ties media time to moments of this host, for two threads of a call: the audio's thread says what
/// is read or heard when, the video's asks. Neither waits for the other.
final class MediaClock: Sendable {
  /// The moment of media time 0, in nanoseconds; may lie before the host's own zero.
  private let origin: Atomic<Int64>
  /// When that was last said; 0 = never.
  private let noted = Atomic<UInt64>(0)

  /// Runs from `start` until somebody knows better.
  init(start: Instant) { origin = Atomic(Int64(clamping: start.nanoseconds)) }

  /// `media` nanoseconds of media time are reached at `moment`.
  func set(_ media: Int64, at moment: Instant) {
    origin.store(Int64(clamping: moment.nanoseconds) &- media, ordering: .relaxed)
    noted.store(moment.nanoseconds, ordering: .releasing)
  }

  /// Media time at `moment`, in nanoseconds.
  func nanoseconds(at moment: Instant) -> Int64 {
    Int64(clamping: moment.nanoseconds) &- origin.load(ordering: .relaxed)
  }

  /// When media time was last said to be somewhere, and where it was; `nil` before the first time.
  var lastNote: (media: Int64, at: Instant)? {
    let at = noted.load(ordering: .acquiring)
    guard at > 0 else { return nil }
    let moment = Instant(nanoseconds: at)
    return (nanoseconds(at: moment), moment)
  }

  /// Nanoseconds as the wire counts them in VIDEO: 10 ms / 256 in 24 bits (docs/protocol/frames.md
  /// §10).
  static func ticks(_ nanoseconds: Int64) -> UInt32 {
    UInt32(truncatingIfNeeded: nanoseconds &* 256 / 10_000_000) & 0xFF_FFFF
  }

  /// The other way.
  static func duration(ofTicks ticks: UInt32) -> Duration {
    .nanoseconds(Int64(ticks) * 10_000_000 / 256)
  }
}
