/// Whether somebody else's packets stand between ours in the bottleneck's queue.
///
/// Two packets of one length, of which the second had joined the queue before the first left it,
/// leave a line of constant rate one service time apart, and jitter behind it scatters that time
/// evenly. With another sender between them there are two or more usual times: ours alone, and ours
/// with one or two of the other's (the dispersion of packet pairs under cross-traffic; Dovrolis,
/// Ramanathan and Moore 2001, §3).
enum ForeignGaps {
  /// - Parameters:
  ///   - loaded: Packets of the loaded part, in the order of sending.
  ///   - base: Delay without a queue, in ns.
  static func isSeen(in loaded: [TestPackets.Entry], base: Double) -> Bool {
    var gaps: [Double] = []
    for (early, late) in zip(loaded, loaded.dropFirst())
    where early.isReceived && late.isReceived && early.byteCount == late.byteCount {
      let gap = Double(late.arrival) - Double(early.arrival)
      // Both waited for the line.
      let joined = Double(late.sent) + base
      if joined < Double(early.arrival) { gaps.append(max(0, gap)) }
    }
    guard gaps.count >= fewest else { return false }
    gaps.sort()
    let mean = gaps.reduce(0, +) / Double(gaps.count)
    let count = Double(gaps.count)
    let short = densest(gaps, from: leastOwn * mean, to: 0.85 * mean, width: 0.1 * mean) / count
    let long = Double(gaps.count { $0 > 1.15 * mean }) / count
    let chance = 0.65 / count.squareRoot()
    if short >= max(leastShare, 0.1 + chance) && long >= 0.1 { return true }
    // Most of them ours alone, and a few with a long packet between. A host that was late makes up
    // for it by some that come at once.
    let alone = densest(gaps, from: 0.5 * mean, to: 0.93 * mean, width: 0.1 * mean) / count
    let hurried = Double(gaps.count { $0 < 0.5 * mean }) / count
    return alone >= 0.5 && long >= 0.03 + chance / 8 && hurried < 0.25 * long
  }

  /// The most values that lie within `width` of each other, between two bounds.
  private static func densest(
    _ sorted: [Double], from low: Double, to high: Double, width: Double
  ) -> Double {
    var most = 0
    var first = sorted.firstIndex { $0 >= low } ?? sorted.count
    var last = first
    while first < sorted.count, sorted[first] <= high {
      while last < sorted.count, sorted[last] <= min(high, sorted[first] + width) { last += 1 }
      most = max(most, last - first)
      first += 1
    }
    return Double(most)
  }

  /// Of the mean gap: ours alone are as short where somebody else has nine tenths of the line. What
  /// a fast last link carries in a bundle comes closer.
  private static let leastOwn = 0.1
  private static let fewest = 24
  /// Of all gaps, in the short kind. Normal, exponential and uniform jitter of any size has less
  /// than 0.1 in any window of this width there; of few gaps by chance more.
  private static let leastShare = 0.15
}
