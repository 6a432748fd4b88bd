internal import Earshot
internal import Primitives
internal import Reactor

/// What is told of a stay while it lasts, and when it is over.
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

  // MARK: - What is told

  /// `nil` where it never began.
  var lasted: Duration? { joined.map { (closing?.at ?? SystemClock.now) - $0 } }

  var ending: ChannelReason? { closing?.reason }

  /// What the live lines show.
  func view(now: Instant) -> RoomView {
    var view = RoomView(channel: channel.name.shortText)
    view.seconds = joined.map { Int((now - $0).milliseconds / 1000) } ?? 0
    view.isRelayed = way.isRelayed
    view.isListening = role == .audience
    view.isMuted = isMuted
    view.playedLevel = sound.playedLevel
    let levels = sound.levels(in: channel.name, now: now)
    view.people = roll.entries.filter(\.isThere).map { entry in
      RoomView.Person(
        uid: entry.user.uid, name: Wording.short(entry.user.id), isHost: entry.user.role == .host,
        level: levels[entry.user.uid] ?? -90, numbers: entry.numbers)
    }
    view.memberCount = links.counts.members + 1
    view.fingerprint = relayCounts.presentFingerprint
    return view
  }

  func writeSummary(as type: String) {
    session.lines.write(type) { object in
      object.add("outcome", ending == .left ? "completed" : "failed")
      object.add("reason", ending?.rawValue)
      object.add("channel", channel.name.description)
      object.add("uid", Int(uid))
      object.add("role", role.rawValue)
      object.add("durationMs", lasted.map { Int($0.milliseconds) })
      object.add("membersMet", links.metCount)
      object.add("membersHeard", heard.count)
      object.add("members", .array(roll.values { sound.heard($0, in: channel.name) }))
      if roll.leftOut > 0 { object.add("membersLeftOut", roll.leftOut) }
      guard hasHadRelay else { return }
      object.add("relayFramesSent", relayCounts.sent)
      object.add("relayFramesOpened", relayCounts.opened)
      object.add("relayFramesUnopened", relayCounts.unopened)
      object.add("relayLosses", relayCounts.losses)
      object.add("rosterFingerprint", relayCounts.fingerprint)
    }
  }
}
