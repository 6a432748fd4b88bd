internal import Earshot

/// What is said about the channel that a call becomes.
enum RoomWords {
  /// The other end of the first call has left.
  static func sentence(firstGone name: String, still others: [String]) -> String {
    guard let last = others.last else { return "\(name) has left; the channel goes on." }
    guard others.count > 1 else { return "\(name) has left; \(last) is still there." }
    let front = others.dropLast().joined(separator: ", ")
    return "\(name) has left; \(front) and \(last) are still there."
  }

  /// The other end asks somebody into the call, or a member asks whoever made the channel.
  ///
  /// - Parameters:
  ///   - asker: how it is called.
  ///   - name: by which the guest is pinned.
  static func sentence(
    _ question: CallChannel.Question, of asker: String, pinned name: String?
  ) -> String {
    let guest = question.guest.map {
      self.guest($0, called: question.guestName, by: asker, pinned: name)
    }
    guard question.asker == nil else {
      return "\(asker) asks \(guest ?? "somebody") into the channel. Press y or n."
    }
    return "\(asker) asks \(guest ?? "others") into this call, who would hear you. Press y or n."
  }

  /// What did not work, and was to.
  static func failure(_ step: CallChannelStep) -> String? {
    switch step {
    case .cannotCome(let member):
      "\(member.name) cannot come into a channel: its program does not know how a call becomes one."
    case .failed(let error, .own): "\(error.message) \(error.advice)"
    case .isUnanswered: silentRendezvous
    case .channelEnded(let reason):
      "The channel has ended: \(ChannelWords.text(of: reason)). Calls that there are go on."
    default: nil
    }
  }

  /// What others did; how often is up to them.
  ///
  /// - Parameter first: how the other end of the first call is called.
  static func news(_ step: CallChannelStep, of first: String) -> String? {
    switch step {
    case .connected(let member): "Connected with \(member.name), in the channel."
    case .refused(let member): "\(first) does not let \(member.name) in."
    case .isAsked: "\(first) is being asked whether others may come."
    case .remoteDeclined(isAnswered: true):
      "\(first) wants nobody else in this call: it stays one of two."
    case .remoteDeclined(isAnswered: false):
      "Nobody answered at \(first) whether others may come: the call stays one of two."
    case .declined:
      "Nobody else comes in: \(first) is told, and the call between you goes on."
    case .failed(let error, .other): "\(error.message) \(error.advice)"
    default: nil
    }
  }

  /// Somebody who may be pinned; a name that another one gives is only that.
  private static func guest(
    _ id: PeerID, called name: String?, by asker: String, pinned: String?
  ) -> String {
    pinned ?? name.map { "\($0) (so \(asker) says; \(id))" } ?? "\(id)"
  }

  private static let silentRendezvous =
    "The rendezvous does not answer about the channel: whoever was invited hears the one that "
    + "did it, and nobody else until then."
}
