package import Earshot
internal import Reactor

/// What keys do while a call runs.
extension CallRun {
  /// What stands below the live lines.
  static func keys(_ view: CallView) -> String {
    "m mute   \(view.hasVideo ? "v video   " : "")q hang up   s statistics   ? keys"
  }

  func handleKey(_ key: Character) async {
    switch key {
    case "m", "M": await toggleSound()
    case "v", "V": await toggleVideo()
    case "q", "Q": await end()
    case "s", "S": await showStatistics()
    case "c", "C": await confirmCode()
    case "?", "h", "H": session.console.say(Self.help)
    default: break
    }
    refresh()
  }

  private static let help = """
    Keys: m mute, v video on and off, s statistics, q hang up,
          c the other side reads the same short code: it is verified from now on
    """

  private func toggleSound() async {
    let wanted = !view.isMuted
    do throws(EarshotError) {
      try await session.endpoint.call(id).setAudioMuted(wanted)
      view.isMuted = wanted
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
      try await session.endpoint.call(id).setVideoMuted(wanted)
      view.isVideoMuted = wanted
      marks.append(wanted ? "video off" : "video on", now: SystemClock.now)
      EventLine.writeOwn(wanted ? "localVideoOff" : "localVideoOn", id, to: session.lines)
    } catch {
      session.console.log(.warning, error.message)
    }
  }

  func showStatistics() async {
    guard let numbers = await session.endpoint.call(id).statistics() else {
      session.console.say("There are no statistics yet.")
      return
    }
    StatsLine.write(numbers, id, to: session.lines)
    view.numbers = numbers
    refresh()
    session.console.say(StatusRegion.lines(view, columns: 200).prefix(3).joined(separator: "\n"))
  }

  /// Two people have compared the code by voice: the other side is verified, by each name that it
  /// is pinned by, or else by its ID.
  private func confirmCode() async {
    guard hasShortCode, let peer = await session.endpoint.call(id).peer?.id else {
      return session.console.say("There is no short code to confirm yet.")
    }
    do throws(EarshotError) {
      let book = try ContactBook(identityFile: session.options.identity)
      let pins = try book.confirm(peer)
      isConfirmed = true
      session.console.say(Self.confirmed(pins, book.commands))
      EventLine.writeOwn("peerVerified", id, to: session.lines)
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
