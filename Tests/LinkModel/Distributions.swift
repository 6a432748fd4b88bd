package import Primitives

/// Distributions made of comparisons and sums alone: no logarithm of any C library, so a seed gives
/// the same run wherever it runs.
extension RandomSource {
  /// Whether something of the given probability happens. Draws nothing when it cannot, or must.
  package mutating func happens(_ probability: Double) -> Bool {
    if probability <= 0 { return false }
    if probability >= 1 { return true }
    return unit() < probability
  }

  /// Uniform in `0..<bound`; 0 when `bound` is 0.
  package mutating func below(_ bound: UInt64) -> UInt64 {
    bound == 0 ? 0 : next().multipliedFullWidth(by: bound).high
  }

  /// Uniform between two durations.
  package mutating func duration(_ range: ClosedRange<Duration>) -> Duration {
    let low = range.lowerBound.nanoseconds
    let span = UInt64(max(0, range.upperBound.nanoseconds - low))
    return .nanoseconds(low + Int64(below(span &+ 1)))
  }

  /// Exponential with mean 1 (von Neumann 1951): the length of a falling run decides.
  package mutating func exponential() -> Double {
    var whole = 0.0
    while true {
      let first = unit()
      var least = first
      var isRunOdd = true
      while true {
        let next = unit()
        if next >= least { break }
        least = next
        isRunOdd.toggle()
      }
      if isRunOdd { return whole + first }
      whole += 1
    }
  }

  /// Normal with mean 0 and deviation 1, cut at ±6 (Irwin and Hall: the sum of twelve).
  package mutating func normal() -> Double {
    var sum = -6.0
    for _ in 0..<12 { sum += unit() }
    return sum
  }

  /// Pareto with least value 1 and shape 2: above k with probability 1/k². Its mean is 2.
  package mutating func pareto() -> Double { 1 / (1 - unit()).squareRoot() }
}
