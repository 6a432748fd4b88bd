import Calling
import Congestion
import Cryptography
import LastMile
import Messaging
import Primitives
import SecureSession
import Wire

/// Contact with the rendezvous: registers, stays registered, looks up, forwards
/// (docs/protocol/rendezvous.md). All its state there is soft, so it is made again whenever lost.
struct RendezvousLink: ~Copyable {
  enum Event {
    case registration(RegistrationStep)
    case identified(PeerID, card: [UInt8])
    case found(LookUpResult)
    /// - Parameter name: What the rendezvous says that the sender is called.
    case forwarded([UInt8], from: PeerID, PresenceID, name: PeerName?)
    /// A body was passed on to so many programs.
    case passedOn(count: Int, CallID, SignalType)
    case notForwarded(ForwardFailure, CallID, SignalType)
    case probe(ProbeProgress)
    /// Our address as the rendezvous sees it was asked for, and is known again.
    case located
    case token(TokenStep)
  }

  private struct Flight {
    var id: ForwardID
    var callID: CallID
    var type: SignalType
  }

  private struct Waiting {
    var message: RendezvousMessage
    var until: Instant
  }

  let configuration: PeerConfiguration
  /// This program among those of its identity: the same whenever it registers.
  let presence: Presence
  private var random: RandomSource
  var attempt: RegistrationAttempt?
  var association: Association?
  private var terms: ResponsePayload?
  private(set) var isConfirmed = false
  private var termsAt = Instant.zero
  private var serverCard: ContactCard?
  /// The card of the server that answered, until the session is confirmed.
  private var provenCard: ContactCard?
  private var nextAttempt: Instant?
  private var failures = 0
  var isStopped = true
  /// What the rendezvous put right of what we say.
  var amendment = RegistrationAmendment()
  private var lastTime = TAI64N.zero
  /// The access token, if there is one, and its end.
  var token: TokenWatch
  private var flights: [Flight] = []
  private var waiting: [Waiting] = []
  private var seenIDs = RecentIDs()
  private var responses: [(token: UInt64, path: DatagramPath)] = []
  var events: [Event] = []
  /// The probe of the line to the rendezvous, and one that waits for the session.
  var prober: Prober?
  var waitingProbe: WaitingProbe?
  /// What a path to a peer showed of our translator, while it mapped to `seen`.
  var knownMapping: (seen: SocketAddress, mapping: PathFacts.Mapping)?
  private var expectedID: PeerID?
  /// Our address is being asked for.
  var locating: Locating?
  var route: RendezvousRoute
  /// Our address as the rendezvous sees it.
  private(set) var seenAddress: SocketAddress?
  /// Our contact card, for INIT and for INVITE.
  private(set) var ownCard: [UInt8] = []

  init(_ configuration: PeerConfiguration, presence: Presence, random: RandomSource) {
    self.configuration = configuration
    self.presence = presence
    self.random = random
    route = RendezvousRoute(configuration)
    token = TokenWatch(configuration.token)
    expectedID = configuration.rendezvousID
    do throws(WireError) {
      let card = try ContactCard(parsing: configuration.rendezvousCard)
      if expectedID == nil || expectedID == card.id { serverCard = card }
    } catch {
      serverCard = nil
    }
  }

  // MARK: - Commands

  mutating func start(now: Instant, identity: inout LocalIdentity) {
    guard isStopped else { return }
    isStopped = false
    token.isAwaited = false
    events.append(.registration(.connecting))
    begin(now: now, identity: &identity)
  }

  /// Says CLOSE; nothing is answered any more.
  mutating func shutDown(now: Instant) {
    isStopped = true
    token.isAwaited = false
    attempt = nil
    nextAttempt = nil
    waiting = []
    endProbe(.cancelled, now: now)
    association?.close(code: .done, now: now)
  }

  /// Whether there is nothing left to say.
  var isQuiet: Bool { association?.hasClosed() ?? true }

