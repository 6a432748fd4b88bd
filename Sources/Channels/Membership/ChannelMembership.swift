import Primitives
import Tokens
import Wire

/// One channel at one member: joining, staying, leaving, coming back (docs/protocol/channels.md
/// §3).
struct ChannelMembership {
  let identity: ChannelIdentity
  let limits: ChannelLimits
  private let stay: UInt64
  /// When the command to join was given.
  private let began: Instant

  private(set) var state = ChannelState.joining
  /// The role that the server has told of, or the one that is asked for.
  private(set) var role: MemberRole
  private(set) var uid: UInt32
  private(set) var joinNumber: UInt64 = 0
  /// The stays that were ours before: what becomes of them is told to nobody.
  private var formerStays: [(uid: UInt32, joinNumber: UInt64)] = []
  private var roster: RosterCopy
  private var view = RosterView()
  private var token: ChannelToken
  private var contact: ChannelContact
  /// Commands whose results are to come; the first one is under way.
  private var commands = CommandQueue()
  private var joinedAt: Instant?
  /// Until when those may come back who were there before the server began anew: for them, too,
  /// contact ended when it did for us.
  private var returnEnd = Instant.zero
  /// WELCOME came with this epoch already, and none is awaited.
  private var isWelcome = false
  /// We were on the roster already.
  private var wasShown = false
  private var events: [ChannelEvent] = []

  init(
    _ identity: ChannelIdentity, stay: UInt64, role: MemberRole, uid: UInt32, token: [UInt8],
    limits: ChannelLimits, now: Instant
  ) {
    self.identity = identity
    self.limits = limits
    self.stay = stay
    self.role = role
    self.uid = uid
    began = now
    roster = RosterCopy(limits: limits)
    self.token = ChannelToken(token, limits: limits)
    contact = ChannelContact(limits: limits, now: now)
    events.append(.stateChanged(.joining, .joining))
  }

  /// The members as the user sees them, with the own one.
  var members: [ChannelMember] { view.members }
  func member(_ uid: UInt32) -> ChannelMember? { view.member(uid) }

  var revision: UInt64 { roster.revision }
  /// Whether `members` are those of `revision`, and no others.
  var isExact: Bool { roster.isComplete && view.isExact }
  var shownToken: [UInt8] { token.text }

  /// Whether the role host is ours, or asked for.
  var isPublishing: Bool {
    guard state != .failed, state != .left else { return false }
    return role == .host || commands.wantsHost
  }

  /// Whether it is in the channel, or tries to be.
  var isActive: Bool { state != .failed && state != .left }

  // MARK: - Commands

  /// - Returns: `false` if too many wait.
  mutating func queue(_ command: ChannelRequest.Content) -> Bool {
    commands.append(command, limit: limits.commands)
  }

  /// Whether sound of the channel goes on, also without the rendezvous.
  mutating func setCarried(_ isCarried: Bool) { contact.isCarried = isCarried }

  mutating func leave(now: Instant) {
    let duration = joinedAt.map { now - $0 } ?? .zero
    change(to: .left, .left)
    events.append(.left(duration: duration))
  }

  // MARK: - Inputs

  /// There is a session with the rendezvous, perhaps another one than before.
  mutating func handleConnection(now: Instant) {
    guard isActive else { return }
    isWelcome = false
    contact.hurry(now: now)
    commands.repeatFirst()
  }

  mutating func handle(_ content: ChannelNotice.Content, now: Instant) {
    guard isActive else { return }
    switch content {
    case .welcome(let welcome):
      // One that comes again may be older than what was told since.
      guard welcome.stay == stay, !isWelcome else { return }
      handle(welcome, now: now)
    case .result(let result):
      guard result.stay == stay else { return }
      handle(result, now: now)
    case .gone(let stay, let departure):
      guard stay == self.stay else { return }
      handle(departure, now: now)
    case .head(let epoch, let revision):
      guard hear(epoch, now: now) else { return }
      roster.handle(head: revision, now: now)
    case .changes(let changes):
      guard hear(changes.epoch, now: now) else { return }
      if roster.handle(changes, now: now) { contact.hurry(now: now) }
    case .roster(let page):
      guard hear(page.epoch, now: now) else { return }
      if roster.handle(page, now: now) { contact.hurry(now: now) }
    // These say nothing of the roster, which has thousands of members: it is not gone through.
    case .proven(let uid, let joinNumber, let token):
      return events.append(.proven(uid: uid, joinNumber: joinNumber, token: token))
    case .relay(let grant): return events.append(.relayGranted(grant))
    }
    showRoster(now: now)
  }

