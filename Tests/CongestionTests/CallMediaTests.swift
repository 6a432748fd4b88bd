import Congestion
import Peer
import Primitives
import Testing
import Video
import Wire

@testable import CongestionLab

/// The order and the pace in which the media of a call leaves, with an end as calls have it.
@Suite struct CallMediaTests {
  /// Before the first PING is due.
  private static let begin: UInt64 = 100_000_000

  private static func end() -> LabEnd {
    var random = RandomSource(seed: 3)
    let end = LabEnd.pair(FlowSpec.media.videoSettings, drift: 0, random: &random).sender
    _ = end.handleTimeout(now: end.clock(begin))
    return end
  }

  private static func queueAudio(on end: LabEnd, at time: UInt64) {
    let payload = [UInt8](repeating: 7, count: 80)
    let frame = AudioMediaFrame(length: .milliseconds20, isMarked: false, mediaTime: 0)
    let isQueued = end.media.queueAudio(payload.span, frame, now: end.clock(time))
    #expect(isQueued)
  }

  private static func queuePicture(_ byteCount: Int, on end: LabEnd, at time: UInt64) throws {
    let size = try #require(PictureSize(width: 320, height: 240))
    var bytes = [UInt8](repeating: 9, count: byteCount)
    let place = TemporalPattern(layerCount: 1).place(isKeyFrame: true)
    let number = end.media.sendVideo(
      EncodedFrame(
        isKeyFrame: true, size: size, place: place, quantizer: 30, byteCount: byteCount),
      bytes: &bytes, mediaTime: UInt32(time / 1_000), on: end.association, now: end.clock(time))
    #expect(number != nil)
  }

  /// Everything that leaves at one moment.
  private static func poll(_ end: LabEnd, at time: UInt64) -> [(sendClass: SendClass, bytes: Int)] {
    var all: [(SendClass, Int)] = []
    while let packet = end.poll(now: end.clock(time)) {
      all.append((packet.sendClass, packet.bytes.count + 28))
    }
    return all
  }

  @Test func `a key frame leaves at the rate, not at once`() throws {
    let end = Self.end()
    try Self.queuePicture(5_000, on: end, at: Self.begin)
    let rate = try #require(end.association.uplink).gate.rate
    var sent = 0
    for step in 0..<200 as Range<UInt64> {
      for packet in Self.poll(end, at: Self.begin + step * 1_000_000) where sent < 5_000 {
        #expect(packet.sendClass == .video)
        // What left before has had its time, but for 2 ms.
        #expect(Double(sent) * 8 <= rate * Double(step + 2) / 1_000 + 1)
        sent += packet.bytes
      }
    }
    #expect(sent >= 5_000)
  }

  @Test func `audio waits for no picture`() throws {
    let end = Self.end()
    try Self.queuePicture(12_000, on: end, at: Self.begin)
    #expect(Self.poll(end, at: Self.begin).map(\.sendClass) == [.video])
    #expect(Self.poll(end, at: Self.begin + 100_000).isEmpty)
    Self.queueAudio(on: end, at: Self.begin + 200_000)
    #expect(Self.poll(end, at: Self.begin + 200_000).map(\.sendClass) == [.audio])
    let wake = try #require(end.nextDeadline(after: Self.begin + 200_000))
    #expect(wake > Self.begin + 1_000_000 && wake < Self.begin + 100_000_000)
  }

  @Test func `audio goes before a picture that was there first`() throws {
    let end = Self.end()
    try Self.queuePicture(3_000, on: end, at: Self.begin)
    Self.queueAudio(on: end, at: Self.begin)
    #expect(Self.poll(end, at: Self.begin).first?.sendClass == .audio)
  }

  @Test func `without leave nothing goes out`() throws {
    let end = Self.end()
    Self.queueAudio(on: end, at: Self.begin)
    end.media.mayStart = false
    #expect(Self.poll(end, at: Self.begin).isEmpty)
    #expect(end.media.videoDemand(on: end.association, now: end.clock(Self.begin)) == nil)
  }
}