  /// Whether something that was said is not known to have arrived.
  var hasMessagesUnderWay: Bool { association?.hasMessagesUnderWay() ?? false }

  mutating func lookUp(_ target: CallTarget, request: UInt32, now: Instant) {
    let wanted: LookUp.Target =
      switch target {
      case .name(let name): .name(name)
      case .id(let id): .id(id)
      }
    send(.lookUp(LookUp(request: request, target: wanted)), now: now)
  }

  /// - Parameter program: Which of the peer's programs.
  mutating func forward(
    _ body: [UInt8], to peer: PeerID, _ program: PresenceID,
    about signal: (callID: CallID, type: SignalType), lifeSeconds: UInt16 = 8, now: Instant
  ) {
    let id = ForwardID(random: &random)
    if flights.count >= Self.flightLimit { flights.removeFirst() }
    flights.append(Flight(id: id, callID: signal.callID, type: signal.type))
    let forward = Forward(id: id, to: peer, presence: program, lifeSeconds: lifeSeconds, body: body)
    send(
      .forward(forward), life: min(Self.messageLife, .seconds(Int64(lifeSeconds))), now: now)
  }

  var isRegistered: Bool { terms != nil }

  mutating func send(
    _ message: RendezvousMessage, life: Duration = messageLife, now: Instant
  ) {
    guard isRegistered else {
      if waiting.count >= configuration.limits.waitingForwards { waiting.removeFirst() }
      return waiting.append(Waiting(message: message, until: now + life))
    }
    do throws(MessageError) {
      try association?.messages.send(
        message.bytes, on: .rendezvous, life: life, now: now)
    } catch {
      // The queue is full: what matters is repeated by whoever asked.
    }
  }

  // MARK: - Inputs

  func owns(_ id: ConnectionID) -> Bool { association?.owns(id) ?? false }

  mutating func handleControl(
    _ bytes: Span<UInt8>, from source: SocketAddress, now: Instant, identity: inout LocalIdentity
  ) {
    guard route.reaches(source) else { return }
    if case .control(.reset) = Demultiplexer.classify(bytes) {
      return handleReset(bytes, now: now, identity: &identity)
    }
    let seconds =
      (UInt64(clamping: configuration.wallClockAtZero) &+ now.nanoseconds / 1_000_000) / 1000
    switch attempt?.handle(bytes, ownStatic: identity.staticKey, unixSeconds: seconds, now: now) {
    case .cardFound:
      handleTimeout(now: now, identity: &identity, isInCall: false)
    case .established: establish(identity: identity, now: now)
    case .refused(let failure): handleRefusal(failure, now: now, identity: &identity)
    case .nothing, nil: break
    }
  }

  private mutating func handleReset(
    _ bytes: Span<UInt8>, now: Instant, identity: inout LocalIdentity
  ) {
    var reader = ByteReader(bytes)
    do throws(WireError) {
      let reset = try ResetPacket(parsing: &reader)
      guard let terms, association != nil, reset.token == terms.resetToken else { return }
      lose(now: now, identity: &identity)
    } catch {
      return
    }
  }

  /// The session is gone, there or on the way: a new one, at once.
  private mutating func lose(now: Instant, identity: inout LocalIdentity) {
    endProbe(.sessionLost, now: now)
    association = nil
    terms = nil
    guard !isStopped else { return }
    events.append(.registration(.reconnecting))
    begin(now: now, identity: &identity)
  }

