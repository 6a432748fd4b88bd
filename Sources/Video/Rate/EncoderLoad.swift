internal import Primitives

/// What coding a picture costs on this host, and which rungs of the ladder it can keep up with.
///
/// The time that each picture took, as the clock on the wall has it: an encoder that waits for the
/// processor is as late as one that computes. What a larger picture would take is reckoned by its
/// pixels.
package struct EncoderLoad: Sendable {
  /// Nanoseconds a pixel, smoothed; 0 before the first picture.
  private var mean = 0.0
  private var count = 0

  package init() {}

  /// Nanoseconds a pixel; `nil` before enough pictures were seen.
  package var cost: Double? { count >= Self.least ? mean : nil }

  /// Takes what a picture of so many pixels took to be scaled and coded; not that of a key frame,
  /// which takes twice as long and is rare.
  package mutating func handle(_ took: Duration, pixelCount: Int) {
    guard pixelCount > 0, took > .zero else { return }
    let one = took / .nanoseconds(1) / Double(pixelCount)
    count = min(count + 1, Self.least)
    // The first ones weigh alike.
    mean += (one - mean) * max(Self.weight, 1 / Double(count))
  }

  /// The best rung that the host keeps up with, for a source of this size and rate.
  ///
  /// A rung that shows the source as it is ends the search: those above it show the same.
  ///
  /// - Parameter present: the rung of the last picture.
  package func best(for source: PictureSize, framesPerSecond: Int, present: Int) -> Int {
    let rungs = VideoLadder.rungs
    var index = Self.top(for: source, framesPerSecond: framesPerSecond)
    while index < rungs.count - 1 {
      let size = source.fitted(into: rungs[index].box)
      let rate = Double(min(framesPerSecond, rungs[index].framesPerSecond))
      let share = index < present ? Self.mostToEnter : Self.mostToStay
      if let cost {
        if cost * Double(size.pixelCount) * rate <= share * 1e9 { break }
      } else if size.pixelCount <= Self.mostWithoutEvidence {
        break
      }
      index += 1
    }
    return index
  }

  /// The last rung above which nothing gets larger or more often.
  static func top(for source: PictureSize, framesPerSecond: Int) -> Int {
    let rungs = VideoLadder.rungs
    var index = 0
    while index + 1 < rungs.count, source.fitted(into: rungs[index + 1].box) == source,
      min(framesPerSecond, rungs[index].framesPerSecond)
        == min(framesPerSecond, rungs[index + 1].framesPerSecond)
    {
      index += 1
    }
    return index
  }

  /// Pictures before their time says something.
  private static let least = 10
  /// A picture's weight: 20 of them count, about a second of them. Tuned.
  private static let weight = 0.05
  /// Shares of the time between two pictures. WebRTC's overuse detector gives way at 0.85 as well;
  /// the other one leaves room for the key frame that a change of size costs.
  private static let mostToStay = 0.85
  private static let mostToEnter = 0.7
  /// Pixels that a first picture may have: 1280×720.
  private static let mostWithoutEvidence = 921_600
}
