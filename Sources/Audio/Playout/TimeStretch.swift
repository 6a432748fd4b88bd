/// Finds where a stretch of sound can be left out or repeated unheard (WSOLA: Verhelst and Roelands
/// 1993; one pitch period in voiced speech).
///
/// Searches at 4 kHz first and then at full rate around the best of these.
///
/// Station 20 of the house tour; next is the application's sink.
enum TimeStretch {
  enum Direction: Equatable, Sendable { case shorten, lengthen }

  /// A splice: play on from `jump` samples later (negative: earlier) after a cross-fade.
  struct Splice: Equatable, Sendable {
    var jump: Int
    var overlap: Int
    /// How much alike the two sides of the cross-fade are, -1...1.
    var correlation: Float
  }

  /// 2.5 ms: a pitch of 400 Hz.
  static let shortest = 120
  /// 15 ms: a pitch of 67 Hz.
  static let longest = 720

  /// The best splice at the head of `queue`, or `nil` when it holds too little.
  ///
  /// - Parameters:
  ///   - shortest: the nearest allowed jump, in samples; never less than 120.
  ///   - longest: the farthest allowed jump, in samples.
  static func bestSplice(
    in queue: borrowing SampleQueue, _ direction: Direction, shortest least: Int = 0, longest: Int
  ) -> Splice? {
    let shortest = max(Self.shortest, least)
    let overlap = queue.count >= 1200 ? 480 : 240
    let reach = direction == .shorten ? queue.count - overlap : Self.longest
    let farthest = min(longest, reach, Self.longest)
    guard farthest >= shortest, queue.count >= overlap else { return nil }
    let sign = direction == .shorten ? 1 : -1

    let coarse = coarseJump(
      in: queue, sign, nearest: shortest, farthest: farthest, overlap: overlap)
    var best = coarse
    var bestCorrelation = -Float.infinity
    let low = max(shortest, coarse - decimation)
    let high = min(farthest, coarse + decimation)
    for candidate in stride(from: low, through: high, by: 2) {
      let value = correlation(in: queue, jump: sign * candidate, count: overlap, step: 4)
      if value > bestCorrelation { (best, bestCorrelation) = (candidate, value) }
    }
    let value = correlation(in: queue, jump: sign * best, count: overlap, step: 1)
    return Splice(jump: sign * best, overlap: overlap, correlation: value)
  }

  /// The best jump in multiples of 12 samples.
  private static func coarseJump(
    in queue: borrowing SampleQueue, _ sign: Int, nearest: Int, farthest: Int, overlap: Int
  ) -> Int {
    // Blocks of 12 samples from 15 ms ago to 15 ms + overlap ahead, at index 60 the present.
    var blocks = InlineArray<160, Int32>(repeating: 0)
    let lastBlock = min(100, queue.count / decimation)
    for block in -60..<lastBlock {
      var sum: Int32 = 0
      for offset in 0..<decimation { sum &+= queue.mono(block * decimation + offset) / 12 }
      blocks[60 + block] = sum
    }
    var best = nearest / decimation
    var bestValue = -Float.infinity
    for lag in (nearest / decimation)...max(nearest / decimation, farthest / decimation) {
      var product: Int64 = 0
      var energy: Int64 = 1
      for index in 0..<(overlap / decimation) {
        let other = Int64(blocks[60 + index + sign * lag])
        product &+= Int64(blocks[60 + index]) &* other
        energy &+= other &* other
      }
      let value = Float(product) / Float(energy).squareRoot()
      if value > bestValue { (best, bestValue) = (lag, value) }
    }
    return best * decimation
  }

  /// Normalised correlation of the next `count` samples with those `jump` later.
  private static func correlation(
    in queue: borrowing SampleQueue, jump: Int, count: Int, step: Int
  ) -> Float {
    var product: Int64 = 0
    var here: Int64 = 1
    var there: Int64 = 1
    for index in stride(from: 0, to: count, by: step) {
      let left = Int64(queue.mono(index))
      let right = Int64(queue.mono(index + jump))
      product &+= left &* right
      here &+= left &* left
      there &+= right &* right
    }
    return Float(product) / (Float(here) * Float(there)).squareRoot()
  }

  private static let decimation = 12
}
