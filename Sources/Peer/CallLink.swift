import Calling
import Congestion
import Connectivity
import Primitives
import SecureSession
import Wire

/// Everything about one call but its rules (those are `CallLedger`'s): parts that each own their
/// state, and which packet goes to which.
///
/// A class because it lives in a table and holds what cannot be copied; one `PeerMachine` owns it
/// and nothing else refers to it.
final class CallLink {
  let callID: CallID
  let role: CallRole
  let peer: PeerID
  /// The Noise messages, their keys, the bytes of signals.
  var signalling: CallSignalling
  var terms = CallTerms()
  var words = CallWords()
  var path: CallPath
  var session = CallSession()
  var probe = CallProbe()
  /// A relay between the two.
  var pair = PairBinding()
  let media: CallMedia
  var progress = MediaProgress()

  init(
    _ callID: CallID, _ role: CallRole, peer: PeerID, peerStatic: Bytes32, program: PresenceID,
    limits: PeerLimits, random: inout RandomSource
  ) {
    self.callID = callID
    self.role = role
    self.peer = peer
    signalling = CallSignalling(callID, role, program: program, peerStatic: peerStatic)
    path = CallPath(role, program: program, random: &random)
    media = CallMedia(audioToSend: limits.audioToSend, receivedAudio: limits.receivedAudio)
  }

  /// `nil` before the session stands, and when its keys are gone.
  var association: Association? { session.association }

  /// A call without media, made for a probe.
  var isProbe: Bool { if case .probe = probe.purpose { true } else { false } }

  /// Whether a DATA packet with this connection ID is this call's.
  func owns(_ id: ConnectionID) -> Bool {
    path.owns(id) || association?.owns(id) ?? false
  }

  /// Whether `id` is in use here in any role.
  func uses(_ id: ConnectionID) -> Bool {
    id == path.ringIDs.local || id == signalling.sessionIDs.local || owns(id)
  }

  /// Whether nothing more will be said to the peer on the path.
  var hasClosed: Bool { path.agent.selected == nil || association?.hasClosed() ?? true }

  /// Whether the owner is still to be told that media may flow.
  var awaitsMedia: Bool {
    if case .announced = progress.flow { return false }
    return association?.isClosing == false
  }

  /// Whether the peer can be told where we are, and something would come of it.
  var canSearch: Bool { path.canSearch(on: association) }

  /// Which programs of the peer a signal goes to.
  func destination(of signal: CallSignal) -> PresenceID {
    guard case .invite = signal else { return path.programs.remote }
    return isProbe ? .anyOne : .every
  }

  // MARK: - Signalling

  /// What the user wants of the call that begins.
  func begin(_ options: InviteOptions) {
    terms.own = options.media
    terms.answer = AnswerOptions(options)
    media.isAudioMuted = !options.sendsAudio
    media.uplinkWeight = options.uplinkWeight
    prepareVideo(options.video)
  }

  /// The callee takes what INVITE says, once its own connection IDs are there.
  ///
  /// - Parameter program: The caller's.
  func handleInvite(_ payload: InvitePayload, from program: PresenceID) {
    path.programs.remote = program
    path.ringIDs.remote = ConnectionID(rawValue: payload.ringConnectionID)
    path.remoteCandidates = payload.offer.candidates.candidates
    path.roaming.theirAbsence = payload.offer.rejoinSeconds
    terms.remote = payload.offer.media
    words.theirs = payload.offer.userExtension
    words.abilities = payload.offer.abilities
    path.openRing(with: path.programs.own, keys: &signalling.ring)
    if payload.offer.media.entries.map(\.codec) == [.probe] { probe.purpose = .probe }
  }

  /// Makes INVITE, once the connection IDs are there.
  func makeInvite(
    identity: borrowing LocalIdentity, offer: CallOffer, created: UInt64, ringTimeout: Duration?,
    random: inout RandomSource
  ) throws(HandshakeError) {
    try signalling.makeInvite(
      to: peer, ringID: path.ringIDs.local, identity: identity, offer: offer, created: created,
      ringTimeout: ringTimeout, random: &random)
  }

  // MARK: - End

  /// Closes the session; what authenticates signals stays.
  func close(now: Instant) {
    path.close()
    pair.end(now: now)
    media.close(now: now)
    probe.stop()
    session.close(now: now)
  }

  /// Once the call is over: what sealed or opened anything of it goes. What authenticates signals
  /// stays for those that are repeated.
  func eraseKeys(now: Instant) {
    guard session.pollErasure(now: now) else { return }
    signalling.eraseKeys()
    path.eraseKeys()
  }

  // MARK: - Time

  var nextDeadline: Instant? {
    var deadline = earliest(
      association?.wakeUp(canSend: path.hasDestination) ?? nil,
      path.nextDeadline(on: association))
    deadline = earliest(deadline, pair.nextDeadline)
    if association != nil || path.ring != nil || signalling.hasStaticKey {
      deadline = earliest(deadline, session.erasureDeadline)
    }
    guard let association else { return deadline }
    let hasPath = path.agent.selected != nil
    deadline = earliest(deadline, media.deadline(on: association, hasPath: hasPath))
    return hasPath && !association.isClosing ? earliest(deadline, probe.nextDeadline) : deadline
  }
}
