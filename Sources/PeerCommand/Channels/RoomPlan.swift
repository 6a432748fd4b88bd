/// How a stay in a channel talks with the others.
struct RoomPlan {
  var way: RoomWay.Choice
  var video: VideoOptions
  var bitrate: Int
  /// Whether it calls everybody: nobody can call a program that was started for a call of its own.
  var dialsAll = false
  /// Whether calls that fail are made again soon: the members come in the same moment.
  var isHurried = false
}
