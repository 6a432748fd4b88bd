/// Chooses for each frame the quantizer with which it gets the size that the bitrate allows.
///
/// libvpx's own control follows a new bitrate, or begins with a new size, over half a second and
/// more, and leaves out pictures for seconds where the bitrate swings (docs/decisions/0023). This
/// one knows of each kind of frame how many bits a pixel took at which quantizer, and what it has
/// saved or overdrawn; both follow within a few frames.
package struct QuantizerControl: Sendable {
  package enum Kind: Int, CaseIterable, Sendable, BitwiseCopyable {
    case key, base, upper
  }

  /// What a frame may cost.
  package struct Budget: Sendable, BitwiseCopyable {
    /// What a picture has of the bitrate on average, in bits.
    package var bitsPerPicture: Double
    /// Of that, what one of this kind is to have.
    package var share: Double
    package var pixelCount: Int

    package init(bitsPerPicture: Double, share: Double, pixelCount: Int) {
      self.bitsPerPicture = max(1, bitsPerPicture)
      self.share = share
      self.pixelCount = pixelCount
    }
  }

  /// libvpx's scale of 0...63.
  package static let range = 2...56

  /// Bits a pixel at a step of 1, by kind, and whether that has been measured.
  private var costs = [10.0, 2.5, 2.0]
  private var isMeasured = [false, false, false]
  /// What was saved, in pictures' average bits; negative what was overdrawn.
  package private(set) var saved = 0.0
  /// The last ones; that of layer 0 is a key frame's as well.
  private var last = [range.upperBound, range.upperBound, range.upperBound]
  /// For so many frames it becomes finer step by step only: noise costs nothing down to some
  /// quantizer, and very much from there.
  private var caution = 0

  package init() {}

  // MARK: - Inputs

  /// A frame was made.
  package mutating func append(
    _ kind: Kind, byteCount: Int, quantizer: Int, _ budget: Budget
  ) {
    let bits = Double(max(1, byteCount) * 8)
    let seen = bits / Double(budget.pixelCount) * Self.power(quantizer)
    noteSurprise(seen, kind)
    adopt(seen, kind)
    last[kind.rawValue] = quantizer
    if kind == .key { last[Kind.base.rawValue] = quantizer }
    // What a key frame takes beyond the others is seen in the queue, and not paid back twice.
    guard kind != .key else { return }
    saved += budget.share - bits / budget.bitsPerPicture
    saved = min(max(saved, -Self.mostOverdrawn), Self.mostSaved)
  }

  /// A picture was left out.
  package mutating func noteLeftOut() { saved = min(saved + 1, Self.mostSaved) }

  // MARK: - Outputs

  /// Whether so much is overdrawn that this picture had better be left out.
  package func leavesOut(_ kind: Kind) -> Bool { kind != .key && saved < -Self.bearable }

  /// The quantizer for the next frame.
  package func quantizer(for kind: Kind, _ budget: Budget) -> Int {
    var share = budget.share
    if kind != .key {
      share *= min(max(1 + saved * Self.payBack / budget.share, Self.leastShare), Self.mostShare)
    }
    let wanted = budget.bitsPerPicture * share
    var found = finest(costs[kind.rawValue] * Double(budget.pixelCount), wanted)
    if caution > 0, kind != .key { found = max(found, nextFiner(last[kind.rawValue])) }
    if kind == .upper { found = max(found, last[Kind.base.rawValue]) }
    // A picture that has nothing in common with the last one must not take for ever.
    let most = budget.bitsPerPicture * Self.mostPictures
    return max(found, finest(costs[Kind.key.rawValue] * Double(budget.pixelCount), most))
  }

  // MARK: - The model

  /// The finest that keeps to so many bits.
  private func finest(_ cost: Double, _ bits: Double) -> Int {
    for quantizer in Self.range where cost <= bits * Self.power(quantizer) { return quantizer }
    return Self.range.upperBound
  }

  /// A frame many times larger than it should be: another scene, or noise. The other layer's will
  /// be as well.
  private mutating func noteSurprise(_ seen: Double, _ kind: Kind) {
    caution = max(0, caution - 1)
    let place = kind.rawValue
    guard kind != .key, isMeasured[place], seen > costs[place] * Self.surprise else { return }
    caution = Self.cautiousFrames
    let other = kind == .base ? Kind.upper.rawValue : Kind.base.rawValue
    costs[other] = max(costs[other], seen)
  }

  private func nextFiner(_ quantizer: Int) -> Int {
    let least = Self.steps[quantizer] * Self.cautiousStep
    return Self.range.first { Self.steps[$0] >= least } ?? quantizer
  }

  private mutating func adopt(_ seen: Double, _ kind: Kind) {
    let index = kind.rawValue
    let expected = costs[index]
    if !isMeasured[index] {
      costs[index] = seen
      // What is easy in one kind may be so in the others.
      for other in costs.indices where other != index && !isMeasured[other] {
        costs[other] *= max(seen / expected, Self.leastLikeness)
      }
    } else if seen > expected {
      costs[index] += (seen - expected) * Self.quickShare
    } else {
      costs[index] = (expected * seen).squareRoot()
    }
    isMeasured[index] = true
  }

  /// A step to the power of 3/4: how much fewer bits it makes.
  private static func power(_ quantizer: Int) -> Double {
    let root = steps[min(max(quantizer, 0), steps.count - 1)].squareRoot()
    return root * root.squareRoot()
  }

  /// Of the coefficients of luma (RFC 6386 §14.1), at the places that libvpx takes.
  private static let steps: [Double] = [
    4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 16, 17, 19, 21, 22, 23, 24, 25, 27, 28, 29, 30, 31, 32, 33,
    34,
    35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 60, 64, 68, 72, 78, 84, 90, 96, 102, 108, 114,
    122, 131, 140, 149, 158, 167, 177, 189, 201, 213, 225, 239, 254, 269, 284,
  ]
  private static let surprise = 4.0
  private static let cautiousFrames = 300
  private static let cautiousStep = 0.87
  private static let leastLikeness = 0.5
  /// Too much is believed more readily than too little.
  private static let quickShare = 0.7
  /// In pictures.
  private static let mostSaved = 1.0
  private static let mostOverdrawn = 15.0
  private static let bearable = 8.0
  private static let payBack = 0.2
  private static let leastShare = 0.4
  private static let mostShare = 1.6
  /// Half a second at 30 a second.
  private static let mostPictures = 15.0
}
