package import Earshot
internal import Reactor

/// What keys do while a call runs.
extension CallRun {
  /// What stands below the live lines.
  static func keys(_ view: CallView) -> String {
    "m mute   \(view.hasVideo ? "v video   " : "")i invite   q hang up   s statistics   ? keys"
  }

  func handleKey(_ key: Character) async {
    defer { refresh() }
    if typed != nil { return await type(key) }
    if codes.isChoosing { return await chooseCode(key) }
    if let room = company.room, await room.answer(key) { return }
    switch key {
    case "m", "M": await toggleSound()
    case "v", "V": await toggleVideo()
    case "q", "Q": await end()
    case "s", "S": await showStatistics()
    case "c", "C": await confirmCode()
    case "i", "I": beginTyping()
    case "?", "h", "H": session.console.say(Self.help)
    default: break
    }
  }

  // MARK: - Inviting

  private func beginTyping() {
    guard company.room != nil else {
      return session.console.say("Nobody can be invited before the call is connected.")
    }
    typed = ""
    view.hint = "Invite whom? "
    session.console.say("Invite whom? Type a name or an ID, then Enter; Enter alone: nobody.")
  }

  private func type(_ key: Character) async {
    guard let text = typed else { return }
    switch key {
    case "\n":
      typed = nil
      view.hint = Self.keys(view)
      let target = text.filter { $0 != " " }
      if !target.isEmpty { await company.room?.invite(target) }
    case "\u{8}": typed = String(text.dropLast())
    default: if text.utf8.count < Self.longestTarget { typed = text + String(key) }
    }
    if let typed { view.hint = "Invite whom? \(typed)" }
  }

  /// Letters; an ID has 52.
  private static let longestTarget = 64

  private static let help = """
    Keys: m mute, v video on and off, s statistics, q hang up,
          i invite another one: the call becomes a channel,
          c the other side reads the same short code: it is verified from now on
    """

  private func toggleSound() async {
    let wanted = !view.isMuted
    do throws(EarshotError) {
      for call in calls { try await session.endpoint.call(call).setAudioMuted(wanted) }
      view.isMuted = wanted
      await company.room?.keepMuted(sound: wanted)
      marks.append(wanted ? "muted" : "unmuted", now: SystemClock.now)
      EventLine.writeOwn(wanted ? "localAudioMuted" : "localAudioUnmuted", id, to: session.lines)
    } catch {
      session.console.log(.warning, error.message)
    }
  }

  private func toggleVideo() async {
    guard view.hasVideo else { return session.console.say("No video is sent.") }
    let wanted = !view.isVideoMuted
    do throws(EarshotError) {
      for call in calls { try await session.endpoint.call(call).setVideoMuted(wanted) }
      view.isVideoMuted = wanted
      await company.room?.keepMuted(pictures: wanted)
      marks.append(wanted ? "video off" : "video on", now: SystemClock.now)
      EventLine.writeOwn(wanted ? "localVideoOff" : "localVideoOn", id, to: session.lines)
    } catch {
      session.console.log(.warning, error.message)
    }
  }

  func showStatistics() async {
    var hasSaid = false
    for call in calls {
      guard let numbers = await session.endpoint.call(call).statistics() else { continue }
      StatsLine.write(numbers, call, to: session.lines)
      if call == shownCall { view.numbers = numbers }
      refresh()
      var shown = shownView
      shown.numbers = numbers
      shown.peer = company.room?.name(of: call) ?? view.peer
      session.console.say(
        StatusRegion.lines(shown, columns: 200).prefix(3).joined(separator: "\n"))
      hasSaid = true
    }
    if !hasSaid { session.console.say("There are no statistics yet.") }
  }

  /// Two people have compared the code by voice: the other side is verified, by each name that it
  /// is pinned by, or else by its ID.
  private func confirmCode() async {
    let choices = codes.choices(calls)
    if choices.count > 1 {
      codes.show(choices)
      let list = choices.enumerated().map { "\($0.offset + 1): \($0.element.name)" }
      return session.console.say(
        "Whose short code? \(list.joined(separator: ", ")); any other key: nobody's.")
    }
    await confirm(choices.first?.call)
  }

  private func chooseCode(_ key: Character) async {
    guard let call = codes.choose(key, calls) else {
      return session.console.say("Nobody is confirmed.")
    }
    await confirm(call)
  }

  private func confirm(_ call: CallID?) async {
    guard let call, let peer = await session.endpoint.call(call).peer?.id else {
      return session.console.say("There is no short code to confirm yet.")
    }
    do throws(EarshotError) {
      let book = try ContactBook(identityFile: session.options.identity)
      let pins = try book.confirm(peer)
      codes.confirm(call)
      session.console.say(Self.confirmed(pins, book.commands))
      EventLine.writeOwn("peerVerified", call, to: session.lines)
    } catch {
      session.console.log(.warning, error.message)
    }
  }

  /// - Parameter pins: all those of one identity, which are verified now.
  package static func confirmed(
    _ pins: [ContactBook.Entry], _ commands: ContactCommands
  ) -> String {
    let names = pins.compactMap { if case .name(let name) = $0.place { name } else { nil } }
    guard names.isEmpty, let id = pins.first?.id else {
      return "Confirmed: \(names.joined(separator: ", ")) is verified from now on."
    }
    return "Confirmed: \(Wording.short(id)) is verified from now on. To name it:\n"
      + commands.name(id)
  }
}
