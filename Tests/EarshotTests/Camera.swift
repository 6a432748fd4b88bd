import Earshot
import Primitives
import Reactor
import Synchronization
import Video

/// Test pictures with their number and media time, which remembers when it gave each.
final class Camera: VideoSource {
  let framesPerSecond: Double
  private let picture: TestPicture
  private let rotation: VideoRotation
  private let state = Mutex((number: UInt16(0), given: [UInt16: Instant]()))

  /// - Parameter rotation: How its pictures are turned, all but the first ten.
  init(_ size: PictureSize, framesPerSecond: Double = 30, rotation: VideoRotation = .none) {
    picture = TestPicture(size)
    self.rotation = rotation
    self.framesPerSecond = framesPerSecond
  }

  func read(into picture: inout VideoPicture, at mediaTime: Duration) -> VideoSupply {
    if picture.i420.size != self.picture.size {
      picture = VideoPicture(I420Picture(self.picture.size))
    }
    let number = state.withLock { state in
      defer { state.number &+= 1 }
      state.given[state.number] = SystemClock.now
      return state.number
    }
    picture.rotation = number < 10 ? .none : rotation
    self.picture.draw(
      TestPicture.Stamp(number: number, clock: UInt32(mediaTime / .milliseconds(1))),
      into: &picture.i420)
    return .picture
  }

  /// When the picture of that number was given.
  func moment(of number: UInt16) -> Instant? { state.withLock { $0.given[number] } }
}
