import LinkModel
import Primitives

/// How the delay of a line varies.
package enum JitterShape: String, CaseIterable, Sendable, Codable {
  /// Each packet's own delay; what it holds up follows at the line's rate, in order.
  case uniform20, uniform5, normal8, exponential5, exponential7, exponential10, pareto2
  /// The same, and what it holds up comes at once.
  case aggregated20
  /// Nothing comes for a while, then all at once, as on Wi-Fi; with jitter of its own.
  case stalls25, stalls30
  /// Packets overtake each other.
  case reordered10

  package func apply(to line: inout LinkConditions) {
    switch self {
    case .uniform20: line.jitter = .uniform(upTo: .milliseconds(20))
    case .uniform5: line.jitter = .uniform(upTo: .milliseconds(5))
    case .normal8: line.jitter = .normal(deviation: .milliseconds(8))
    case .exponential5: line.jitter = .exponential(mean: .milliseconds(5))
    case .exponential7: line.jitter = .exponential(mean: .milliseconds(7))
    case .exponential10: line.jitter = .exponential(mean: .milliseconds(10))
    case .pareto2:
      line.jitter = .pareto(least: .milliseconds(2))
      line.mostJitter = .milliseconds(60)
    case .aggregated20:
      line.jitter = .uniform(upTo: .milliseconds(20))
      line.aggregates = true
    case .stalls25: line.stalls = .init(every: .milliseconds(150), length: .milliseconds(25))
    case .stalls30:
      line.stalls = .init(every: .milliseconds(200), length: .milliseconds(30))
      line.jitter = .uniform(upTo: .milliseconds(5))
      line.aggregates = true
    case .reordered10:
      line.jitter = .uniform(upTo: .milliseconds(10))
      line.keepsOrder = false
    }
  }

  /// With spaces and units.
  package var name: String {
    switch self {
    case .uniform20: "uniform, up to 20 ms"
    case .uniform5: "uniform, up to 5 ms"
    case .normal8: "normal, deviation 8 ms"
    case .exponential5: "exponential, mean 5 ms"
    case .exponential7: "exponential, mean 7 ms"
    case .exponential10: "exponential, mean 10 ms"
    case .pareto2: "Pareto, 2 to 60 ms"
    case .aggregated20: "uniform, up to 20 ms, comes at once"
    case .stalls25: "stalls of 25 ms, some 6 a second"
    case .stalls30: "stalls of 30 ms, some 4 a second, and uniform up to 5 ms"
    case .reordered10: "uniform, up to 10 ms, overtaking"
    }
  }
}
