import Primitives
import Testing
import Video

/// An encoder whose frames have the sizes that a law says, disturbed by chance.
private struct LawfulEncoder {
  var control = QuantizerControl()
  var random = RandomSource(seed: 31)
  var bitsPerSecond = 1_000_000.0
  var pixelCount = 640 * 480
  /// What a frame of 640×480 costs at a step of 40, of the average at 1 Mbit/s, and how fast that
  /// falls with the step.
  var cost = 1.0
  var exponent = 0.75
  var scatter = 0.2
  var bits: [Double] = []
  var leftOut = 0

  static let rate = 30.0

  mutating func run(frames: Int, from first: Int = 1) {
    for number in first..<(first + frames) {
      let kind: QuantizerControl.Kind = number % 2 == 0 ? .base : .upper
      make(kind, share: kind == .base ? 1.2 : 0.8)
    }
  }

  mutating func make(_ kind: QuantizerControl.Kind, share: Double) {
    let budget = QuantizerControl.Budget(
      bitsPerPicture: bitsPerSecond / Self.rate, share: share, pixelCount: pixelCount)
    if control.leavesOut(kind) {
      control.noteLeftOut()
      leftOut += 1
      bits.append(0)
      return
    }
    let quantizer = control.quantizer(for: kind, budget)
    let noise = 1 + Double.random(in: -scatter...scatter, using: &random)
    let size = max(80, cost * Double(pixelCount) * 0.1085 * fineness(quantizer) * noise)
    control.append(kind, byteCount: Int(size / 8), quantizer: quantizer, budget)
    bits.append(size)
  }

  /// Bits by quantizer: steps from 6 to 189, about.
  private func fineness(_ quantizer: Int) -> Double {
    let place = Double(quantizer - 2) / 54
    let ratio = 40 / (6 + 183 * place * place)
    let root = ratio.squareRoot()
    return exponent == 0.5 ? root : exponent == 1 ? ratio : root * root.squareRoot()
  }

  /// Of the last frames, in bit/s.
  func carried(last count: Int) -> Double {
    bits.suffix(count).reduce(0, +) * Self.rate / Double(min(count, bits.count))
  }
}

@Suite struct QuantizerControlTests {
  /// Goal: within 4 % of the rate. Method: laws of sizes that the control does not assume.
  @Test(arguments: [0.5, 0.75, 1], [0.6, 1, 1.8])
  func `keeps to the rate, whatever the law of sizes`(exponent: Double, cost: Double) {
    var encoder = LawfulEncoder()
    encoder.exponent = exponent
    encoder.cost = cost
    encoder.make(.key, share: 4)
    encoder.run(frames: 150)
    let carried = encoder.carried(last: 120)
    #expect(abs(carried - 1_000_000) < 40_000, "exponent \(exponent), cost \(cost): \(carried)")
    #expect(encoder.leftOut == 0)
  }

  @Test func `a new bitrate is made within five frames, up and down`() {
    var encoder = LawfulEncoder()
    encoder.make(.key, share: 4)
    encoder.run(frames: 60)
    encoder.bitsPerSecond = 450_000
    encoder.run(frames: 5)
    encoder.run(frames: 10, from: 2)
    #expect(encoder.carried(last: 10) < 1.2 * 450_000)
    encoder.bitsPerSecond = 1_000_000
    encoder.run(frames: 5)
    encoder.run(frames: 10, from: 2)
    #expect(encoder.carried(last: 10) > 0.85 * 1_000_000)
  }

  /// A new size is a new encoder to libvpx; what a pixel costs is still known.
  @Test func `a larger picture begins near its rate`() {
    var encoder = LawfulEncoder()
    encoder.make(.key, share: 4)
    encoder.run(frames: 60)
    encoder.pixelCount = 960 * 540
    encoder.make(.key, share: 4)
    // Four pictures' bits were asked for; of its kind one had been seen, at another quantizer.
    #expect((2...8).contains(encoder.carried(last: 1) / 1_000_000))
    encoder.run(frames: 6)
    #expect((0.8...1.25).contains(encoder.carried(last: 6) / 1_000_000))
  }

  @Test func `a coarsest picture that is too large is left out for as long as it must be`() {
    var encoder = LawfulEncoder()
    encoder.bitsPerSecond = 100_000
    encoder.make(.key, share: 4)
    encoder.run(frames: 600)
    #expect(encoder.leftOut > 100)
    #expect(abs(encoder.carried(last: 500) - 100_000) < 15_000)
    // What was overdrawn is no more than half a second: a good rate is used soon.
    encoder.bitsPerSecond = 1_000_000
    encoder.leftOut = 0
    encoder.run(frames: 30)
    #expect(encoder.leftOut <= 8)
  }

  @Test func `an upper layer is never finer than what it refers to`() {
    var control = QuantizerControl()
    let base = QuantizerControl.Budget(bitsPerPicture: 30_000, share: 1.2, pixelCount: 76_800)
    let upper = QuantizerControl.Budget(bitsPerPicture: 90_000, share: 0.8, pixelCount: 76_800)
    control.append(.key, byteCount: 20_000, quantizer: 30, base)
    control.append(.base, byteCount: 9_000, quantizer: 40, base)
    #expect(control.quantizer(for: .upper, upper) >= 40)
  }

  @Test func `whatever is said, the quantizer is in its range`() {
    var control = QuantizerControl()
    var random = RandomSource(seed: 32)
    for _ in 0..<2000 {
      let kind = QuantizerControl.Kind.allCases.randomElement(using: &random) ?? .key
      let budget = QuantizerControl.Budget(
        bitsPerPicture: Double.random(in: 0...3_000_000, using: &random),
        share: Double.random(in: 0.4...8, using: &random),
        pixelCount: Int.random(in: 256...2_000_000, using: &random))
      let quantizer = control.quantizer(for: kind, budget)
      #expect(QuantizerControl.range.contains(quantizer))
      control.append(
        kind, byteCount: Int.random(in: 0...400_000, using: &random), quantizer: quantizer, budget)
      #expect((-15.0...1).contains(control.saved))
    }
  }
}