  @_lifetime(bytes: copy bytes)
  mutating func receive(
    _ bytes: inout MutableSpan<UInt8>, from source: SocketAddress, marks: DatagramMarks,
    now: Instant, identity: inout LocalIdentity
  ) {
    let byteCount = bytes.count + address.headerByteCount
    guard let opened = association?.open(&bytes, now: now) else { return }
    let packet = bytes.span.extracting(opened.frames)
    var demand = FeedbackDemand.none
    var reader = FrameReader(packet)
    do throws(WireError) {
      while let frame = try reader.next() {
        demand = max(demand, frame.demand)
        if case .pathChallenge(let challenge) = frame {
          if responses.count < Self.responseLimit {
            responses.append((challenge.token, DatagramPath(source, local: marks.local)))
          }
        } else if association?.handle(frame, in: packet, from: source, now: now) == false {
          takeProbe(frame, in: packet, byteCount: byteCount, ecn: marks.ecn, now: now)
        }
      }
    } catch {
      association?.noteViolation()
    }
    association?.didReceive(opened, demand: demand, marks: marks, now: now)
    confirm()
    beginWaitingProbe(now: now)
    if let observed = association?.observedAddress { seenAddress = observed }
    settleLocating()
    takeMessages(now: now)
    _ = handleEnding(now: now, identity: &identity)
  }

  /// The server has our confirmation: from here on others find us.
  private mutating func confirm() {
    guard !isConfirmed, let terms else { return }
    isConfirmed = true
    // Only now has the server shown that it has the card's key.
    if let card = provenCard.take(), card.bytes != serverCard?.bytes || expectedID == nil {
      serverCard = card
      expectedID = card.id
      events.append(.identified(card.id, card: card.bytes))
    }
    events.append(
      .registration(
        .registered(
          seenAs: terms.seenAddress, name: RegistrationStep.NameStatus(terms.status))))
  }

  private mutating func takeMessages(now: Instant) {
    while let event = association?.messages.poll() {
      guard case .received(_, let bytes) = event else { continue }
      do throws(WireError) {
        take(try RendezvousMessage(parsing: bytes.span), now: now)
      } catch {
        association?.noteViolation()
      }
    }
  }

  private mutating func take(_ message: RendezvousMessage, now: Instant) {
    switch message {
    case .lookUpResult(let result): events.append(.found(result))
    case .forwarded(let forwarded):
      guard seenIDs.insert(forwarded.id, now: now) else { return }
      events.append(
        .forwarded(
          forwarded.body, from: forwarded.from, forwarded.presence, name: forwarded.name))
    case .forwardResult(let result):
      guard let index = flights.firstIndex(where: { $0.id == result.id }) else { return }
      let flight = flights.remove(at: index)
      if let failure = ForwardFailure(rawValue: result.status.rawValue) {
        events.append(.notForwarded(failure, flight.callID, flight.type))
      } else {
        events.append(.passedOn(count: Int(result.count), flight.callID, flight.type))
      }
    case .tokenResult(let result): take(result, now: now)
    case .lookUp, .forward, .token: association?.noteViolation()
    }
  }

  // MARK: - Time

  mutating func handleTimeout(now: Instant, identity: inout LocalIdentity, isInCall: Bool) {
    if let nextAttempt, nextAttempt <= now { begin(now: now, identity: &identity) }
    driveAttempt(now: now, identity: identity, isInCall: isInCall)
    expireWaitingProbe(now: now)
    if !isStopped { driveToken(now: now) }
    guard association != nil else { return }
    setPace(isInCall: isInCall, now: now)
    driveLocating(now: now)
    association?.handleTimeout(now: now)
    while let action = association?.session.handleTimeout(now: now) {
      if case .expired = action { association?.expire() }
    }
    takeMessages(now: now)
    driveProbe(now: now)
    if handleEnding(now: now, identity: &identity) { return }
    if isSilent(now: now), attempt == nil, nextAttempt == nil {
      lose(now: now, identity: &identity)
    } else if let terms, attempt == nil, !isStopped,
      now >= termsAt + .seconds(Int64(terms.life) * 9 / 10)
    {
      begin(now: now, identity: &identity)
    }
  }

  /// What is done as soon as the session has ended; whether it has.
  private mutating func handleEnding(now: Instant, identity: inout LocalIdentity) -> Bool {
    guard association?.isClosing == false else { return false }
    let ending = association?.endedBy
    guard ending != nil || token.isOver(now: now) else { return false }
    if ending == .remoteClose(code: .replaced) {
      // A copy of this very program registered: two cannot be one presence, and it was the later.
      stop(.replaced)
    } else if ending == nil || ending == .remoteClose(code: .tokenExpired) {
      token.forgetEnd()
      guard !token.isFresh else {
        lose(now: now, identity: &identity)
        return true
      }
      token.isAwaited = true
      stop(.token(.expired))
    } else {
      lose(now: now, identity: &identity)
    }
    return true
  }

