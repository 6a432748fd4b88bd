import Earshot
import Primitives
import Reactor
import Synchronization
import Video

/// Test pictures with their number and media time, which remembers when it gave each.
final class Camera: VideoSource {
  let framesPerSecond: Double
  private let picture: TestPicture
  private let state = Mutex((number: UInt16(0), given: [UInt16: Instant]()))

  init(_ size: PictureSize, framesPerSecond: Double = 30) {
    picture = TestPicture(size)
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
    self.picture.draw(
      TestPicture.Stamp(number: number, clock: UInt32(mediaTime / .milliseconds(1))),
      into: &picture.i420)
    return .picture
  }

  /// When the picture of that number was given.
  func moment(of number: UInt16) -> Instant? { state.withLock { $0.given[number] } }
}

/// Reads the stamps of what is shown, and keeps what is to be recorded.
final class Eye: VideoSink {
  struct Sight: Sendable {
    var stamp: TestPicture.Stamp
    var moment: VideoMoment
    var at: Instant
  }
  let sights = Mutex<[Sight]>([])
  let recorded = Mutex<[VideoMoment]>([])
  let unreadable = Mutex(0)
  let isFinished = Mutex(false)

  func show(_ picture: borrowing VideoPicture, _ moment: VideoMoment) {
    let now = SystemClock.now
    guard let stamp = TestPictureReader.stamp(of: picture.i420) else {
      unreadable.withLock { $0 += 1 }
      return
    }
    sights.withLock { $0.append(Sight(stamp: stamp, moment: moment, at: now)) }
  }

  func record(_ frame: borrowing [UInt8], _ moment: VideoMoment) {
    recorded.withLock { $0.append(moment) }
  }

  func finish() { isFinished.withLock { $0 = true } }

  var count: Int { sights.withLock { $0.count } }
}

extension Array where Element == Double {
  /// The value that `share` of all do not exceed.
  func percentile(_ share: Double) -> Double {
    let sorted = self.sorted()
    return sorted.isEmpty ? .infinity : sorted[Int(Double(sorted.count - 1) * share)]
  }
}
