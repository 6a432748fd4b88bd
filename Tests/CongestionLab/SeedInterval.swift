/// A figure over several seeds: its mean, and the interval that holds the mean of all seeds with a
/// certainty of 95 % (Student's t).
package struct SeedInterval: Sendable {
  package let mean: Double
  /// The interval is the mean less and plus this; `nil` with fewer than two seeds.
  package let halfWidth: Double?

  /// `nil` without values.
  package init?(_ values: [Double]) {
    guard !values.isEmpty else { return nil }
    let count = Double(values.count)
    let middle = values.reduce(0, +) / count
    mean = middle
    guard values.count > 1 else {
      halfWidth = nil
      return
    }
    let squares = values.reduce(0) { $0 + ($1 - middle) * ($1 - middle) }
    let deviation = (squares / (count - 1)).squareRoot()
    halfWidth = Self.quantile(values.count - 1) * deviation / count.squareRoot()
  }

  package var low: Double { mean - (halfWidth ?? 0) }
  package var high: Double { mean + (halfWidth ?? 0) }

  /// Whether the unfavourable end of the interval meets a goal.
  package func meets(_ goal: Measure.Goal) -> Bool {
    switch goal {
    case .atLeast(let goal): low >= goal
    case .atMost(let goal): high <= goal
    case .shown: true
    }
  }

  /// What Student's t does not exceed in 97.5 % of the cases; above ten degrees of freedom by the
  /// expansion of Cornish and Fisher, right to 0.001.
  package static func quantile(_ freedom: Int) -> Double {
    let exact = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228]
    if freedom <= exact.count { return exact[max(freedom, 1) - 1] }
    let inverse = 1 / Double(freedom)
    return 1.95996 + inverse * (2.3723 + inverse * (2.8225 + inverse * 2.5558))
  }
}