  /// The session has ended, and another one would not be made.
  private mutating func stop(_ failure: RegistrationFailure) {
    association = nil
    terms = nil
    isStopped = true
    events.append(.registration(.failed(failure)))
  }

  private mutating func setPace(isInCall: Bool, now: Instant) {
    guard isConfirmed, let last = association?.lastReceived else { return }
    let usual = pingPeriod(isInCall: isInCall)
    let isDoubtful = now.nanoseconds(since: last) > usual + Self.doubtAfter
    association?.pingAfter = isDoubtful ? Self.doubtAfter : usual
  }

  private func pingPeriod(isInCall: Bool) -> UInt64 {
    let asked = UInt64(terms?.period ?? 20) * 1_000_000_000
    return isInCall ? min(asked, 5_000_000_000) : max(asked, 1_000_000_000)
  }

  private func isSilent(now: Instant) -> Bool {
    guard let deadline = silenceDeadline else { return false }
    return now >= deadline
  }

  /// When a session that stays silent counts as lost.
  private var silenceDeadline: Instant? {
    association?.silenceDeadline(after: Self.silence) ?? nil
  }

  mutating func begin(now: Instant, identity: inout LocalIdentity) {
    nextAttempt = nil
    let seconds = unixMilliseconds(now: now) / 1000
    _ = identity.rotateIfDue(unixSeconds: seconds, random: &random)
    do throws(WireError) {
      let card = try identity.makeCard(
        name: amendment.withholdsName ? nil : configuration.name, unixSeconds: seconds)
      ownCard = card.bytes
      attempt = RegistrationAttempt(
        expectedID: expectedID, card: serverCard, ownCard: card, name: configuration.name,
        presence: presence, token: token.show(), now: now)
    } catch {
      events.append(.registration(.failed(.notUnderstood)))
    }
  }

  private mutating func driveAttempt(
    now: Instant, identity: borrowing LocalIdentity, isInCall: Bool
  ) {
    guard let due = attempt?.wakeUp() ?? nil, due <= now else { return }
    var time = TAI64N(unixMilliseconds: unixMilliseconds(now: now))
    if time <= lastTime { time = lastTime.successor }
    lastTime = time
    let hasFailed = attempt?.handleTimeout(
      identity: identity, time: time, connectionID: ConnectionID(random: &random),
      random: &random, now: now)
    guard hasFailed == true else { return }
    let failure = attempt?.failure ?? .noAnswer
    guard attempt?.isFailureFinal == true else {
      return retryLater(failure, isInCall: isInCall, now: now)
    }
    attempt = nil
    isStopped = true
    events.append(.registration(.failed(failure)))
  }

  /// The attempt has failed; the next one comes by itself.
  mutating func retryLater(_ failure: RegistrationFailure, isInCall: Bool, now: Instant) {
    attempt = nil
    failures += 1
    if failure == .noAnswer { route.turn() }
    events.append(.registration(.failed(failure)))
    nextAttempt =
      now + RegistrationBackOff.wait(after: failures, isInCall: isInCall, chance: random.unit())
  }

