import Calling
import Congestion
import Connectivity
import Cryptography
import LastMile
import Messaging
import Primitives
import SecureSession
import Wire

/// Everything about one call but its rules (those are `CallLedger`'s): the two Noise messages, the
/// ring keys, the path, the session, the frames under way.
///
/// A class because it lives in a table and holds what cannot be copied; one `PeerMachine` owns it
/// and nothing else refers to it.
final class CallLink {
  let callID: CallID
  let role: CallRole
  let peer: PeerID
  var programs: CallPrograms

  // MARK: Signalling (calling.md §2). Bodies are made once, so that repetitions are the same bytes.
  var inviteBody: [UInt8] = []
  var ringingBody: [UInt8] = []
  var answerBody: [UInt8] = []
  /// The caller's, until message 2 was read.
  var initiator: CallInitiator?
  /// The callee's, until it answers.
  var responder: CallResponder?
  /// The keys of the session, from ACCEPT until the session is made of them.
  var sessionKeys: SessionKeys?
  var ring: RingKeys?
  var hangUpKey: SecretKey?
  /// The own static key of the two Noise messages, which the identity may replace meanwhile: the
  /// caller's that sealed INVITE, the callee's that opened it.
  var handshakeStatic: X25519.KeyPair?
  var peerStatic: Bytes32
  /// The caller's r_A, and what the callee was promised it would be.
  var callerNumber = Bytes32.zero
  var commitment = Bytes32.zero
  var calleeNumber = Bytes16.zero
  var answerOptions = AnswerOptions()
  /// What this side takes part with, and what the other has said that it does.
  var ownMedia = MediaDescription([.init(.opus, stream: 0)])
  var remoteMedia = MediaDescription()
  var remoteUserExtension: String?

  // MARK: Connection IDs (calling.md §4)
  var localRingID = ConnectionID.none
  var remoteRingID = ConnectionID.none
  var localSessionID = ConnectionID.none
  var remoteSessionID = ConnectionID.none

  // MARK: Path and session
  var ringSession: RingSession?
  var agent: Agent
  var remoteCandidates: [Candidate] = []
  var isFindingPath = false
  var roaming = Roaming()
  /// What is to be sent as SIGNAL on the path: ACCEPT, REJECT, CANCEL, TIMEOUT, RECEIPT.
  var pathSignals = PathSignals()
  var association: Association?
  /// When the session's keys go, once the call is over.
  var keyErasure: Instant?
  /// The other side has shown that it has the session's keys.
  var isSessionConfirmed = false
  /// Changes of the selected path that nobody has been told of yet.
  var pathChanges: [PathChange] = []
  var shortCode: String?
  /// The callee's, until CONFIRM brings the caller's number.
  var shortCodeKey: SecretKey?
  /// Messages of the application under way, by tag.
  var applicationTags: [UInt64] = []
  /// HANGUP on stream 2: its acknowledgement is its receipt.
  var hangUpTag: UInt64?

  // MARK: Probe
  /// A call without media, made for a probe.
  var isProbe = false
  /// The caller's.
  var prober: Prober?
  /// The callee's.
  var reflection: ReflectorRun?
  var hasReflected = false
  /// To a request that comes in a call of another kind.
  var probeRefusal: ProbeAnswerFrame?

  // MARK: Media
  let media: CallMedia
  var hasToldMedia = false
  var hasToldFirstSent = false
  var hasHeardAudio = false
  var hasToldAudio = false

  init(
    _ callID: CallID, _ role: CallRole, peer: PeerID, peerStatic: Bytes32, program: PresenceID,
    limits: PeerLimits, random: inout RandomSource
  ) {
    self.callID = callID
    self.role = role
    self.peer = peer
    self.peerStatic = peerStatic
    programs = CallPrograms(own: program)
    agent = Agent(random: random.split())
    media = CallMedia(audioToSend: limits.audioToSend, receivedAudio: limits.receivedAudio)
  }

  var side: RingKeys.Side { role == .caller ? .caller : .callee }
  var otherSide: RingKeys.Side { role == .caller ? .callee : .caller }

  /// Whether a DATA packet with this connection ID is this call's.
  func owns(_ id: ConnectionID) -> Bool {
    if id == localRingID, ringSession != nil { return true }
    return association?.owns(id) ?? false
  }

  /// Whether `id` is in use here in any role.
  func uses(_ id: ConnectionID) -> Bool {
    id == localRingID || id == localSessionID || owns(id)
  }

  /// Whether nothing more will be said to the peer on the path.
  var hasClosed: Bool { agent.selected == nil || association?.hasClosed() ?? true }

  /// Whether there is an address to send to.
  var hasDestination: Bool {
    if agent.selected != nil { return true }
    guard isFindingPath, let provisional = agent.provisional else { return false }
    return provisional.byteCount >= Self.leastProvisionalByteCount
  }

  /// Both sides have said that they can.
  var hasCommonVideo: Bool { ownMedia.shares(.vp8, with: remoteMedia) }

  /// Whether the owner is still to be told that media may flow.
  var awaitsMedia: Bool { !hasToldMedia && association?.isClosing == false }

  /// Whether there are keys that path checks could be sealed with.
  var canSealChecks: Bool { ringSession != nil || association != nil }

  /// Closes the session; what authenticates signals stays.
  func close(now: Instant) {
    isFindingPath = false
    media.close(now: now)
    pathSignals.removeAll()
    prober = nil
    reflection = nil
    if association?.isClosing == false { association?.close(code: .done, now: now) }
    if keyErasure == nil { keyErasure = now + Self.keysStay }
  }

  /// How long the session's keys outlive the call: CLOSE is said three times, the last one half a
  /// second after the first.
  private static let keysStay = Duration.seconds(1)

  /// Once the call is over: what sealed or opened anything of it goes. What authenticates signals
  /// stays for those that are repeated.
  func eraseKeys(now: Instant) {
    guard let keyErasure, keyErasure <= now else { return }
    self.keyErasure = .some(Instant(nanoseconds: .max))
    association = nil
    sessionKeys = nil
    handshakeStatic = nil
    ringSession = nil
    ring?.eraseAllButMAC()
    programs.branches = []
    shortCodeKey = nil
    roaming.eraseKeys()
  }

  var nextDeadline: Instant? {
    var deadline = association?.wakeUp(canSend: hasDestination) ?? nil
    if isFindingPath, canSealChecks { deadline = earliest(deadline, agent.nextDeadline) }
    if association != nil || ringSession != nil || handshakeStatic != nil {
      deadline = earliest(deadline, keyErasure)
    }
    deadline = earliest(deadline, branchDeadline)
    deadline = earliest(deadline, searchDeadline)
    if let association {
      let hasPath = agent.selected != nil
      deadline = earliest(deadline, media.deadline(on: association, hasPath: hasPath))
    }
    return earliest(deadline, probeDeadline)
  }
}
