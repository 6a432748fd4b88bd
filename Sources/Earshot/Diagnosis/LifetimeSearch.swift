import Primitives

/// Finds how long a mapping outlives silence: two rounds, each with several fresh sockets that are
/// silent at the same time, each for another while. The second round looks closer.
struct LifetimeSearch: Sendable {
  /// The longest silence that was outlived, and the shortest that was not.
  private(set) var atLeast = Duration.zero
  private(set) var lessThan: Duration?
  private var round = 0

  /// Silent sockets at once: with the one that asks, and a program that waits for calls, they are
  /// fewer than the programs that an identity may have (docs/protocol/session.md §9).
  static let socketCount = 5
  /// A rendezvous forgets a client that is silent for a minute.
  static let longest = Duration.seconds(56)
  private static let firstRound = [8, 20, 32, 44, 56].map { Duration.seconds($0) }

  /// The silences of the next round, the shortest first; empty = it is done.
  var nextRound: [Duration] {
    switch round {
    case 0: return Self.firstRound
    case 1:
      guard let lessThan else { return [] }
      let step = (lessThan - atLeast) / (Self.socketCount + 1)
      return (1...Self.socketCount).map { atLeast + step * $0 }
    default: return []
    }
  }

  /// What became of a round: for each silence, whether the mapping was still there.
  mutating func recordOutcomes(_ outcomes: [(silence: Duration, isAlive: Bool)]) {
    round += 1
    let dead = outcomes.filter { !$0.isAlive }.map(\.silence).min()
    if let dead { lessThan = min(lessThan ?? dead, dead) }
    let alive = outcomes.filter { outcome in
      outcome.isAlive && lessThan.map { outcome.silence < $0 } ?? true
    }
    atLeast = max(atLeast, alive.map(\.silence).max() ?? .zero)
  }

  /// Nothing could be tried: it ends.
  mutating func giveUp() { round = 2 }
}