  private mutating func establish(identity: borrowing LocalIdentity, now: Instant) {
    guard let made = attempt?.takeEstablished() else { return }
    attempt = nil
    failures = 0
    amendment.isUsed = false
    let terms = made.terms
    // The next card has the name again.
    if terms.status == .nameGranted { amendment.withholdsName = false }
    let session = Session(
      made.keys, local: made.local, remote: terms.responder,
      parties: Session.Parties(
        localID: identity.id, remoteID: made.server.id, localStatic: identity.staticKey.clone(),
        remoteStatic: made.server.staticKey, role: .initiator),
      limits: .rendezvous, now: now, random: &random)
    association = Association(
      session, limits: .rendezvous, pingAfter: pingPeriod(isInCall: false), now: now)
    self.terms = terms
    provenCard = made.server
    termsAt = now
    seenAddress = terms.seenAddress
    locating = nil
    events.append(.located)
    // The first packet under the new keys confirms them; until the server has shown that it has it,
    // it is repeated, and nobody is told that others can find us.
    isConfirmed = false
    association?.ping()
    association?.pingAfter = Self.confirmAfter
    if token.accept(made.token, milliseconds: terms.tokenLife, now: now) {
      events.append(.token(.renewed))
    }
    if terms.tokenLife > 0, made.isRepeated || token.isFresh { showToken(now: now) }
    let queued = waiting
    waiting = []
    for entry in queued where entry.until > now { send(entry.message, now: now) }
  }

  // MARK: - Outputs

  mutating func pollEvent() -> Event? {
    events.isEmpty ? pollProbe() : events.removeFirst()
  }

  @_lifetime(packet: copy packet)
  mutating func pollTransmit(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    if attempt?.writePacket(into: &packet) == true { return route.path }
    if !responses.isEmpty, association != nil {
      let response = responses.removeFirst()
      Session.beginPacket(&packet)
      PathResponseFrame(token: response.token, observed: response.path.remote).write(to: &packet)
      if association?.seal(&packet, elicits: false, hasMessages: false, now: now) == true {
        askAgainAfterResponse()
        route.settle(response.path)
        return response.path
      }
    }
    if let detour = nextDetour() {
      association?.ping()
      if association?.writePacket(into: &packet, random: &random, now: now) == true {
        return detour
      }
    }
    if association?.writePacket(into: &packet, random: &random, now: now) == true {
      return route.path
    }
    return writeProbe(into: &packet, now: now) ? route.path : nil
  }

  var nextDeadline: Instant? {
    var deadline = earliest(nextAttempt, attempt?.wakeUp() ?? nil)
    deadline = earliest(deadline, association?.wakeUp() ?? nil)
    deadline = earliest(deadline, probeDeadline)
    if !isStopped {
      deadline = earliest(deadline, token.nextDeadline(hasSession: association != nil))
    }
    if association != nil { deadline = earliest(deadline, locating?.nextAt) }
    // While an attempt is under way the old session may be as silent as it likes.
    return attempt == nil && nextAttempt == nil ? earliest(deadline, silenceDeadline) : deadline
  }

  /// What the rendezvous' clock shows; `nil` before it has said.
  func serverMilliseconds(now: Instant) -> UInt64? {
    terms.map { $0.serverTime &+ now.nanoseconds(since: termsAt) / 1_000_000 }
  }

  /// What we say the time is; for what others say, our own clock counts.
  func unixMilliseconds(now: Instant) -> UInt64 {
    UInt64(clamping: configuration.wallClockAtZero &+ amendment.clockOffset)
      &+ now.nanoseconds / 1_000_000
  }

  private static let messageLife = Duration.seconds(8)
  private static let flightLimit = 64
  private static let confirmAfter: UInt64 = 300_000_000
  private static let responseLimit = 8
  /// Without an answer a PING is repeated this often, in ns; and after so long all is lost.
  private static let doubtAfter: UInt64 = 1_000_000_000
  private static let silence: UInt64 = 4_000_000_000
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

/// Message IDs of the last 5 minutes, at most 1024 of them (docs/protocol/rendezvous.md §3).
struct RecentIDs {
  private var entries: [(id: ForwardID, at: Instant)] = []

  /// `false` if it was there already.
  mutating func insert(_ id: ForwardID, now: Instant) -> Bool {
    while let first = entries.first, now >= first.at + .seconds(300) { entries.removeFirst() }
    guard !entries.contains(where: { $0.id == id }) else { return false }
    if entries.count >= 1024 { entries.removeFirst() }
    entries.append((id, now))
    return true
  }
}
