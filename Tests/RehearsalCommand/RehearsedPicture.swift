import Peer
import Primitives
import Video
import Wire

/// One end's picture as its thread runs it for each picture of the source
/// (`Earshot/Video/VideoSending.swift`): the test picture of `--video test`, the ladder and libvpx.
/// Only the time that encoding takes is left out.
struct RehearsedPicture: ~Copyable {
  private let test = TestPicture(VideoLadder.usual.box)
  private var picture = I420Picture(VideoLadder.usual.box)
  private var encoder: AdaptiveEncoder?
  private var demand: VideoDemand?
  private var bytes: [UInt8] = []
  private var drawn = 0
  static let interval = Duration.nanoseconds(33_333_333)

  /// - Parameter media: since the sound began.
  mutating func tick(
    _ machine: inout PeerMachine, of call: CallID, media: Duration, now: Instant
  ) throws(VPXError) {
    let milliseconds = media.milliseconds
    drawn += 1
    if let wanted = demand {
      demand?.needsKeyFrame = false
      test.draw(
        TestPicture.Stamp(number: UInt16(truncatingIfNeeded: drawn), clock: UInt32(milliseconds)),
        into: &picture)
      if let frame = try encode(wanted, milliseconds, now) {
        let ticks = UInt32(truncatingIfNeeded: media.nanoseconds &* 256 / 10_000_000) & 0xFF_FFFF
        _ = machine.sendVideo(frame, bytes: &bytes, mediaTime: ticks, on: call, now: now)
      }
    }
    // As the loop says it when the thread has signalled; a key frame that is owed stays owed.
    let isOwed = demand?.needsKeyFrame == true
    demand = machine.videoDemand(of: call, now: now, ahead: Self.interval)
    if isOwed { demand?.needsKeyFrame = true }
  }

  private mutating func encode(
    _ wanted: VideoDemand, _ milliseconds: Int64, _ now: Instant
  ) throws(VPXError) -> EncodedFrame? {
    if encoder == nil {
      encoder = try AdaptiveEncoder(
        size: picture.size, framesPerSecond: 30, bitsPerSecond: wanted.steadyBitsPerSecond)
    }
    return try encoder?.encode(
      picture, milliseconds: milliseconds,
      demand: AdaptiveEncoder.Demand(
        bitsPerSecond: wanted.bitsPerSecond, steadyBitsPerSecond: wanted.steadyBitsPerSecond,
        needsKeyFrame: wanted.needsKeyFrame),
      now: now, into: &bytes) ?? nil
  }
}
