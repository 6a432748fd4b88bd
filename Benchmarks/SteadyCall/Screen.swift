import Earshot
import Video

/// The test picture at 1280×720, 30 a second. Drawing it is part of the thread that encodes.
final class Screen: VideoSource, @unchecked Sendable {
  // Sendable: the video's thread alone reads.
  let framesPerSecond = 30.0
  private let picture = TestPicture(VideoLadder.usual.box)
  private var number: UInt16 = 0

  func read(into picture: inout VideoPicture, at mediaTime: Duration) -> VideoSupply {
    if picture.i420.size != self.picture.size {
      picture = VideoPicture(I420Picture(self.picture.size))
    }
    let clock = UInt32(truncatingIfNeeded: Int64(mediaTime / .milliseconds(1)))
    self.picture.draw(TestPicture.Stamp(number: number, clock: clock), into: &picture.i420)
    number &+= 1
    return .picture
  }
}

/// Looks away.
final class Viewer: VideoSink {
  func show(_ picture: borrowing VideoPicture, _ moment: VideoMoment) {}
  func finish() {}
}
