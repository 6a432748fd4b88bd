internal import Earshot
internal import Primitives
internal import Reactor

extension RoomStay {
  /// What the terminal and the page of `--report` say of this stay; `nil` where it never began.
  var end: RoomEnd? {
    guard let lasted else { return nil }
    var end = RoomEnd(
      channel: channel.name.shortText,
      ending: ending.map { $0 == .left ? "left" : ChannelWords.text(of: $0) } ?? "cut off",
      seconds: Int(lasted.milliseconds / 1000), uid: uid,
      isRelayed: way.isRelayed)
    end.members = roll.entries.map { entry in
      let user = entry.user
      var member = RoomEnd.Member(uid: user.uid, id: user.id, role: user.role)
      member.name = session.pin(of: user.id)?.name
      member.isThere = entry.isThere
      let now = entry.isThere ? sound.heard(user.uid, in: channel.name) : .zero
      member.heardMs = Int((entry.heard + now).milliseconds)
      (member.packets, member.lost) = (entry.packets, entry.lost)
      member.residualLost = entry.residualLost
      member.mos = entry.mos
      member.roundTrip = entry.roundTrip
      return member
    }
    end.leftOut = roll.leftOut
    return end
  }
}
