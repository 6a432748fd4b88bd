import Earshot
import Primitives
import Reactor
import Synchronization
import Video

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

  /// How long each picture stood.
  var gaps: [Duration] {
    sights.withLock { sights in zip(sights, sights.dropFirst()).map { $1.at - $0.at } }
  }
}

extension Array where Element == Double {
  /// The value that `share` of all do not exceed.
  func percentile(_ share: Double) -> Double {
    let sorted = self.sorted()
    return sorted.isEmpty ? .infinity : sorted[Int(Double(sorted.count - 1) * share)]
  }
}
