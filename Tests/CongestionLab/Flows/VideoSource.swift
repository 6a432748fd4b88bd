import Primitives

/// An encoder as RFC 8593 and RFC 8867 §4.3 model one: 30 frames a second of sizes that scatter
/// about the target, made good over one second; it follows a new target with the next frame.
struct VideoSource {
  static let interval: UInt64 = 33_333_333
  private static let keyFrameFactor = 3.0
  /// After a fall below `smallBelow` bit/s pictures are small for so many frames, and give
  /// `mostOfSmall` bit/s at the most: what real encoders did (`tools/congestion-check --tcp`).
  private static let smallBelow = 150_000.0
  private static let smallFrames = 90
  private static let mostOfSmall = 250_000.0
  private var random: RandomSource
  /// What the frames so far were above the target, in bits.
  private var surplus = 0.0
  private let hasSmallPictures: Bool
  private var smallLeft = 0
  /// Nothing has been encoded since the beginning or the last restart.
  private(set) var isFirst = true

  init(random: RandomSource, hasSmallPictures: Bool = false) {
    self.random = random
    self.hasSmallPictures = hasSmallPictures
  }

  /// Bytes of the next frame at `rate` bit/s.
  mutating func nextFrame(rate wanted: Double, isKey: Bool) -> Int {
    let rate = hasSmallPictures ? small(wanted) : wanted
    let mean = rate * Double(Self.interval) / 1e9
    var noise = -3.0
    for _ in 0..<6 { noise += random.unit() }
    var bits = mean * (1 + 0.15 * noise * 1.41) - surplus * 0.1
    if isKey { bits = mean * Self.keyFrameFactor }
    isFirst = false
    bits = max(bits, 600)
    surplus = min(max(surplus + bits - mean, -mean * 10), mean * 10)
    return Int(bits / 8)
  }

  /// What pictures of the present size make of a rate.
  private mutating func small(_ wanted: Double) -> Double {
    if wanted < Self.smallBelow { smallLeft = Self.smallFrames }
    guard smallLeft > 0 else { return wanted }
    smallLeft -= 1
    return min(wanted, Self.mostOfSmall)
  }

  /// The next frame is a key frame again.
  mutating func restart() {
    isFirst = true
    surplus = 0
    smallLeft = Self.smallFrames
  }
}
