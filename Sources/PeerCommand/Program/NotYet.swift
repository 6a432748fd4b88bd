package import Arguments

/// What the contract of the program names and this version does not have. One table: the program
/// refuses by it, README repeats it, and a test compares it with the contract.
package enum NotYet {
  package static let commands: [AbsentFeature] = [
    AbsentFeature(
      "join", "this version has no channels yet.",
      advice: "earshot call and earshot answer talk between two hosts."),
    AbsentFeature(
      "send", "this version sends no files or texts yet.",
      advice: "Programs can send messages in a call: Call.send of the library."),
    AbsentFeature(
      "receive", "this version receives no files or texts yet.",
      advice: "Programs can receive messages in a call: CallProgress.message of the library."),
  ]

  /// Options of a command: none at present.
  package static func options(of command: Subcommand) -> [AbsentFeature] { [] }
}
