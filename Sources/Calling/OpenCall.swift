import Primitives
import Wire

/// A call that is not over: exactly one of its three machines is there.
struct OpenCall: Sendable {
  let callID: CallID
  let peer: PeerID
  let role: CallRole
  /// The channel in whose mesh it is; `nil` in none.
  let channel: Bytes32?
  var timeline: CallTimeline
  var outgoing: OutgoingInvitation?
  var incoming: IncomingInvitation?
  var ongoing: OngoingCall?
  var isPathSought = false
  var hasPath = false
  var hasStartedMedia = false
  var connectedAt: Instant?
  /// How long the other side may be away.
  var absence = Duration.zero
  /// At the caller, from ACCEPT on: by which of the callee's programs.
  var decision: CallDecision?
  /// What the other side was last told, or takes for granted.
  var ownMedia: MediaState = .audio
  /// At the callee: which of the caller's programs invited.
  var caller = PresenceID.every

  init(
    _ callID: CallID, _ peer: PeerID, _ role: CallRole, in channel: Bytes32? = nil, zero: Instant
  ) {
    self.callID = callID
    self.peer = peer
    self.role = role
    self.channel = channel
    timeline = CallTimeline(zero: zero)
  }

  init(_ invitation: Invitation, zero: Instant) {
    self.init(
      invitation.callID, invitation.from, .callee, in: invitation.channel, zero: zero)
  }

  /// One that rings from now on.
  init(ringing invitation: Invitation, isFamiliar: Bool, policy: CallPolicy, now: Instant) {
    self.init(invitation, zero: now)
    incoming = IncomingInvitation(
      ringTimeout: invitation.ringTimeout, isFamiliar: isFamiliar, policy: policy, now: now)
    caller = invitation.presence
    timeline.append(.delivered, now: now)
  }

  var state: CallState {
    guard let ongoing else { return .calling }
    return ongoing.isConnected ? .connected : .connecting
  }

  /// What a repeated INVITE is answered with.
  var answer: CallSignal? { ongoing != nil && role == .callee ? .accept : incoming?.ringing }

  var nextDeadline: Instant? {
    outgoing?.nextDeadline ?? incoming?.nextDeadline ?? ongoing?.nextDeadline
  }

  /// Both have agreed.
  mutating func begin(_ policy: CallPolicy, now: Instant) {
    outgoing = nil
    incoming = nil
    ongoing = OngoingCall(role, hasPath: hasPath, policy: policy, now: now)
    timeline.append(.accepted, now: now)
  }

  /// An address of the peer has become valid.
  mutating func handlePathReady(now: Instant) -> OngoingCall.Action? {
    hasPath = true
    timeline.append(.pathReady, now: now)
    return ongoing?.handlePathReady(now: now)
  }

  /// The first frame of the peer; later ones change nothing.
  mutating func handleFirstFrame(now: Instant) {
    timeline.append(.firstFrameReceived, now: now)
    ongoing?.handleFirstFrame()
  }

  /// Whether the call is connected as of now; says so once.
  mutating func becomesConnected(now: Instant) -> Bool {
    guard ongoing?.becomesConnected(now: now) == true else { return false }
    timeline.append(.connected, now: now)
    connectedAt = now
    return true
  }

  func summary(_ ending: CallEnding, now: Instant) -> CallSummary {
    CallSummary(
      callID: callID, peer: peer, role: role, outcome: ending.outcome, cause: ending.cause,
      text: ending.text, timeline: timeline,
      durationMilliseconds: connectedAt.map {
        Int64(clamping: now.nanoseconds(since: $0) / 1_000_000)
      } ?? 0)
  }
}
