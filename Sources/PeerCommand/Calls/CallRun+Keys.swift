internal import Earshot
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

  /// Two people have compared the code by voice: whoever is pinned as the other side is verified.
  private func confirmCode() async {
    guard hasShortCode, let peer = await session.endpoint.call(id).peer?.id else {
      return session.console.say("There is no short code to confirm yet.")
    }
    do throws(EarshotError) {
      let names = try Self.verify(peer, in: ContactBook(identityFile: session.options.identity))
      guard !names.isEmpty else {
        session.console.say(
          "\(view.peer) is not a contact. To keep it: earshot contacts import \(peer) --as NAME")
        return
      }
      isConfirmed = true
      session.console.say("Confirmed: \(names.joined(separator: ", ")) is verified from now on.")
      EventLine.writeOwn("peerVerified", id, to: session.lines)
    } catch {
      session.console.log(.warning, error.message)
    }
  }

  /// - Returns: the names by which the peer is pinned.
  static func verify(_ peer: PeerID, in book: ContactBook) throws(EarshotError) -> [String] {
    var names: [String] = []
    for entry in try book.entries() where entry.id == peer {
      guard case .name(let name) = entry.place else { continue }
      _ = try book.verify(name, as: peer)
      names.append(name)
    }
    return names
  }
}
