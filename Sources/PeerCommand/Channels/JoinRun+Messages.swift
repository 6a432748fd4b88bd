internal import Earshot

/// Messages to and from the members of the channels.
extension JoinRun {
  /// What an input says of messages.
  func handleMessages(_ input: SessionInput) {
    switch input {
    case .media(let name, .message(let uid, let stream, let bytes)):
      messages.show(bytes, stream: stream, from: uid, called: called(uid, in: name), in: name)
    case .media(let name, .messagesMissed(let uid, _, let missed)):
      messages.showMissed(missed, from: called(uid, in: name))
    case .media(let name, .messageDelivery(let tag, let isDelivered)):
      messages.handleDelivery(of: tag, in: name, isDelivered: isDelivered)
    case .lines(let lines):
      for line in lines { messages.append(line) }
    default: break
    }
  }

  private func called(_ uid: UInt32, in channel: ChannelName) -> String {
    stay(channel)?.names.name(uid) ?? "\(uid)"
  }

  /// The channel that is published to.
  var spoken: RoomStay? { stays.first { $0.role == .host } }

  // MARK: - Typing

  func beginTyping() {
    guard spoken != nil else {
      return session.console.say("Only a host writes to all; r asks for the other role.")
    }
    typed = ""
    session.console.say("Type a line for all, then Enter; Enter alone: nothing.")
  }

  func type(_ key: Character) {
    guard let text = typed else { return }
    switch key {
    case "\n":
      typed = nil
      messages.append(Array(text.utf8))
    case "\u{8}": typed = String(text.dropLast())
    default: if text.utf8.count < Self.longestTyped { typed = text + String(key) }
    }
  }

  /// Letters of a line.
  private static let longestTyped = 1000
}
