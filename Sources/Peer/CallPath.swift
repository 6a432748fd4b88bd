import Calling
import Connectivity
import Primitives
import SecureSession
import Wire

/// The path of a call: to which programs of the peer it is sought, what has been found, and the
/// packets under ring keys (docs/protocol/calling.md §4).
///
/// Station 10 of the house tour; next is `drain`.
struct CallPath: ~Copyable {
  enum Phase {
    /// Both sides have not agreed to look for a path: nothing is answered.
    case awaited
    case finding
    case closed
  }

  let role: CallRole
  var programs: CallPrograms
  var ringIDs = ConnectionIDs()
  /// Seals path checks to the first program before the session stands.
  var ring: RingSession?
  var agent: Agent
  var remoteCandidates: [Candidate] = []
  var phase = Phase.awaited
  var roaming = Roaming()
  /// What is to be sent as SIGNAL on the path: ACCEPT, REJECT, CANCEL, TIMEOUT, RECEIPT.
  var signals = PathSignals()
  /// Changes of the selected path that nobody has been told of yet.
  var changes: [PathChange] = []

  init(_ role: CallRole, program: PresenceID, random: inout RandomSource) {
    self.role = role
    programs = CallPrograms(own: program)
    agent = Agent(random: random.split())
  }

  var isFinding: Bool { if case .finding = phase { true } else { false } }

  /// Whether a packet with this connection ID is one of path checks.
  func owns(_ id: ConnectionID) -> Bool { id == ringIDs.local && ring != nil }

  /// Whether there are keys that path checks could be sealed with.
  func canSealChecks(on association: Association?) -> Bool { ring != nil || association != nil }

  /// Whether there is an address to send to.
  var hasDestination: Bool {
    if agent.selected != nil { return true }
    guard isFinding, let provisional = agent.provisional else { return false }
    return provisional.byteCount >= Self.leastProvisionalByteCount
  }

  /// Whether the peer can be told where we are, and something would come of it.
  func canSearch(on association: Association?) -> Bool {
    isFinding && roaming.hasKeys && association?.isClosing == false
  }

  mutating func close() {
    phase = .closed
    signals.removeAll()
  }

  mutating func eraseKeys() {
    ring = nil
    programs.branches = []
    roaming.eraseKeys()
  }

  /// The addresses of the peer, and of each of its programs that ring, are checked.
  ///
  /// - Parameters:
  ///   - byRelay: There is a relay to check them by as well.
  ///   - deliveryTime: From here to the peer by the rendezvous, where it is known: as long the
  ///     caller's checks take to begin.
  mutating func addCandidates(
    from configuration: PeerConfiguration, byRelay: Bool, deliveryTime: Duration?, now: Instant
  ) {
    let opening = role == .callee ? deliveryTime ?? Association.usualDeliveryTime : nil
    agent.setAlternates(configuration.alternates)
    agent.addCandidates(
      configuration.usable(remoteCandidates), byRelay: byRelay, opening: opening, now: now)
    for branch in programs.branches {
      branch.agent.setAlternates(configuration.alternates)
      branch.agent.addCandidates(
        configuration.usable(branch.candidates), byRelay: byRelay, now: now)
    }
  }

  // MARK: - Path frames

  /// Before both have agreed to look for a path nothing is answered (calling.md §4). A packet
  /// stands for its first challenge only.
  mutating func handleChallenge(
    _ challenge: PathChallengeFrame, from source: SocketAddress, to local: LocalAddressID,
    in packet: Span<UInt8>, _ findings: inout CallLink.Findings, now: Instant
  ) {
    let isFirst = findings.insert(.challenge).inserted
    guard isFinding else { return }
    agent.handleChallenge(
      token: challenge.token, from: source, to: local,
      byteCount: isFirst ? packet.count + SealedPacket.minimumByteCount : 0, now: now)
  }

  mutating func handleResponse(
    _ response: PathResponseFrame, from source: SocketAddress, to local: LocalAddressID,
    on association: Association?, now: Instant
  ) {
    let answersBefore = agent.counters.answers
    if let change = agent.handleResponse(
      token: response.token, from: source, to: local, seenAs: response.observed, now: now)
    {
      changes.append(change)
    }
    if agent.counters.answers != answersBefore,
      DatagramPath(source, local: local) == agent.selectedPath
    {
      association?.handlePathAnswer(now: now)
    }
  }

  // MARK: - Packets under ring keys

