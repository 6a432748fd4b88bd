internal import Glibc
internal import LastMile

/// How likely each grade of loss is, by what was lost so far: a line now has one of a few levels of
/// loss, and now and then changes to any other.
///
/// A hundred packets that lost two may well be of a line that loses one or four of a hundred.
/// Counting every report for itself moves the grade across a limit and back; a mean over many
/// reports hides a change. This does neither (a hidden Markov model's forward probabilities).
struct LossLevelFilter: Sendable {
  private var chances = InlineArray<18, Double>(repeating: 1 / 18)
  /// Packets that it rests on.
  private(set) var packetCount: UInt64 = 0

  init() {}

  /// Takes the fates of the packets since the last time.
  mutating func addFates(expected: UInt64, lost: UInt64) {
    guard expected > 0 else { return }
    packetCount += expected
    let lost = Double(min(lost, expected))
    let came = Double(expected) - lost
    var best = -Double.infinity
    var evidence = InlineArray<18, Double>(repeating: 0)
    for place in evidence.indices {
      evidence[place] = lost * log(Self.levels[place]) + came * log1p(-Self.levels[place])
      best = max(best, evidence[place])
    }
    let change = Self.change * min(1, Double(expected) / Self.usualPackets)
    var sum = 0.0
    for place in chances.indices {
      let before = chances[place] * (1 - change) + change / Double(chances.count)
      chances[place] = before * exp(evidence[place] - best)
      sum += chances[place]
    }
    for place in chances.indices { chances[place] /= sum }
  }

  /// The worst grade that the loss has, or a worse one, with at least this chance.
  func grade(chance: Double) -> LineGrade {
    var found = LineGrade.veryBad
    var sum = 0.0
    for place in chances.indices.reversed() {
      let grade = LineGrade.of(loss: Self.levels[place], roundTripMs: 0, jitterMs: 0)
      sum += chances[place]
      found = grade
      if sum >= chance { break }
    }
    return found
  }

  /// Three or four in each grade, and more where more is lost than any grade bears.
  private static let levels: InlineArray<18, Double> = [
    0.0005, 0.002, 0.004, 0.007, 0.013, 0.018, 0.025, 0.035, 0.05, 0.07, 0.09, 0.11, 0.14, 0.17,
    0.22, 0.3, 0.45, 0.7,
  ]
  /// That the line is another one than so many packets ago; so few that come rarely still count up.
  private static let change = 0.05
  private static let usualPackets = 30.0
}
