internal import Primitives

/// How long things of a call's channel hold, and are waited for.
enum RoomTimes {
  /// To come in: whoever is let go in between has nothing that holds for long.
  static let entranceLife = Duration.seconds(Int64(RoomMarks.entranceSeconds))
  /// Longer than any call.
  static let memberLife = Duration.seconds(7 * 86_400)
  /// A rendezvous that is there answers at once; JOIN is repeated each second.
  static let joining = Duration.seconds(5)
  /// Whoever made the channel that stays may have to ask its person first.
  static let strays = RoomAccord.patience + .seconds(15)
}
