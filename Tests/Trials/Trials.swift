import Foundation

/// How often a test repeats a trial.
package enum Trials {
  private static let wish = ProcessInfo.processInfo.environment["EARSHOT_TRIALS"]

  /// Whether this run repeats each trial as often as docs/security.md says (`tools/trials`).
  package static let isFull = wish == "full"

  /// The first seed of a trial that draws fresh ones: 0 unless `EARSHOT_FIRST_SEED` says another.
  package static let firstSeed =
    ProcessInfo.processInfo.environment["EARSHOT_FIRST_SEED"].flatMap { UInt64($0) } ?? 0

  /// `share` in an ordinary run of the tests, `full` for the figures of docs/security.md. Where
  /// `EARSHOT_TRIALS` is a number, that many, `full` at the most.
  package static func count(_ share: Int, full: Int) -> Int {
    if isFull { return full }
    return wish.flatMap { Int($0) }.map { min($0, full) } ?? share
  }

  /// Prints a figure for docs/security.md.
  package static func report(_ figure: String) { print("figure: \(figure)") }
}
