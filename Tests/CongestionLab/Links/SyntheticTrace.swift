import Primitives

/// A cellular line that nobody recorded: a Markov chain over rates from 0.2 to 10 Mbit/s, with the
/// delivery opportunities of each millisecond, and outages if wanted. One seed makes
/// one line.
struct SyntheticTrace {
  /// Bit/s; the chain goes up or down one step at a time.
  static let rates: [Double] = [0.2e6, 0.4e6, 0.8e6, 1.5e6, 3e6, 6e6, 10e6]

  /// How long a rate lasts in the mean, in ms.
  var dwell: Double
  /// Within a rate each dwell scatters by so much about it, relatively.
  var scatter: Double
  /// In the mean between two outages, and of one: ms; `nil` without any.
  var outages: (every: Double, length: Double)?
  /// Service in turns: so long nothing, then twice what there is, in ms; 0 = none.
  var turn: UInt32 = 0
  var seed: UInt64

  /// Moments in ms at which 1500 bytes may leave.
  func moments(seconds: Int) -> [UInt32] {
    var random = RandomSource(seed: seed)
    var state = Self.rates.count / 2
    var rate = Self.rates[state]
    var outageLeft = 0.0
    var bits = 0.0
    var moments: [UInt32] = []
    for moment in 1...UInt32(seconds * 1_000) {
      if random.unit() < 1 / dwell {
        state += random.unit() < 0.5 ? -1 : 1
        state = min(max(state, 0), Self.rates.count - 1)
        rate = Self.rates[state] * (1 + scatter * (2 * random.unit() - 1))
      }
      if let outages, outageLeft <= 0, random.unit() < 1 / outages.every {
        outageLeft = outages.length * (0.5 + random.unit())
      }
      outageLeft -= 1
      guard outageLeft <= 0 else { continue }
      if turn > 0 {
        guard moment / turn % 2 == 1 else { continue }
        bits += rate / 500
      } else {
        bits += rate / 1_000
      }
      while bits >= 12_000 {
        bits -= 12_000
        moments.append(moment)
      }
    }
    moments.append(UInt32(seconds * 1_000))
    return moments
  }
}
