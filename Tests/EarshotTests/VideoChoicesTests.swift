import Peer
import Primitives
import Testing
import Video
import Wire

@testable import Earshot

/// What is chosen and switched of media, without a call.
@Suite struct VideoChoicesTests {
  /// A picture whose left upper pixel alone is bright, turned as `rotation` says.
  @Test(
    arguments: [
      (VideoRotation.none, 4, 2, 0, 0), (.quarter, 2, 4, 1, 0), (.half, 4, 2, 3, 1),
      (.threeQuarters, 2, 4, 0, 3),
    ] as [(VideoRotation, Int, Int, Int, Int)])
  func `a picture is turned clockwise`(
    rotation: VideoRotation, width: Int, height: Int, x: Int, y: Int
  ) throws {
    var picture = try #require(VideoPicture(width: 16 * 4, height: 16 * 2))
    picture.i420.bytes[0] = 200
    picture.rotation = rotation
    let upright = picture.upright()
    #expect(upright.width == 16 * width && upright.height == 16 * height)
    #expect(upright.rotation == .none)
    let column = x == 0 ? 0 : upright.width - 1
    let row = y == 0 ? 0 : upright.height - 1
    #expect(upright.i420.bytes[row * upright.width + column] == 200)
  }

  @Test func `rotations and low pictures go over the wire and back`() {
    for rotation in VideoRotation.allCases {
      #expect(VideoRotation(rotation.wire) == rotation)
    }
    let low = LowVideoStream()
    #expect(LowVideoStream(SmallVideo(low)) == low)
  }

  @Test func `each switch is told apart, and what is muted stays so`() {
    var options = CallOptions(source: Tone())
    options.startsMuted = true
    var switches = MediaSwitches(options)
    #expect(switches.audio.isSilent && !switches.video.isSilent && switches.wire == [])
    switches.audio.isOff = true
    switches.video.isCaptureOff = true
    #expect(switches.audio.isUnwanted && !switches.video.isUnwanted)
    #expect(switches.wire == [.audioOff, .videoSourceOff])
    switches.audio.isOff = false
    #expect(switches.audio.isSilent)
  }

  @Test func `a turn holds from its media time on, also where that wraps`() {
    var turns = PictureTurns()
    turns.appendRotation(.quarter, from: 0xFF_FFF0)
    #expect(turns.rotation(at: 0xFF_FFE0) == .none)
    #expect(turns.rotation(at: 0x10) == .quarter)
    turns.appendRotation(.none, from: 0x20)
    #expect(turns.rotation(at: 0x1F) == .quarter && turns.rotation(at: 0x20) == .none)
  }

  @Test func `a message waits for its sound, and not for one that will not be heard`() throws {
    #expect(DataStreams.wait(for: 150, heard: 1_000_000_000) == .milliseconds(500))
    #expect(DataStreams.wait(for: 50, heard: 1_000_000_000) == .zero)
    #expect(DataStreams.wait(for: 5_000, heard: 1_000_000_000) == .zero)
    #expect(DataStreams.wait(for: 150, heard: nil) == .zero)
    var streams = DataStreams()
    #expect(throws: EarshotError.self) { try streams.set(7, DataStreamOptions()) }
    var timed = DataStreamOptions()
    (timed.isSynchronized, timed.isOrdered) = (true, false)
    try streams.set(8, timed)
    let message = try streams.message([1], stream: 8, heard: 2_000_000_000)
    #expect(message.mediaTime == 200 && !message.isOrdered && message.isReliable)
    #expect(try streams.message([1], stream: 8, heard: nil).mediaTime == nil)
  }
}
