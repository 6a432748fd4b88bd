import Arguments

/// What the contract of the program names and this version does not have: refused by name.
enum NotYet {
  static let options: [AbsentFeature] =
    [
      AbsentFeature(
        "--relay-key", "this version has no relays of its own yet.",
        advice: "Use a TURN server: --turn URI --turn-secret FILE."),
      AbsentFeature(
        "--redis", "this version runs on one node.", advice: "Leave it out."),
    ]
}
