import Congestion
import Cryptography
import LastMile
import Messaging
import Primitives
import SecureSession
import Wire

/// Getting a session with the rendezvous, keeping it, and what is done when it has ended
/// (docs/protocol/rendezvous.md §2).
extension RendezvousLink {
  mutating func start(now: Instant, identity: inout LocalIdentity) {
    guard isStopped else { return }
    (isStopped, token.isAwaited) = (false, false)
    events.append(.registration(.connecting))
    NodeMove.beginAnew(&self, now: now, identity: &identity)
  }

  /// Says CLOSE; nothing is answered any more.
  mutating func shutDown(now: Instant) {
    isStopped = true
    token.isAwaited = false
    attempt = nil
    schedule.next = nil
    mail.forgetWaiting()
    endProbe(.cancelled, now: now)
    association?.close(code: .done, now: now)
  }

  // MARK: - Packets outside the session

  mutating func handleControl(
    _ bytes: Span<UInt8>, from source: SocketAddress, to local: LocalAddressID, now: Instant,
    identity: inout LocalIdentity
  ) {
    if attempt != nil { server.nodes.handleCard(bytes, from: source, now: now) }
    guard route.reaches(source) else { return }
    detour.handleControl(byRelay: local.isRelay)
    if case .control(.reset) = Demultiplexer.classify(bytes) {
      if association != nil, standing.isEnded(by: bytes) {
        NodeMove.lose(&self, now: now, identity: &identity)
      }
      return
    }
    let seconds = configuration.unixMilliseconds(now: now) / 1000
    if attempt == nil {
      return NodeMove.handle(bytes, on: &self, now: now, identity: &identity)
    }
    switch attempt?.handle(bytes, ownStatic: identity.staticKey, unixSeconds: seconds, now: now) {
    case .cardFound:
      handleTimeout(now: now, identity: &identity, isInCall: false)
    case .established:
      if !local.isRelay { route.settle(DatagramPath(source, local: local)) }
      establish(identity: identity, now: now)
    case .refused(let failure): handleRefusal(failure, now: now, identity: &identity)
    case .nodes(let list): NodeMove.adopt(list, on: &self, now: now, identity: &identity)
    case .nothing, nil: break
    }
  }

  // MARK: - Attempts

  mutating func begin(now: Instant, identity: inout LocalIdentity) {
    schedule.next = nil
    let seconds = unixMilliseconds(now: now) / 1000
    _ = identity.rotateIfDue(unixSeconds: seconds, random: &random)
    do throws(WireError) {
      let card = try identity.makeCard(
        name: schedule.amendment.withholdsName ? nil : configuration.name, unixSeconds: seconds)
      ownCard = card.bytes
      detour.beginAttempt(now: now)
      attempt = RegistrationAttempt(
        RegistrationRequest(
          card: card, name: configuration.name, presence: presence, token: token.best,
          abilities: configuration.abilities,
          receipt: configuration.name == nil ? nil : server.receipt,
          loudest: configuration.loudest),
        expected: server.nodes.expected(server.expectedID), card: server.presentCard,
        patience: server.nodes.patience, now: now)
      if server.nodes.isService, association == nil {
        server.nodes.beginAttempt(nonce: random.next() | 1, now: now)
      }
    } catch {
      events.append(.registration(.failed(.notUnderstood)))
    }
  }

  private mutating func establish(identity: borrowing LocalIdentity, now: Instant) {
    guard let made = attempt?.takeEstablished() else { return }
    attempt = nil
    let terms = made.terms
    schedule.handleSuccess(terms.status)
    let session = Session(
      made.keys, local: made.local, remote: terms.responder,
      parties: Session.Parties(
        localID: identity.id, remoteID: made.server.id, localStatic: identity.staticKey.clone(),
        remoteStatic: made.server.staticKey, role: .initiator),
      limits: .rendezvous, now: now, random: &random)
    association = Association(
      session, .ofRelay, limits: .rendezvous, pingAfter: pingPeriod(isInCall: false), now: now)
    // The first packet under the new keys confirms them; until the server has shown that it has it,
    // it is repeated, and nobody is told that others can find us.
    standing = .answered(RendezvousStanding.Terms(payload: terms, since: now, asked: made.asked))
    server.handleAnswer(made.server)
    detour.establish()
    seenAddress = detour.isUsed ? nil : terms.seenAddress
    locating = nil
    events.append(.located)
    association?.ping()
    association?.pingAfter = Self.confirmAfter
    token.forgetAsked(now: now)
    if token.accept(made.token, milliseconds: terms.tokenLife, now: now) {
      events.append(.token(.renewed))
    }
    if terms.tokenLife > 0, made.isRepeated || token.isFresh { showToken(now: now) }
    for message in mail.takeWaiting(now: now) { send(message, now: now) }
  }

  // MARK: - The session

  /// The server has our confirmation: from here on others find us.
  mutating func confirm(now: Instant) {
    guard let terms = standing.confirm()?.payload else { return }
    if let (id, card) = server.confirm() {
      events.append(.told(.rendezvousIdentified(id, card: card)))
    }
    server.nodes.beginInquiry(nonce: random.next() | 1, now: now)
    let name = RegistrationStep.NameStatus(terms.status)
    events.append(.registration(.registered(seenAs: terms.seenAddress, name: name)))
  }

  /// What is done as soon as the session has ended; whether it has.
  mutating func handleEnding(now: Instant, identity: inout LocalIdentity) -> Bool {
    guard association?.isClosing == false else { return false }
    let ending = association?.endedBy
    guard ending != nil || token.isOver(now: now) else { return false }
    if ending == .remoteClose(code: .replaced) {
      // A copy of this very program registered: two cannot be one presence, and it was the later.
      stop(.replaced)
    } else if ending == nil || ending == .remoteClose(code: .tokenExpired) {
      token.forgetEnd()
      guard !token.isUntried else {
        NodeMove.lose(&self, now: now, identity: &identity)
        return true
      }
      token.isAwaited = true
      stop(.token(.expired))
    } else {
      let isLeaving = ending == .remoteClose(code: .goingAway)
      let time = isLeaving ? NodeMove.leavingAvoided : .zero
      NodeMove.lose(&self, now: now, identity: &identity, avoiding: time)
    }
    return true
  }

  /// The session has ended, and another one would not be made.
  mutating func stop(_ failure: RegistrationFailure) {
    association = nil
    standing = .none
    attempt = nil
    schedule.next = nil
    isStopped = true
    events.append(.registration(.failed(failure)))
  }

  // MARK: - Clocks

  /// What the rendezvous' clock shows; `nil` before it has said.
  func serverMilliseconds(now: Instant) -> UInt64? {
    standing.terms?.serverMilliseconds(now: now)
  }

  /// What we say the time is; for what others say, our own clock counts.
  func unixMilliseconds(now: Instant) -> UInt64 {
    UInt64(clamping: configuration.wallClockAtZero &+ schedule.amendment.clockOffset)
      &+ now.nanoseconds / 1_000_000
  }

  /// The first PING is repeated after so many ns until the server has shown that it has it.
  private static let confirmAfter: UInt64 = 300_000_000
}

extension RegistrationStep.NameStatus {
  init(_ status: RegistrationStatus) {
    switch status {
    case .noNameAskedFor, .notAllowed, .superseded, .full, .wrongClock, .tooManyPrograms,
      .nameOnCard, .tokenNeeded, .tokenRefused:
      self = .none
    case .nameGranted: self = .granted
    case .nameTaken: self = .taken
    case .nameMalformed: self = .malformed
    case .noMoreNames: self = .noMore
    }
  }
}
