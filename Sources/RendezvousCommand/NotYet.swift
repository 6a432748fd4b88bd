import Arguments

/// What the contract of the program names and this version does not have: refused by name.
enum NotYet {
  static let commands: [AbsentFeature] = [
    AbsentFeature(
      "backup", "this version makes no backups yet.",
      advice: "Stop the server, and copy the folder of --data.")
  ]

  static let options: [AbsentFeature] =
    [
      AbsentFeature(
        "--relay-key", "this version has no relays of its own yet.",
        advice: "Use a TURN server: --turn URI --turn-secret FILE."),
      AbsentFeature(
        "--redis", "this version runs on one node.", advice: "Leave it out."),
      AbsentFeature(
        "--config", "this version reads no configuration file yet.",
        advice: "Write the options on the command line."),
      AbsentFeature(
        "--drain", "this version tells its clients when it ends, and does not wait for them yet.",
        advice: "Leave it out."),
    ]
}
