internal import Primitives

/// What coding a picture costs on this host, and which rungs of the ladder it can keep up with.
///
/// The time that each picture took, as the clock on the wall has it: an encoder that waits for the
/// processor is as late as one that computes. What a larger picture would take is reckoned by its
/// pixels, and a part that each picture has. To make a picture smaller costs by the pixels of the
/// source, at each size but its own.
package struct EncoderLoad: Sendable {
  /// What a picture took.
  package struct Times: Equatable, Sendable {
    /// To code it.
    package var coding: Duration
    /// To make it smaller before; zero for one that is coded as it came.
    package var scaling: Duration

    package init(coding: Duration, scaling: Duration = .zero) {
      self.coding = coding
      self.scaling = scaling
    }
  }

  /// Nanoseconds a pixel of `weighed`.
  private var coding = TrimmedMean()
  /// Whether enough pictures were seen since the call began.
  private var isKnown = false
  /// Nanoseconds a pixel of the source to make a picture smaller.
  private var scaling = TrimmedMean()
  /// Pictures of a new rung that are still to be timed before it is judged.
  private var unjudged = 0

  package init() {}

  /// Nanoseconds a pixel of coding, `partOfEach` with it; `nil` before enough pictures were seen.
  package var cost: Double? { isKnown ? coding.value : nil }

  /// Pictures are of another rung from now on.
  ///
  /// An encoder finds its pace anew at each size: its first ten pictures take up to twice what
  /// later ones do. They say nothing, and the rung is judged by the ten after them.
  package mutating func handleChange() {
    unjudged = Self.leastOfRung
    coding.forget()
  }

  /// Takes what a picture took; not that of a key frame, which takes twice as long and is rare.
  ///
  /// - Parameters:
  ///   - pixelCount: of the picture that was coded.
  ///   - source: pixels of the source's picture.
  package mutating func handle(_ times: Times, pixelCount: Int, source: Int) {
    guard pixelCount > 0, times.coding > .zero else { return }
    unjudged = max(0, unjudged - 1)
    guard unjudged < Self.least else { return }
    coding.handle(times.coding / .nanoseconds(1) / Self.weighed(pixelCount))
    isKnown = isKnown || coding.count >= Self.least
    guard source > pixelCount, times.scaling > .zero else { return }
    scaling.handle(times.scaling / .nanoseconds(1) / Double(source))
  }

  /// The best rung that the host keeps up with, for a source of this size and rate.
  ///
  /// A rung that shows the source as it is ends the search: those above it show the same. A rung
  /// that was just entered is not left before it was judged.
  ///
  /// - Parameter present: the rung of the last picture.
  package func best(for source: PictureSize, framesPerSecond: Int, present: Int) -> Int {
    let rungs = VideoLadder.rungs
    var index = Self.top(for: source, framesPerSecond: framesPerSecond)
    while index < rungs.count - 1 {
      if index == present, unjudged > 0 { break }
      let size = source.fitted(into: rungs[index].box)
      let rate = Double(min(framesPerSecond, rungs[index].framesPerSecond))
      let share = index < present ? Self.mostToEnter : Self.mostToStay
      if let nanoseconds = time(of: size, from: source) {
        if nanoseconds * rate <= share * 1e9 { break }
      } else if size.pixelCount <= Self.mostWithoutEvidence {
        break
      }
      index += 1
    }
    return index
  }

  /// What a picture of this size would take, in nanoseconds; `nil` before enough were seen.
  private func time(of size: PictureSize, from source: PictureSize) -> Double? {
    guard let cost else { return nil }
    let coding = cost * Self.weighed(size.pixelCount)
    return coding + (size == source ? 0 : scaling.value * Double(source.pixelCount))
  }

  /// A picture's pixels and the part that does not grow with it.
  private static func weighed(_ pixelCount: Int) -> Double {
    Double(pixelCount + partOfEach)
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
  /// Pictures of a new rung before it is judged: ten in which the encoder finds its pace, and ten.
  private static let leastOfRung = 2 * least
  /// Shares of the time between two pictures. WebRTC's overuse detector gives way at 0.85 as well;
  /// the other one leaves room for the key frame that a change of size costs.
  private static let mostToStay = 0.85
  private static let mostToEnter = 0.7
  /// What each picture costs, whatever its size, in pixels: `VideoQuality speed` has 10.4 ns a
  /// pixel at 320×240, 8.8 at 640×480 and 8.2 at 1280×720.
  private static let partOfEach = 20_000
  /// Pixels that a first picture may have: 1280×720.
  private static let mostWithoutEvidence = 921_600
}
