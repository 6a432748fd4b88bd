package import Primitives

/// Which resolution and frame rate a bitrate is worth, from 1280×720 at 30 to 160×120 at 8.
///
/// A step up needs a quarter more than the step down leaves, for a while; so no steady bitrate, nor
/// one that swings by a tenth, makes it flap. A step up that had to be taken back makes the next
/// one wait twice as long. In the first three seconds a step up needs half a second only.
package struct VideoLadder: Sendable {
  /// A resolution with a frame rate.
  package struct Rung: Equatable, Sendable {
    /// A box that the source's picture is fitted into.
    package let box: PictureSize
    package let framesPerSecond: Int
    /// Bitrate from which it is entered, and below which it is left: near what others recommend
    /// for these sizes. The test picture, which is easy to code, would bear the rung above at each
    /// of them (Benchmarks/README.md); it has not been measured with camera pictures.
    package let enterBitsPerSecond: Int
    package let leaveBitsPerSecond: Int

    fileprivate init(_ width: Int, _ height: Int, _ rate: Int, enter: Int, leave: Int) {
      box = PictureSize(unchecked: width, height)
      framesPerSecond = rate
      enterBitsPerSecond = enter * 1000
      leaveBitsPerSecond = leave * 1000
    }
  }

  /// From the best down; the last is never left.
  package static let rungs = [
    Rung(1280, 720, 30, enter: 1500, leave: 1200), Rung(960, 540, 30, enter: 900, leave: 720),
    Rung(640, 480, 30, enter: 500, leave: 400), Rung(480, 360, 24, enter: 300, leave: 240),
    Rung(320, 240, 15, enter: 150, leave: 120), Rung(240, 180, 12, enter: 80, leave: 64),
    Rung(160, 120, 8, enter: 0, leave: 0),
  ]

  /// What a call needs at the least for its picture, in bit/s: the last rung's comfortable rate.
  package static let leastBitsPerSecond = 40_000

  /// The place in `rungs`.
  package private(set) var index: Int
  /// How often it changed.
  package private(set) var changeCount = 0
  /// Since when the bitrate has been enough for a better rung.
  private var risenSince: Instant?
  /// Since when it has been too little for this one.
  private var fallenSince: Instant?
  private var lastRise: Instant?
  private var patience = Self.firstPatience
  /// When the first bitrate came.
  private var began: Instant?

  package init(bitsPerSecond: Int) {
    index = Self.entered(bitsPerSecond)
  }

  package var rung: Rung { Self.rungs[index] }

  /// Takes the bitrate that the encoder has from now on.
  ///
  /// - Returns: whether the rung changed.
  package mutating func handle(bitsPerSecond: Int, now: Instant) -> Bool {
    let before = index
    let began = self.began ?? now
    self.began = began
    if bitsPerSecond < rung.leaveBitsPerSecond {
      risenSince = nil
      fall(bitsPerSecond, now: now)
    } else {
      fallenSince = nil
      rise(bitsPerSecond, now: now)
    }
    if index != before { changeCount += 1 }
    return index != before
  }

  private mutating func fall(_ bitsPerSecond: Int, now: Instant) {
    let since = fallenSince ?? now
    fallenSince = since
    // Far too little leaves no time: the encoder cannot go below its coarsest quantizer.
    let isUrgent = bitsPerSecond < rung.leaveBitsPerSecond / 10 * 7
    guard isUrgent || now - since >= Self.fallAfter else { return }
    fallenSince = nil
    index = Self.rungs.firstIndex { bitsPerSecond >= $0.leaveBitsPerSecond } ?? index
    if let lastRise, now - lastRise < Self.relapse {
      patience = min(patience + patience, Self.longestPatience)
    }
    lastRise = nil
  }

  private mutating func rise(_ bitsPerSecond: Int, now: Instant) {
    if let lastRise, now - lastRise >= Self.relapse { patience = Self.firstPatience }
    let target = Self.entered(bitsPerSecond)
    guard target < index else {
      risenSince = nil
      return
    }
    let since = risenSince ?? now
    risenSince = since
    let isOpening = began.map { now - $0 < Self.opening } ?? false
    guard now - since >= (isOpening ? Self.openingPatience : patience) else { return }
    index = target
    risenSince = nil
    lastRise = now
  }

  /// The best rung that may be entered with this bitrate.
  private static func entered(_ bitsPerSecond: Int) -> Int {
    rungs.firstIndex { bitsPerSecond >= $0.enterBitsPerSecond } ?? rungs.count - 1
  }

  /// Guesses: a change of size costs a key frame, which at any rung is about a third of a second of
  /// bitrate.
  private static let firstPatience = Duration.seconds(2)
  /// A call begins with what every line carries, and mostly finds out within a second that there
  /// is more: until then small pictures would leave the line half empty.
  private static let opening = Duration.seconds(3)
  private static let openingPatience = Duration.milliseconds(500)
  private static let longestPatience = Duration.seconds(32)
  private static let fallAfter = Duration.milliseconds(500)
  /// A fall this soon after a rise says that the rise was a mistake.
  private static let relapse = Duration.seconds(15)
}
