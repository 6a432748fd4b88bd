/// A stretch of background in what waits to be played, where a cut is not heard.
struct Pause: Equatable, Sendable {
  /// Frames from the head of the queue.
  var start = 0
  var count = 0

  /// The longest stretch in `queue` whose every 5 ms are no louder than `threshold`, or `nil`.
  ///
  /// - Parameter threshold: mean square of 16-bit samples.
  static func longest(in queue: borrowing SampleQueue, threshold: Float) -> Pause? {
    var best = Pause()
    var current = Pause()
    for block in 0..<(queue.count / blockFrames) {
      let first = block * blockFrames
      guard queue.energy(from: first, frames: blockFrames) <= threshold else {
        current = Pause(start: first + blockFrames)
        continue
      }
      current.count += blockFrames
      if current.count > best.count { best = current }
    }
    return best.count > 0 ? best : nil
  }

  /// 5 ms.
  private static let blockFrames = 240
}
