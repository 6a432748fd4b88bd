import Arguments

/// What the contract of the program names and this version does not have: refused by name.
enum NotYet {
  static let options: [AbsentFeature] =
    [
      AbsentFeature(
        "--redis", "this version runs on one node.", advice: "Leave it out.")
    ]
}