  /// Under ring keys only path checks and ACCEPT are read (calling.md §4).
  @_lifetime(bytes: copy bytes)
  mutating func receiveRing(
    _ bytes: inout MutableSpan<UInt8>, from source: SocketAddress, local: LocalAddressID,
    on association: Association?, signals: inout [[UInt8]], now: Instant
  ) -> CallLink.Findings {
    let copy = programs.branches.isEmpty ? [] : Array(copying: bytes.span)
    guard let frames = openRing(&bytes) else {
      return receiveBranch(copy, from: source, to: local, signals: &signals, now: now)
    }
    let packet = bytes.span.extracting(frames)
    var findings = CallLink.Findings()
    var reader = FrameReader(packet)
    do throws(WireError) {
      while let frame = try reader.next() {
        switch frame {
        case .pathChallenge(let challenge):
          handleChallenge(challenge, from: source, to: local, in: packet, &findings, now: now)
        case .pathResponse(let response):
          handleResponse(response, from: source, to: local, on: association, now: now)
        case .signal(let body):
          signals.append(Array(copying: packet.bytes(at: body)))
          findings.insert(.signal)
        case .padding: break
        case .ping, .pong, .feedback, .message, .credit, .close, .audio, .audioReport,
          .audioRequest, .video, .videoNack, .skipped, .probeRequest, .probeAnswer, .probePacket,
          .probeReport, .echoRequest, .echo, .channelAudio, .channelCopy, .channelSource,
          .channelKey, .channelWho, .channelCard, .channelPicture, .channelWants, .channelLow,
          .channelUnsent:
          return findings
        }
      }
    } catch {
      return findings
    }
    if !changes.isEmpty { findings.insert(.path) }
    return findings
  }

  @_lifetime(bytes: copy bytes)
  private mutating func openRing(_ bytes: inout MutableSpan<UInt8>) -> Range<Int>? {
    do throws(SessionError) {
      return try ring?.open(&bytes)
    } catch {
      return nil
    }
  }

  /// Path checks can be sealed as soon as both ring connection IDs are known; once a call.
  ///
  /// - Parameter program: The callee's.
  mutating func openRing(with program: PresenceID, keys: inout RingKeys?) {
    guard ring == nil, ringIDs.remote != .none,
      let checks = keys?.pathChecks(
        local: ringIDs.local, remote: ringIDs.remote, presence: program)
    else { return }
    ring = consume checks
  }

  // MARK: - Out

  /// Checks go under the session's keys as soon as the other side has shown that it has them;
  /// until then under the ring keys (calling.md §4).
  ///
  /// - Parameter isConfirmed: The other side has shown that it has the session's keys.
  @_lifetime(packet: copy packet)
  mutating func writeCheck(
    into packet: inout OutputSpan<UInt8>, on association: Association?, isConfirmed: Bool,
    now: Instant
  ) -> DatagramPath? {
    guard isFinding, canSealChecks(on: association) else { return nil }
    // Without RINGING (both called each other, or it got lost) there are no ring keys to use.
    let underSession = association != nil && (isConfirmed || ring == nil)
    let path: DatagramPath
    if let response = agent.pollResponse() {
      Session.beginPacket(&packet)
      PathResponseFrame(token: response.token, observed: response.address).write(to: &packet)
      path = response.path
    } else if let check = agent.pollCheck(now: now) {
      Session.beginPacket(&packet)
      PathChallengeFrame(token: check.token).write(to: &packet)
      path = check.path
    } else {
      return nil
    }
    let isSealed =
      underSession
      ? association?.seal(
        &packet, elicits: false, hasMessages: false, looksAside: true, now: now) ?? false
      : sealRing(&packet)
    return isSealed ? path : nil
  }

  @_lifetime(packet: copy packet)
  private mutating func sealRing(_ packet: inout OutputSpan<UInt8>) -> Bool {
    do throws(SessionError) {
      return try ring?.seal(&packet) != nil
    } catch {
      packet.removeAll()
      return false
    }
  }

  /// ACCEPT on the path itself reaches the caller half a round trip earlier than by the rendezvous;
  /// what ends a call that rings arrives although the rendezvous is away.
  @_lifetime(packet: copy packet)
  mutating func writeSignal(into packet: inout OutputSpan<UInt8>) -> DatagramPath? {
    guard ring != nil, let path = agent.selectedPath, let signal = signals.removeFirst() else {
      return nil
    }
    Session.beginPacket(&packet)
    SignalFrame.write(signal.span, to: &packet)
    return sealRing(&packet) ? path : nil
  }

  // MARK: - Time

  mutating func handleTimeout(now: Instant) {
    if let change = agent.handleTimeout(now: now) { changes.append(change) }
    handleBranchTimeout(now: now)
  }

  /// When a check is due, or a search begins or goes on.
  func nextDeadline(on association: Association?) -> Instant? {
    var deadline: Instant?
    if isFinding, canSealChecks(on: association) { deadline = agent.nextDeadline }
    deadline = earliest(deadline, branchDeadline)
    guard canSearch(on: association) else { return deadline }
    let search = roaming.search.isActive ? roaming.search.nextDeadline : agent.silentAt
    return earliest(deadline, search)
  }

  /// The least packet with CONFIRM in it, and a report.
  private static let leastProvisionalByteCount = 128
}
