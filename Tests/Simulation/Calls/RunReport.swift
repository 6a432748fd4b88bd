import Primitives

/// What became of one world: everything a summary needs, and what is wrong with it.
package struct RunReport: Sendable {
  package var seed: UInt64
  package var totals: RunTotals
  /// Each a sentence that names the call; empty = all rules were kept.
  package var violations: [String]
  package var digest: UInt64
  package var text: [UInt8]
}

/// A kind of world. One seed is one world; the same seed gives the same report.
package enum Scenario: String, CaseIterable, Sendable {
  /// Users, lines, translators and faults of all kinds.
  case random
  /// Two call each other within 50 ms.
  case glare
  /// Two start programs that call each other within half a second.
  case dial
  /// The caller cancels within 100 ms of the callee's accepting.
  case cancelRace
  /// The line of a long call is cut for 1 to 25 s, in one direction or both; for minutes, where
  /// both let the other be away.
  case outage
  /// Several rendezvous nodes on one Redis: nodes die, Redis is lost, late or out of reach, and
  /// programs move.
  case cluster
  /// The same nodes and faults; programs come to channels, move and go.
  case channels

  /// How many calls are placed in one world.
  package var callsPerWorld: Int {
    switch self {
    case .random: RandomCalls.callsPerWorld
    case .glare, .dial, .cancelRace, .outage, .channels: 1
    case .cluster: ClusterCalls.callsPerWorld
    }
  }

  package func run(seed: UInt64, keepsText: Bool = false) -> RunReport {
    switch self {
    case .random: RandomCalls.run(seed: seed, keepsText: keepsText)
    case .glare: Races.runGlare(seed: seed, keepsText: keepsText)
    case .dial: Races.runDial(seed: seed, keepsText: keepsText)
    case .cancelRace: Races.runCancelRace(seed: seed, keepsText: keepsText)
    case .outage: Outages.run(seed: seed, keepsText: keepsText)
    case .cluster: ClusterCalls.run(seed: seed, keepsText: keepsText)
    case .channels: ClusterChannels.run(seed: seed, keepsText: keepsText)
    }
  }
}
