import Foundation

/// How often a test repeats a trial.
package enum Trials {
  /// Whether this run repeats each trial as often as docs/security.md says (`tools/trials`).
  package static let isFull = ProcessInfo.processInfo.environment["EARSHOT_TRIALS"] == "full"

  /// `share` in an ordinary run of the tests, `full` for the figures of docs/security.md.
  package static func count(_ share: Int, full: Int) -> Int { isFull ? full : share }

  /// Prints a figure for docs/security.md.
  package static func report(_ figure: String) { print("figure: \(figure)") }
}
