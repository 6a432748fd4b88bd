/// Natural logarithm and exponential function: what the estimates need, without a system library.
enum Logarithm {
  /// ln `x` for x > 0, to 12 digits; −∞ for zero and below.
  static func of(_ x: Double) -> Double {
    guard x > 0, x.isFinite else { return x > 0 ? x : -.infinity }
    var exponent = Double(x.exponent)
    var rest = x.significand
    if rest > 1.414_213_562_373_095 {
      rest /= 2
      exponent += 1
    }
    // ln r = 2 artanh((r − 1) / (r + 1)); |argument| < 0.172.
    let argument = (rest - 1) / (rest + 1)
    let square = argument * argument
    var term = argument
    var sum = 0.0
    for power in stride(from: 1.0, through: 15, by: 2) {
      sum += term / power
      term *= square
    }
    return 2 * sum + exponent * ln2
  }

  /// e to the power of `x`, to 12 digits; 0 below −700.
  static func exponential(_ x: Double) -> Double {
    guard x > -700 else { return 0 }
    guard x < 700 else { return .infinity }
    let power = (x / ln2).rounded()
    let rest = x - power * ln2
    var term = 1.0
    var sum = 1.0
    for step in 1...12 {
      term *= rest / Double(step)
      sum += term
    }
    return Double(sign: .plus, exponent: Int(power), significand: sum)
  }

  private static let ln2 = 0.693_147_180_559_945_3
}
