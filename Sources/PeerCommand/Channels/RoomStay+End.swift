internal import Earshot
internal import Primitives
internal import Reactor

/// What is told of a stay while it lasts, and when it is over.
extension RoomStay {
  /// What the terminal and the page of `--report` say of this stay; `nil` where it never began.
  func end(_ standing: ChannelMedia.Standing) -> RoomEnd? {
    guard let lasted else { return nil }
    var end = RoomEnd(
      channel: channel.name.shortText,
      ending: ending.map { $0 == .left ? "left" : ChannelWords.text(of: $0) } ?? "cut off",
      seconds: Int(lasted.milliseconds / 1000), uid: uid,
      isRelayed: standing.isRelayed)
    end.isListening = role == .audience
    end.members = standing.members.map { entry in
      let user = entry.user
      var member = RoomEnd.Member(uid: user.uid, id: user.id, role: user.role)
      member.name = session.pin(of: user.id)?.name
      member.isOwn = user.id == session.endpoint.id
      member.isThere = entry.isThere
      member.heardMs = Int(entry.heard.milliseconds)
      (member.packets, member.lost) = (entry.packets, entry.lost)
      member.residualLost = entry.residualLost
      member.mos = entry.mos
      member.roundTrip = entry.roundTripMs
      return member
    }
    end.leftOut = standing.leftOut
    return end
  }

  // MARK: - What is told

  /// `nil` where it never began.
  var lasted: Duration? { joined.map { (closing?.at ?? SystemClock.now) - $0 } }

  var ending: ChannelReason? { closing?.reason }

  /// What the live lines show.
  func view(now: Instant) async -> RoomView {
    let standing = await media.standing
    var view = RoomView(channel: channel.name.shortText)
    view.seconds = joined.map { Int((now - $0).milliseconds / 1000) } ?? 0
    view.isRelayed = standing.isRelayed
    view.isListening = role == .audience
    view.isMuted = isMuted
    view.playedLevel = sound.playedLevel
    view.people = standing.members.filter(\.isThere).map { entry in
      RoomView.Person(
        uid: entry.user.uid, name: names.pinned(entry.user.uid) ?? Wording.short(entry.user.id),
        isHost: entry.user.role == .host, level: entry.level, numbers: entry.numbers,
        isOwn: entry.user.id == session.endpoint.id)
    }
    view.memberCount = standing.memberCount
    view.fingerprint = standing.fingerprint
    return view
  }

  func writeSummary(_ standing: ChannelMedia.Standing, as type: String) {
    session.lines.write(type) { object in
      object.add("outcome", ending == .left ? "completed" : "failed")
      object.add("reason", ending?.rawValue)
      object.add("channel", channel.name.description)
      object.add("uid", Int(uid))
      object.add("role", role.rawValue)
      object.add("durationMs", lasted.map { Int($0.milliseconds) })
      object.add("membersMet", standing.metCount)
      object.add("membersHeard", standing.heardCount)
      let names = OnlineSession.pinnedNames(by: session.options.identity)
      object.add(
        "members", .array(standing.members.map { Self.value($0, names[$0.user.id]) }))
      if standing.leftOut > 0 { object.add("membersLeftOut", standing.leftOut) }
      guard let relay = standing.relay else { return }
      object.add("relayFramesSent", relay.sent)
      object.add("relayFramesOpened", relay.opened)
      object.add("relayFramesUnopened", relay.unopened)
      object.add("relayLosses", relay.losses)
      object.add("rosterFingerprint", relay.fingerprint)
    }
  }

  /// - Parameter name: That its identity is pinned under.
  static func value(_ member: ChannelMedia.Member, _ name: String?) -> JSONValue {
    var object = JSONObject()
    object.add("uid", Int(member.user.uid))
    object.add("name", name)
    object.add("id", "\(member.user.id)")
    object.add("role", member.user.role.rawValue)
    object.add("isThere", member.isThere)
    object.add("heardMs", Int(member.heard.milliseconds))
    object.add("packets", member.packets)
    object.add("lost", member.lost)
    object.add("residualLost", member.residualLost)
    object.add("mos", member.mos)
    return object.value
  }
}
