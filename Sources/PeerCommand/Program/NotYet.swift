package import Arguments

/// What the contract of the program names and this version does not have. One table: the program
/// refuses by it, README repeats it, and a test compares it with the contract.
package enum NotYet {
  /// Options of a command.
  package static func options(of command: Subcommand) -> [AbsentFeature] {
    guard command == .join else { return [] }
    return [
      AbsentFeature(
        "--also", "this version's program is in one channel at a time.",
        advice: "Programs can be in many: Endpoint.join of the library.")
    ]
  }
}
