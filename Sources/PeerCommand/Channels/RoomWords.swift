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
  ///   - first: how the other end is called.
  ///   - pin: the name by which somebody is pinned.
  static func question(
    of accord: RoomAccord, _ people: RoomPeople, first: String, pin: (PeerID) -> String?
  ) -> String? {
    accord.question.map { question in
      sentence(
        question, of: question.asker.flatMap { people.name(of: $0) } ?? first,
        pinned: question.guest.flatMap { pin($0.id) })
    }
  }

  /// - Parameter name: By which the guest is pinned.
  static func sentence(
    _ question: (asker: CallID?, guest: (id: PeerID, name: String?)?), of asker: String,
    pinned name: String?
  ) -> String {
    let guest = question.guest.map { self.guest($0.id, called: $0.name, by: asker, pinned: name) }
    guard question.asker == nil else {
      return "\(asker) asks \(guest ?? "somebody") into the channel. Press y or n."
    }
    return "\(asker) asks \(guest ?? "others") into this call, who would hear you. Press y or n."
  }

  /// Somebody who may be pinned; a name that another one gives is only that.
  private static func guest(
    _ id: PeerID, called name: String?, by asker: String, pinned: String?
  ) -> String {
    pinned ?? name.map { "\($0) (so \(asker) says; \(id))" } ?? "\(id)"
  }

  static func asked(_ name: String) -> String { "\(name) is being asked whether others may come." }

  static func declined(by name: String, _ word: ChannelWord) -> String {
    word == .unanswered
      ? "Nobody answered at \(name) whether others may come: the call stays one of two."
      : "\(name) wants nobody else in this call: it stays one of two."
  }

  static let silentRendezvous =
    "The rendezvous does not answer about the channel: whoever was invited hears the one that "
    + "did it, and nobody else until then."

  static func cannotBecome(_ name: String) -> String {
    "Nobody can be invited: the program of \(name) does not let a call become a "
      + "channel; it has to be a newer one."
  }

  static func cannotCome(_ name: String) -> String {
    "\(name) cannot come into a channel: its program does not know how a call becomes one."
  }

  static let makerHasLeft =
    "Only who made the channel of the call lets others in, and that one has left."
}