  /// Whether a notice is of the life of the channel that we are a member of.
  private mutating func hear(_ epoch: UInt64, now: Instant) -> Bool {
    guard isWelcome, epoch == roster.epoch else { return false }
    contact.hear(now: now)
    return true
  }

  private mutating func handle(_ welcome: ChannelWelcome, now: Instant) {
    let outage = contact.outage(now: now)
    let absence = contact.period + limits.silence
    // Whom we may hear all the while is back once it has found the rendezvous again.
    let patience = contact.isCarried ? limits.contactLoss : limits.repetition
    returnEnd = max(contact.lastSign + absence, now + patience)
    roster.begin(welcome.epoch)
    roster.awaitAnswer(now: now)
    contact.period = .milliseconds(Int64(welcome.period))
    contact.hear(now: now)
    isWelcome = true
    if welcome.joinNumber != joinNumber { keepFormerStay() }
    uid = welcome.uid
    joinNumber = welcome.joinNumber
    if welcome.role != role, joinedAt != nil {
      events.append(.roleChanged(from: role, to: welcome.role))
    }
    role = welcome.role
    token.handleLife(welcome.tokenLife, now: now)
    guard joinedAt == nil else {
      guard state == .reconnecting else { return }
      change(to: .joined, .rejoinSucceeded)
      events.append(.rejoined(uid: uid, elapsed: outage))
      return
    }
    joinedAt = now
    change(to: .joined, .joinSucceeded)
    events.append(.joined(uid: uid, elapsed: now - began))
  }

  private mutating func handle(_ result: ChannelResult, now: Instant) {
    contact.hear(now: now)
    if result.status == .tooManyRequests { return }
    if result.status == .noRelay { return events.append(.noRelay) }
    if let command = commands.finish(result.number) {
      return finish(command, result, now: now)
    }
    guard !isWelcome, result.status != .done else { return }
    if result.status == .uidTaken, joinedAt != nil, uid != 0 {
      // Another one has it since the server began anew.
      uid = 0
      return contact.hurry(now: now)
    }
    if result.status == .tooManyHosts, joinedAt != nil, role == .host {
      // Others were faster to come back.
      role = .audience
      events.append(.roleChanged(from: .host, to: .audience))
      events.append(.roleChangeFailed(.tooManyHosts, current: .audience))
      return contact.hurry(now: now)
    }
    change(to: .failed, .refused(result.status))
    if case .token = result.status { events.append(.tokenNeeded) }
  }

  private mutating func finish(
    _ command: ChannelRequest.Content, _ result: ChannelResult, now: Instant
  ) {
    switch command {
    case .role(let wanted):
      guard result.status == .done else {
        events.append(.roleChangeFailed(result.status, current: role))
        return
      }
      if wanted != role { events.append(.roleChanged(from: role, to: wanted)) }
      role = wanted
    case .renew(let text):
      guard result.status == .done else { return events.append(.tokenRefused(result.status)) }
      token.handleRenewal(text, result.tokenLife, now: now)
      events.append(.tokenRenewed)
    case .remove(let uid, _): events.append(.removalFinished(uid: uid, result.status))
    case .proof, .join, .leave, .sync, .relay, .relayLost: return
    }
  }

  private mutating func handle(_ departure: Departure, now: Instant) {
    // The server has started anew, or we were away for long: we join again.
    guard departure != .lost else {
      isWelcome = false
      return contact.hurry(now: now)
    }
    change(to: .failed, .ended(departure))
    if departure == .expired { events.append(.tokenNeeded) }
  }

  // MARK: - Time

  mutating func handleTimeout(now: Instant) {
    guard isActive else { return }
    if isWelcome, token.takeWarning(now: now) {
      events.append(.tokenWillExpire(in: token.left(now: now)))
    }
    if state == .joined, contact.isInterrupted(now: now) { change(to: .reconnecting, .interrupted) }
    if contact.takeLoss(now: now) { events.append(.contactLost) }
    if contact.isOver(now: now) { return change(to: .failed, .contactLost) }
    publish(view.endWaiting(now: now))
  }

