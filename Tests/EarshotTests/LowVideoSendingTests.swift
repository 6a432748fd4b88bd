import Peer
import Testing
import Video

@testable import Earshot

/// The encoder of a low stream.
struct LowVideoSendingTests {
  @Test func `pictures fit into the box, and each begin is a key frame`() throws {
    let size = try #require(PictureSize(width: 640, height: 360))
    let picture = I420Picture(size)
    var low = LowVideoSending(framesPerSecond: 30)
    var demand = VideoDemand(bitsPerSecond: 100_000, needsKeyFrame: false)
    #expect(try low.encode(picture, milliseconds: 0, demand) == nil, "there is no box")
    demand.box = PictureSize(width: 160, height: 90)
    demand.framesPerSecond = 15
    for begin in [0, 1000] as [Int64] {
      var frames: [EncodedFrame] = []
      for step in 0..<10 as Range<Int64> {
        let frame = try low.encode(picture, milliseconds: begin + step * 33, demand)
        if let frame { frames.append(frame) }
      }
      #expect(frames.count == 5 && frames.allSatisfy { $0.stream == 1 && $0.size.width == 160 })
      #expect(frames.map(\.isKeyFrame) == [true, false, false, false, false])
      low.stop()
    }
  }
}
