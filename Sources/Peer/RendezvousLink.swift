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
    /// What the owner is told as it is.
    case told(PeerEvent)
    case found(LookUpResult)
    /// - Parameter name: What the rendezvous says that the sender is called.
    case forwarded([UInt8], from: PeerID, PresenceID, name: PeerName?)
    /// A body was passed on to so many programs.
    case passedOn(count: Int, CallID, SignalType)
    case notForwarded(ForwardFailure, CallID, SignalType)
    /// Our address as the rendezvous sees it was asked for, and is known again.
    case located
    case token(TokenStep)
    case pair(PairResult)
    case channel(ChannelNotice)
    case seatsEnded([EndedSeat])
    /// A relay's, of another member of the channel.
    case channelData(SealedChannelMessage)
  }

  let configuration: PeerConfiguration
  /// This program among those of its identity: the same whenever it registers.
  let presence: Presence
  var random: RandomSource
  var attempt: RegistrationAttempt?
  var association: Association?
  var standing = RendezvousStanding.none
  var server: KnownRendezvous
  var schedule = AttemptSchedule()
  var isStopped = true
  /// The access token, if there is one, and its end.
  var token: TokenWatch
  var mail = RendezvousMail()
  private var challenges = ChallengeQueue()
  var events: [Event] = []
  var lineProbe = RendezvousProbe()
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
    server = KnownRendezvous(configuration)
  }

  // MARK: - Commands

  /// Whether there is nothing left to say.
  var isQuiet: Bool { association?.hasClosed() ?? true }

  /// Whether something that was said is not known to have arrived.
  var hasMessagesUnderWay: Bool { association?.hasMessagesUnderWay() ?? false }

  var isRegistered: Bool { standing.isRegistered }
  var isProbing: Bool { lineProbe.isProbing }

  /// Why the attempt under way would fail if it ended now.
  var trouble: RegistrationFailure? { attempt?.failure() }

  // MARK: - Inputs

  func owns(_ id: ConnectionID) -> Bool { association?.owns(id) ?? false }

  @_lifetime(bytes: copy bytes)
  mutating func receive(
    _ bytes: inout MutableSpan<UInt8>, from source: SocketAddress, marks: DatagramMarks,
    now: Instant, identity: inout LocalIdentity, inbox: ChannelInbox? = nil
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
          if route.reaches(source) {
            challenges.append(challenge, on: DatagramPath(source, local: marks.local))
          }
        } else if case .echo(let echo) = frame {
          echoes.append(echo, from: source)
        } else if association?.handle(frame, in: packet, from: source, now: now) == false {
          inbox?.append(frame, in: packet)
          lineProbe.handle(frame, in: packet, byteCount: byteCount, ecn: marks.ecn, now: now)
        }
      }
    } catch {
      association?.countViolation()
    }
    association?.didReceive(opened, byteCount: byteCount, demand: demand, marks: marks, now: now)
    detour.handleSession(byRelay: marks.local.isRelay)
    confirm(now: now)
    beginWaitingProbe(now: now)
    if !detour.isUsed, let observed = association?.observedAddress { seenAddress = observed }
    settleLocating()
    handleMessages(now: now)
    _ = handleEnding(now: now, identity: &identity)
  }

  // MARK: - Time

  mutating func handleTimeout(now: Instant, identity: inout LocalIdentity, isInCall: Bool) {
    if let next = schedule.next, next <= now {
      NodeMove.beginNext(&self, now: now, identity: &identity)
    }
    if server.nodes.isService { NodeMove.race(&self, now: now, identity: &identity) }
    NodeMove.driveAttempt(of: &self, now: now, identity: identity, isInCall: isInCall)
    if lineProbe.hasExpired(now: now) { endProbe(.noAnswer, now: now) }
    if !isStopped { driveToken(now: now) }
    guard association != nil else { return }
    setPace(isInCall: isInCall, now: now)
    driveLocating(now: now)
    association?.handleTimeout(now: now)
    while let action = association?.session.handleTimeout(now: now) {
      if case .expired = action { association?.expire() }
    }
    handleMessages(now: now)
    lineProbe.handleTimeout(now: now)
    beginWaitingProbe(now: now)
    if handleEnding(now: now, identity: &identity) { return }
    guard attempt == nil, schedule.next == nil else { return }
    if let silenceDeadline, silenceDeadline <= now {
      NodeMove.lose(&self, now: now, identity: &identity, avoiding: NodeMove.silentAvoided)
    } else if let terms = standing.terms, !isStopped, now >= terms.renewal {
      NodeMove.renew(&self, isInCall: isInCall, now: now, identity: &identity)
    }
  }

  private mutating func setPace(isInCall: Bool, now: Instant) {
    guard standing.isConfirmed, let last = association?.lastReceived else { return }
    let usual = pingPeriod(isInCall: isInCall)
    server.nodes.setPace(isInCall: isInCall)
    let isDoubtful = now.nanoseconds(since: last) > usual + SessionPace.doubtAfter
    association?.pingAfter = isDoubtful ? SessionPace.doubtAfter : usual
    if isDoubtful { locate(now: now) }
  }

  func pingPeriod(isInCall: Bool) -> UInt64 {
    if echoes.isHushed { return EchoLog.hush }
    return SessionPace.pingPeriod(
      asked: UInt64(standing.terms?.payload.period ?? 20), isInCall: isInCall,
      hasNodes: server.nodes.isService)
  }

  /// When a session that stays silent counts as lost.
  private var silenceDeadline: Instant? {
    guard let association else { return nil }
    return SessionPace.silenceDeadline(of: association, isHurried: server.nodes.isHurried)
  }

  // MARK: - Outputs

  mutating func pollEvent() -> Event? {
    events.isEmpty ? lineProbe.pollEvent().map { .told(.probe($0)) } : events.removeFirst()
  }

  @_lifetime(packet: copy packet)
  mutating func pollTransmit(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    if detour.takeCopy(into: &packet) { return DatagramPath(address, local: .relay) }
    if let address = server.nodes.scout.write(into: &packet) { return DatagramPath(address) }
    if attempt?.writePacket(into: &packet) == true {
      detour.keepCopy(of: packet, now: now)
      if attempt?.isUnanswered(after: route.patience) == true { route.turn() }
      return route.path
    }
    guard let association else { return nil }
    if server.nodes.writeInquiry(into: &packet, now: now) { return sessionPath }
    if let path = challenges.writeResponse(into: &packet, on: association, now: now) {
      askAgainAfterResponse()
      if !path.local.isRelay { route.settle(path) }
      return path
    }
    if let other = nextDetour() {
      association.ping()
      if association.writePacket(into: &packet, random: &random, now: now) { return other }
    }
    if association.writePacket(into: &packet, random: &random, now: now) { return sessionPath }
    if standing.isConfirmed, echoes.writeRequest(into: &packet, on: association, now: now) {
      return sessionPath
    }
    // The last word of a probe that was stopped is out: the next one need not wait any longer.
    if lineProbe.isOver { beginWaitingProbe(now: now) }
    return lineProbe.write(into: &packet, on: association, now: now) ? sessionPath : nil
  }

  var nextDeadline: Instant? {
    var deadline = earliest(schedule.next, attempt?.wakeUp() ?? nil)
    if attempt != nil { deadline = earliest(deadline, server.nodes.scout.deadline) }
    deadline = earliest(deadline, association?.wakeUp() ?? nil)
    deadline = earliest(
      deadline, lineProbe.nextDeadline(canSend: association?.carriesProbes() ?? false))
    if !isStopped {
      deadline = earliest(deadline, token.nextDeadline(hasSession: association != nil))
    }
    if association != nil {
      deadline = earliest(deadline, locating?.nextAt)
      deadline = earliest(deadline, server.nodes.inquiry.due)
    }
    // While an attempt is under way the old session may be as silent as it likes.
    return attempt == nil && schedule.next == nil ? earliest(deadline, silenceDeadline) : deadline
  }
}

/// Challenges of the rendezvous that wait for their answers.
struct ChallengeQueue {
  private var waiting: [(token: UInt64, path: DatagramPath)] = []

  /// One that comes when too many wait is dropped: the rendezvous asks again.
  mutating func append(_ challenge: PathChallengeFrame, on path: DatagramPath) {
    if waiting.count < Self.limit { waiting.append((challenge.token, path)) }
  }

  /// Answers the oldest, by the path that it came on.
  @_lifetime(packet: copy packet)
  mutating func writeResponse(
    into packet: inout OutputSpan<UInt8>, on association: Association, now: Instant
  ) -> DatagramPath? {
    guard !waiting.isEmpty else { return nil }
    let challenge = waiting.removeFirst()
    Session.beginPacket(&packet)
    PathResponseFrame(token: challenge.token, observed: challenge.path.remote).write(to: &packet)
    let isSealed = association.seal(&packet, elicits: false, hasMessages: false, now: now)
    return isSealed ? challenge.path : nil
  }

  private static let limit = 8
}
