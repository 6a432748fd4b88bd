package import Primitives

/// What the two of a call have agreed on: whether it is a channel, which one of two that were made
/// at the same moment, and what a person is asked before (docs/protocol/channels.md §10). Pure.
package struct CallChannelAccord {
  /// What is to be done now.
  package enum Step: Equatable, Sendable {
    case nothing
    /// The person is to see `question`.
    case ask
    case join(ChannelInvitation)
    /// The same, and the channel that there is is left.
    case move(ChannelInvitation)
    case renew(ChannelInvitation)
    /// The other end of the first call is told so.
    case decline(ChannelWord)
    case admit(PeerID, for: CallID)
    case refuse(PeerID, for: CallID)
  }

  /// The channel that the call is a part of.
  private enum Standing: Equatable {
    case none
    case made(ChannelName)
    case followed(ChannelName)
  }

  /// What the person is asked, one thing at a time.
  private struct Question {
    enum Matter {
      case channel(ChannelInvitation)
      case member(PeerID, of: CallID, by: PeerID)
    }

    var matter: Matter
    var guest: (id: PeerID, name: String?)?
    var shown: Instant
    var due: Instant
  }

  /// Who came in by a member's wish.
  private struct Admission {
    /// By which call that was said.
    let call: CallID
    /// It was in the roster: it is a member like any other, and nobody else's to withdraw.
    var hasArrived = false
  }

  private let asks: Bool
  /// The person has agreed to a channel with this other end.
  private var hasAgreed: Bool
  private var standing = Standing.none
  private var open: Question?
  /// Questions, by the member who answers for them; the first call's about its own channel under
  /// `nil`. Never fewer: a member may hang up and call again.
  private var asked: [PeerID?: Int] = [:]
  private var movedCount = 0
  /// Of the other end's person.
  private var toldOfQuestions = 0
  /// Whom the other end is about to bring in, as it says.
  private var guest: (id: PeerID, name: String?)?
  /// To the other end's channel, which gives way to ours.
  private var deferred: ChannelInvitation?
  private var newestToken = ""
  private var renewed: Instant?
  private var admitted: [PeerID: Admission] = [:]
  /// Tokens that were signed at members' wishes, by the member who answers for them: never fewer,
  /// whoever is let go again.
  private var admissions: [PeerID: Int] = [:]
  /// Of those who came in by a wish, the member whose it was at first: it answers for their wishes,
  /// so that one who brings in another has no more than its own.
  private var sponsors: [PeerID: PeerID] = [:]
  /// The other end of the first call was in our channel: it can decline it no more.
  private var hasFollowed = false

  /// - Parameters:
  ///   - asks: A person is there who can be asked.
  ///   - hasAgreed: It knew of others when it took the call.
  package init(asks: Bool, hasAgreed: Bool = false) {
    self.asks = asks
    self.hasAgreed = hasAgreed
  }

  // MARK: - The other end of the first call

  package mutating func handleGuest(_ id: PeerID, _ name: String?) { guest = (id, name) }

  /// It has let its guest go, or the guest has gone: no question names it any more.
  package mutating func handleGuestGone(_ id: PeerID) {
    if guest?.id == id { guest = nil }
    if let open, case .channel = open.matter, open.guest?.id == id { self.open?.guest = nil }
  }

  /// It makes a channel of the call, or has a newer token.
  package mutating func handleInvitation(_ invitation: ChannelInvitation, now: Instant) -> Step {
    switch standing {
    case .followed(let name) where name == invitation.channel: return renew(invitation, now: now)
    case .made(let name) where name == invitation.channel: return .nothing
    case .made(let name) where Self.staysBefore(invitation.channel, name):
      deferred = invitation
      return .nothing
    case .none, .made, .followed: break
    }
    if let open, case .channel = open.matter {
      self.open?.matter = .channel(invitation)
      return .nothing
    }
    guard asks, !hasAgreed else { return enter(invitation) }
    // Whoever says no is not asked for ever; a question that is open comes first.
    guard open == nil, asked[nil, default: 0] < Self.mostQuestions else {
      return .decline(.declined)
    }
    ask(.channel(invitation), guest, now: now)
    return .ask
  }

  /// It does not come into our channel, which ends.
  package mutating func handleDeclined(now: Instant) -> Step {
    guard mayDecline else { return .nothing }
    end()
    guard let deferred else { return .nothing }
    self.deferred = nil
    return handleInvitation(deferred, now: now)
  }

  /// It has left: nobody is asked about its channel any more.
  package mutating func handleFirstEnd() {
    deferred = nil
    if let open, case .channel = open.matter { self.open = nil }
  }

  /// It is in our channel: its own one is no more.
  package mutating func handleFollowed() {
    deferred = nil
    hasFollowed = true
  }

  /// The person there is asked about our channel, or about a guest of ours.
  ///
  /// - Returns: Whether that is worth saying here: how often it comes is up to the other side.
  package mutating func handleAsked() -> Bool {
    guard standing != .none, toldOfQuestions < Self.mostQuestions else { return false }
    toldOfQuestions += 1
    return true
  }

  /// Whether the other end of the first call may still say no to our channel.
  package var mayDecline: Bool {
    if case .made = standing { !hasFollowed } else { false }
  }

  // MARK: - Members

  /// A member asks for a token for somebody.
  ///
  /// - Parameters:
  ///   - member: Whose call it is.
  ///   - isAdmitted: By `--from`, where no person is asked.
  ///   - isThere: It is a member already, or we ourselves: its tokens are nobody else's business.
  package mutating func handleWish(
    _ id: PeerID, _ name: String?, of call: CallID, by member: PeerID, isAdmitted: Bool,
    isThere: Bool, now: Instant
  ) -> Step {
    guard case .made = standing, !isThere, admitted[id].map({ $0.call == call }) ?? true,
      mayAdmit(by: member)
    else {
      return .refuse(id, for: call)
    }
    guard asks else { return isAdmitted ? admit(id, call, member) : .refuse(id, for: call) }
    guard open == nil, mayAsk(by: member) else { return .refuse(id, for: call) }
    ask(.member(id, of: call, by: member), (id, name), now: now)
    return .ask
  }

  /// The call of the member by whose wish somebody came in.
  package func inviter(of id: PeerID) -> CallID? { admitted[id]?.call }

  /// Somebody is in the roster.
  package mutating func handleArrival(_ id: PeerID) { admitted[id]?.hasArrived = true }

  /// Whether somebody was to come in by the wish of that member, who has let it go before it came.
  package mutating func withdraw(_ id: PeerID, by call: CallID) -> Bool {
    if let open, case .member(id, call, _) = open.matter { self.open = nil }
    guard let admission = admitted[id], admission.call == call, !admission.hasArrived else {
      return false
    }
    admitted[id] = nil
    return true
  }

  /// A call is over: nobody is asked any more what it asked for.
  package mutating func handleEnd(of call: CallID) {
    if let open, case .member(_, call, _) = open.matter { self.open = nil }
    for (id, admission) in admitted where admission.call == call { admitted[id] = nil }
  }

  // MARK: - The person

  /// Whom the open question is about and who asks; `nil` when there is none.
  package var question: (asker: CallID?, guest: (id: PeerID, name: String?)?)? {
    open.map { open in
      if case .member(_, let call, _) = open.matter {
        (call, open.guest)
      } else {
        (nil, open.guest)
      }
    }
  }

  /// Takes a key that was pressed. One that came before the question could be read was meant for
  /// another one, and answers nothing.
  package mutating func answer(_ isYes: Bool, now: Instant) -> Step {
    guard let question = open, now >= question.shown + Self.readingTime else { return .nothing }
    open = nil
    switch question.matter {
    case .member(let id, let call, let member):
      return isYes ? admit(id, call, member) : .refuse(id, for: call)
    case .channel(let invitation):
      guard isYes else { return .decline(.declined) }
      hasAgreed = true
      return enter(invitation)
    }
  }

  /// When a question has waited for long enough.
  package var deadline: Instant? { open?.due }

  package mutating func expire(now: Instant) -> Step {
    guard let question = open, question.due <= now else { return .nothing }
    open = nil
    switch question.matter {
    case .member(let id, let call, _): return .refuse(id, for: call)
    case .channel: return .decline(.unanswered)
    }
  }

  // MARK: - The own channel

  /// We have made one. A question about the other end's is none where that one gives way.
  package mutating func handleMade(_ channel: ChannelName) {
    standing = .made(channel)
    guard let question = open, case .channel(let invitation) = question.matter,
      Self.staysBefore(invitation.channel, channel)
    else { return }
    deferred = invitation
    open = nil
  }

  /// The channel that there was is left, or never came to be.
  package mutating func end() {
    standing = .none
    hasFollowed = false
    admitted = [:]
    newestToken = ""
  }

  /// Whether of two channels of one call the second one stays: the one whose text is the lesser,
  /// byte for byte, as of two calls at once the one with the lesser ID.
  package static func staysBefore(_ other: ChannelName, _ own: ChannelName) -> Bool {
    "\(own)".utf8.lexicographicallyPrecedes("\(other)".utf8)
  }

  // MARK: - Parts

  private mutating func ask(
    _ matter: Question.Matter, _ guest: (id: PeerID, name: String?)?, now: Instant
  ) {
    let member: PeerID? =
      if case .member(_, _, let member) = matter { answerer(for: member) } else { nil }
    asked[member, default: 0] += 1
    open = Question(matter: matter, guest: guest, shown: now, due: now + Self.patience)
  }

  /// Who answers for a member's wishes.
  private func answerer(for member: PeerID) -> PeerID { sponsors[member] ?? member }

  private func mayAsk(by member: PeerID) -> Bool {
    let all = asked.reduce(0) { $0 + ($1.key == nil ? 0 : $1.value) }
    return asked[answerer(for: member), default: 0] < Self.mostQuestions
      && all < Self.mostQuestionsInAll
  }

  private func mayAdmit(by member: PeerID) -> Bool {
    admissions[answerer(for: member), default: 0] < Self.mostAdmitted
      && admissions.values.reduce(0, +) < Self.mostAdmittedInAll
  }

  private mutating func admit(_ id: PeerID, _ call: CallID, _ member: PeerID) -> Step {
    let answerer = answerer(for: member)
    admitted[id] = Admission(call: call)
    admissions[answerer, default: 0] += 1
    if id != answerer, sponsors[id] == nil { sponsors[id] = answerer }
    return .admit(id, for: call)
  }

  private mutating func enter(_ invitation: ChannelInvitation) -> Step {
    if case .made(let name) = standing, Self.staysBefore(invitation.channel, name) {
      deferred = invitation
      return .nothing
    }
    let isMove = standing != .none
    guard !isMove || movedCount < Self.mostMoves else { return .nothing }
    if isMove { movedCount += 1 }
    end()
    standing = .followed(invitation.channel)
    newestToken = invitation.token
    return isMove ? .move(invitation) : .join(invitation)
  }

  /// Each renewal is a request to the rendezvous: how many there are is not up to the other end.
  private mutating func renew(_ invitation: ChannelInvitation, now: Instant) -> Step {
    guard invitation.token != newestToken else { return .nothing }
    if let renewed, now < renewed + Self.renewalInterval { return .nothing }
    renewed = now
    newestToken = invitation.token
    return .renew(invitation)
  }

  /// Keys pressed within it answer what was asked before.
  package static let readingTime = Duration.seconds(1)
  /// For a person to look up and decide.
  package static let patience = Duration.seconds(30)
  /// Questions by one member: whoever is asked more often is pressed.
  package static let mostQuestions = 8
  /// The same of all others of eight, so that none takes another's.
  package static let mostQuestionsInAll = 7 * mostQuestions
  /// Channels of one call that are left for another one: two calls of glare need one each.
  package static let mostMoves = 4
  /// Tokens at the wishes of one member, and of all: a channel that was a call has 8 members.
  package static let mostAdmitted = 8
  package static let mostAdmittedInAll = 7 * mostAdmitted
  /// Tokens hold for minutes or days. The first renewal is taken at once.
  package static let renewalInterval = Duration.seconds(10)
}
