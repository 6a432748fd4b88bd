internal import Earshot

/// Messages to and from the members of the channels.
extension JoinRun {
  /// What an input says of messages.
  func handleMessages(_ input: SessionInput) {
    switch input {
    case .endpoint(.callProgress(let call, .message(let stream, let bytes))):
      guard let (stay, uid) = member(of: call) else { return }
      messages.show(bytes, stream: stream, from: uid, in: stay.channel.name)
    case .endpoint(.callProgress(let call, .messagesMissed(_, let missed, _))):
      if let (_, uid) = member(of: call) { messages.showMissed(missed, from: uid) }
    case .endpoint(.callProgress(let call, .messageDelivery(let tag, let isDelivered))):
      messages.handleDelivery(.call(call, tag), isDelivered: isDelivered)
    case .endpoint(.callEnded(let call, _)): messages.handleEnd(of: call)
    case .relay(let name, .message(let uid, let stream, let bytes)):
      messages.show(bytes, stream: stream, from: uid, in: name)
    case .relay(_, .messagesMissed(let uid, _, let missed, _)):
      messages.showMissed(missed, from: uid)
    case .relay(let name, .messageDelivery(let tag, let isDelivered)):
      messages.handleDelivery(.relay(name, tag), isDelivered: isDelivered)
    case .lines(let lines):
      for line in lines { messages.append(line) }
    default: break
    }
  }

  /// The channel that is published to.
  var spoken: RoomStay? { stays.first { $0.role == .host } }

  private func member(of call: CallID) -> (stay: RoomStay, uid: UInt32)? {
    for stay in stays {
      if let uid = stay.links.uid(of: call) { return (stay, uid) }
    }
    return nil
  }

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
