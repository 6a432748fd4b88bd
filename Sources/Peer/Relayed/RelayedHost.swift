import Primitives
import Wire

/// What has come of one host by a relay: frames that wait for the pipeline, and counts.
///
/// Of silence the relay passes on a frame a second, and of more than three who speak the loudest
/// (docs/protocol/relay.md §4). What it leaves out is not lost.
struct RelayedHost {
  var queue: AudioFrameQueue
  private(set) var counters = MediaCounters()
  /// Frames that the relay has left out so far, mod 2^16.
  private(set) var leftOut: UInt16 = 0
  /// The last frame says that nothing is to be heard.
  private(set) var isSilent = false
  private var last: (mediaTime: UInt16, steps: UInt16, at: Instant)?

  init(capacity: Int) { queue = AudioFrameQueue(capacity: capacity) }

  /// A frame has opened that came in its own packet.
  ///
  /// - Parameter lastOther: when a frame of another host came last.
  mutating func recordFrame(
    _ label: ChannelAudioLabel, byteCount: Int, lastOther: Instant?, now: Instant
  ) {
    counters.recordReceived(byteCount: byteCount, now: now)
    let steps = max(1, UInt16(clamping: label.length.mediaTimeSteps))
    if let last {
      let ahead = label.mediaTime &- last.mediaTime
      // One that was overtaken ends no gap.
      guard (1..<Self.farthest).contains(ahead) else { return }
      let isChosen =
        now >= last.at + Self.leastPause && lastOther.map { $0 >= last.at + Self.pause } ?? false
      if isSilent || isChosen, ahead > last.steps { leftOut &+= (ahead &- last.steps) / steps }
    }
    last = (label.mediaTime, steps, now)
    isSilent = label.isSilent
  }

  /// Half of what 16 bits hold, in steps of 10 ms: 327 s.
  private static let farthest: UInt16 = 1 << 15
  /// A host that the relay leaves out is missing for that long at least while others are heard: a
  /// line that loses as much of one loses the others' as well.
  private static let leastPause = Duration.milliseconds(500)
  private static let pause = Duration.milliseconds(400)
}
