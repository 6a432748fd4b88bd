internal import Glibc
import Primitives

/// How late the frames of the last twenty seconds came, in steps of 2 ms, and which delay would
/// have been enough for them.
///
/// Lateness is that of the first version of a frame, whether primary or copy, against the fastest
/// primary: so one distribution says what jitter costs, and what the distance of the copies in use
/// costs while frames are lost. Neither is paid twice.
struct LatenessHistory: Sendable {
  private let place = InPlace()
  private var ring = InlineArray<2048, UInt8>(repeating: 0)
  private var counts = InlineArray<256, UInt16>(repeating: 0)
  private var next = 0
  private(set) var count = 0

  /// - Parameters:
  ///   - level: lateness in steps; more than 255 counts as 255.
  ///   - limit: how many frames are remembered, 1...2048.
  mutating func record(_ level: Int, limit: Int) {
    while count >= min(max(limit, 1), ring.count) { forgetOldest() }
    let kept = UInt8(clamping: max(level, 0))
    ring[next] = kept
    counts[Int(kept)] += 1
    next = (next + 1) % ring.count
    count += 1
  }

  private mutating func forgetOldest() {
    let oldest = (next - count + ring.count) % ring.count
    counts[Int(ring[oldest])] -= 1
    count -= 1
  }

  /// What was later than `level` counts as that late from now on: the spell it belonged to is over.
  mutating func forget(above level: Int) {
    guard highest > level else { return }
    let kept = UInt8(clamping: max(level, 0))
    for offset in 0..<count {
      let index = (next - 1 - offset + ring.count) % ring.count
      guard ring[index] > kept else { continue }
      counts[Int(ring[index])] -= 1
      counts[Int(kept)] += 1
      ring[index] = kept
    }
  }

  /// The greatest lateness remembered.
  var highest: Int {
    var level = counts.count - 1
    while level > 0, counts[level] == 0 { level -= 1 }
    return level
  }

  /// The lateness that a share of `fraction` (0...1) of the frames does not exceed.
  func quantile(_ fraction: Double) -> Int {
    var rest = Int(Double(count) * (1 - fraction))
    var level = counts.count - 1
    while level > 0 {
      rest -= Int(counts[level])
      if rest < 0 { break }
      level -= 1
    }
    return level
  }

  /// The lateness, in steps, that one frame in so many would exceed if the tail were exponential,
  /// as it is behind a queue. 0 while there are next to no frames.
  ///
  /// The later half says how long the tail is, by how much it exceeds the median on average; of the
  /// latest it counts only that they are no earlier than the others. So one spell of so many moves
  /// it by little, and an even delay, however long, has no tail. What few frames say is taken for
  /// too little by one and a quarter of its standard error.
  ///
  /// Of the few frames of a beginning, those that one event of the greatest lateness holds up may
  /// be a greater share than is spared. Then the lesser holds of what they say and of what is left
  /// without them.
  ///
  /// - Parameters:
  ///   - spared: what share of the frames the latest are, 0...0.5.
  ///   - rarity: one frame in how many may be later; `nil` for what a longer delay is worth: what
  ///     is late by twice as much makes twice as many frames late.
  ///   - frameSteps: the length of a frame in steps.
  func expectedExtreme(sparing spared: Double, rarity: Double?, frameSteps: Int) -> Int {
    guard count >= Self.fewestForTail else { return 0 }
    let all = tail(sparing: spared, rarity: rarity)
    // Half a frame more, as shares are rounded down to frames.
    let event = (Double(highest / max(frameSteps, 1)) + 1.5) / Double(count)
    return event > spared ? min(all, tail(sparing: min(event, 0.5), rarity: rarity)) : all
  }

  private func tail(sparing spared: Double, rarity: Double?) -> Int {
    let median = quantile(0.5)
    let latest = quantile(1 - spared)
    var frames = 0
    var later = 0
    var excess = 0
    for level in (median + 1)..<counts.count {
      let number = Int(counts[level])
      later += number
      excess += number * (min(level, latest) - median)
      if level <= latest { frames += number }
    }
    guard frames > 0 else { return median }
    let mean = Double(excess) / Double(frames)
    let bound = mean * (1 + Self.caution / Double(later).squareRoot())
    let rarity = rarity ?? max(Self.leastRarity, Self.rarityByStep * mean)
    let share = Double(later) / Double(count)
    return median + Int((bound * max(0, log(share * rarity))).rounded())
  }

  /// The least delay, in steps, with which no more frames would have come too late than such a
  /// delay is worth.
  ///
  /// The worst event is left out: the first freeze of a path is a spike, the second a habit. An
  /// event that is `highest` steps late holds up the frames behind it, each by one frame less.
  ///
  /// - Parameter frameSteps: the length of a frame in steps.
  func sufficientDelay(frameSteps: Int) -> Int {
    let worst = highest
    let frames = max(count, Self.fewest)
    var later = 0
    var level = worst
    while level > 0 {
      let without = later + Int(counts[level])
      // Now `without` is how many were later than `level - 1`.
      let event = (worst - level + frameSteps) / max(frameSteps, 1)
      if max(0, without - event) * 100_000 > Self.tolerated(level - 1) * frames { break }
      later = without
      level -= 1
    }
    return level
  }

  /// How many of 100 000 frames may come too late at a delay of `level` steps: the longer the delay
  /// already is, the more it must save. One per cent of made-up frames costs 0.45 of PESQ-WB.
  private static func tolerated(_ level: Int) -> Int {
    let milliseconds = level * 2
    switch milliseconds {
    case ..<40: return 100
    case ..<100: return 100 + (milliseconds - 40) * 100 / 60
    case ..<150: return 200 + (milliseconds - 100) * 12
    case ..<200: return 800 + (milliseconds - 150) * 24
    case ..<300: return 2000 + (milliseconds - 200) * 40
    default: return 6000 + (milliseconds - 300) * 40
    }
  }

  private static let fewestForTail = 8
  /// One frame in 80, or in 4.75 for each millisecond that the tail is long.
  private static let leastRarity = 80.0
  private static let rarityByStep = 9.5
  /// In standard errors: an exponential mean of n has one of 1/√n.
  private static let caution = 1.25
  /// Five seconds of 20 ms frames: before that, a share says little.
  private static let fewest = 250
}
