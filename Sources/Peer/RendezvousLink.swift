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
    case relays(RelayOffer)
  }

  let configuration: PeerConfiguration
  /// This program among those of its identity: the same whenever it registers.
  let presence: Presence
  var random: RandomSource
  var attempt: RegistrationAttempt?
  var association: Association?
  var terms: ResponsePayload?
  var isConfirmed = false
  var termsAt = Instant.zero
  var serverCard: ContactCard?
  /// The card of the server that answered, until the session is confirmed.
  var provenCard: ContactCard?
  var nextAttempt: Instant?
  var failures = 0
  var isStopped = true
  /// What the rendezvous put right of what we say.
  var amendment = RegistrationAmendment()
  var lastTime = TAI64N.zero
  /// The access token, if there is one, and its end.
  var token: TokenWatch
  var mail = RendezvousMail()
  private var responses: [(token: UInt64, path: DatagramPath)] = []
  var events: [Event] = []
  /// The probe of the line to the rendezvous, and one that waits for the session.
  var prober: Prober?
  var waitingProbe: WaitingProbe?
  /// What a path to a peer showed of our translator, while it mapped to `seen`.
  var knownMapping: (seen: SocketAddress, mapping: PathFacts.Mapping)?
  var expectedID: PeerID?
  /// Our address is being asked for.
  var locating: Locating?
  var route: RendezvousRoute
  var detour = RendezvousDetour()
  var echoes = EchoLog()
  /// Our address as the rendezvous sees it; `nil` where a relay is between.
  var seenAddress: SocketAddress?
  /// Our contact card, for INIT and for INVITE.
  var ownCard: [UInt8] = []

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

  /// Whether there is nothing left to say.
  var isQuiet: Bool { association?.hasClosed() ?? true }

  /// Whether something that was said is not known to have arrived.
  var hasMessagesUnderWay: Bool { association?.hasMessagesUnderWay() ?? false }

  var isRegistered: Bool { terms != nil }

  /// Why the attempt under way would fail if it ended now.
  var trouble: RegistrationFailure? { attempt?.failure() }

  // MARK: - Inputs

  func owns(_ id: ConnectionID) -> Bool { association?.owns(id) ?? false }

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
          // From elsewhere it is a copy that somebody passed on, and wants our packets to go there.
          if route.reaches(source), responses.count < Self.responseLimit {
            responses.append((challenge.token, DatagramPath(source, local: marks.local)))
          }
        } else if case .echo(let echo) = frame {
          echoes.note(echo, from: source)
        } else if association?.handle(frame, in: packet, from: source, now: now) == false {
          takeProbe(frame, in: packet, byteCount: byteCount, ecn: marks.ecn, now: now)
        }
      }
    } catch {
      association?.noteViolation()
    }
    association?.didReceive(opened, demand: demand, marks: marks, now: now)
    detour.noteSession(byRelay: marks.local.isRelay)
    confirm()
    beginWaitingProbe(now: now)
    if !detour.isUsed, let observed = association?.observedAddress { seenAddress = observed }
    settleLocating()
    takeMessages(now: now)
    _ = handleEnding(now: now, identity: &identity)
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
    } else if let terms, attempt == nil, nextAttempt == nil, !isStopped,
      now >= termsAt + .seconds(Int64(terms.life) * 9 / 10)
    {
      begin(now: now, identity: &identity)
    }
  }

  private mutating func setPace(isInCall: Bool, now: Instant) {
    guard isConfirmed, let last = association?.lastReceived else { return }
    let usual = pingPeriod(isInCall: isInCall)
    let isDoubtful = now.nanoseconds(since: last) > usual + Self.doubtAfter
    association?.pingAfter = isDoubtful ? Self.doubtAfter : usual
    if isDoubtful { locate(now: now) }
  }

  func pingPeriod(isInCall: Bool) -> UInt64 {
    if echoes.isHushed { return EchoLog.hush }
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

  // MARK: - Outputs

  mutating func pollEvent() -> Event? {
    events.isEmpty ? pollProbe() : events.removeFirst()
  }

  @_lifetime(packet: copy packet)
  mutating func pollTransmit(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    if detour.takeCopy(into: &packet) { return DatagramPath(address, local: .relay) }
    if attempt?.writePacket(into: &packet) == true {
      detour.keepCopy(of: packet, now: now)
      if attempt?.isUnanswered(after: route.patience) == true { route.turn() }
      return route.path
    }
    if !responses.isEmpty, association != nil {
      let response = responses.removeFirst()
      Session.beginPacket(&packet)
      PathResponseFrame(token: response.token, observed: response.path.remote).write(to: &packet)
      if association?.seal(&packet, elicits: false, hasMessages: false, now: now) == true {
        askAgainAfterResponse()
        if !response.path.local.isRelay { route.settle(response.path) }
        return response.path
      }
    }
    if let other = nextDetour() {
      association?.ping()
      if association?.writePacket(into: &packet, random: &random, now: now) == true {
        return other
      }
    }
    if association?.writePacket(into: &packet, random: &random, now: now) == true {
      return sessionPath
    }
    if writeEchoRequest(into: &packet, now: now) { return sessionPath }
    return writeProbe(into: &packet, now: now) ? sessionPath : nil
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

  /// Answers to challenges of the rendezvous that wait.
  private static let responseLimit = 8
  /// Without an answer a PING is repeated this often, in ns; and after so long all is lost.
  private static let doubtAfter: UInt64 = 1_000_000_000
  private static let silence: UInt64 = 4_000_000_000
}