  var nextDeadline: Instant? {
    guard isActive else { return nil }
    var next = earliest(contact.nextDeadline(isJoined: state == .joined), view.nextDeadline)
    if isWelcome { next = earliest(next, token.warning) }
    return next
  }

  /// When `pollRequest` has something, where there is a session.
  var requestDue: Instant? {
    guard isActive else { return nil }
    var due: Instant? = contact.requestDue
    guard isWelcome else { return due }
    if let since = roster.lackingSince { due = earliest(due, since + limits.gapPatience) }
    return earliest(due, commands.due)
  }

  // MARK: - Outputs

  mutating func pollEvent() -> ChannelEvent? { events.isEmpty ? nil : events.removeFirst() }

  mutating func pollRequest(now: Instant) -> ChannelRequest? {
    guard let due = requestDue, due <= now else { return nil }
    let content: ChannelRequest.Content
    if !isWelcome {
      content = .join(
        ChannelJoin(
          role: role, uid: uid, epoch: roster.epoch, revision: roster.revision,
          key: identity.key?.bytes, name: identity.name, token: token.text))
      contact.noteRequest(now: now)
    } else if let command = commands.takeDue(now: now, repetition: limits.repetition) {
      return ChannelRequest(
        channel: identity.id, stay: stay, number: command.number, command.content)
    } else {
      content = .sync(roster.position)
      roster.noteRequest(now: now)
      contact.noteRequest(now: now)
    }
    return ChannelRequest(channel: identity.id, stay: stay, number: 0, content)
  }

  /// The last word.
  var farewell: ChannelRequest {
    ChannelRequest(channel: identity.id, stay: stay, number: 0, .leave)
  }

  // MARK: - Parts

  private mutating func change(to state: ChannelState, _ reason: ChannelStateReason) {
    guard state != self.state else { return }
    self.state = state
    events.append(.stateChanged(state, reason))
  }

  /// Tells of what has changed, once all of it is here.
  private mutating func showRoster(now: Instant) {
    guard roster.isComplete else { return }
    let (reasons, expelled) = (roster.takeReasons(), roster.takeExpelled())
    publish(
      view.update(to: roster, reasons: reasons, expelled: expelled, awaitingUntil: returnEnd))
    publish(view.endWaiting(now: now))
  }

  private mutating func publish(_ steps: [RosterView.Step]) {
    for step in steps {
      switch step {
      case .appeared(let member): publish(appearance: member)
      case .disappeared(let member, let departure):
        guard !isOwn(member) else { continue }
        events.append(
          member.role == .host
            ? .userOffline(uid: member.uid, UserOfflineReason(departure))
            : .audienceLeft(uid: member.uid, departure))
      case .changed(let old, let new):
        if new.joinNumber != old.joinNumber { events.append(.returned(uid: new.uid)) }
        guard new.uid != uid, new.role != old.role else { continue }
        // In the seeds a user is a host: who becomes one joins, who is none any more is offline.
        if new.role == .host {
          publish(appearance: new)
        } else {
          events.append(.userOffline(uid: new.uid, .becameAudience))
        }
      }
    }
  }

  private func isOwn(_ member: ChannelMember) -> Bool {
    ([(uid, joinNumber)] + formerStays).contains { $0 == (member.uid, member.joinNumber) }
  }

  private mutating func keepFormerStay() {
    guard joinedAt != nil else { return }
    formerStays = formerStays.suffix(Self.mostFormerStays - 1) + [(uid, joinNumber)]
  }

  /// The server begins anew several times within the 20 s for which members are kept.
  private static let mostFormerStays = 8

  private mutating func publish(appearance member: ChannelMember) {
    guard member.uid != uid else {
      if wasShown { events.append(.returned(uid: uid)) }
      return wasShown = true
    }
    events.append(
      member.role == .host
        ? .userJoined(uid: member.uid, member.id, elapsed: (contact.lastHeard ?? began) - began)
        : .audienceJoined(uid: member.uid, member.id))
  }
}
