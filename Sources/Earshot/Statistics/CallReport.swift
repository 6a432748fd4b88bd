/// How a call ended, how good it was, and why: the `summary` of the command line in a struct.
public struct CallReport: Sendable {
  /// How the call came out.
  public enum Outcome: String, Sendable {
    /// It was connected and ended in order.
    case completed
    /// The callee said no.
    case rejected
    /// The callee was in another call.
    case busy
    /// The caller gave up before an answer.
    case cancelled
    /// Nobody answered in time.
    case timeout
    /// The peer is not registered, did not acknowledge, or no path was found.
    case unreachable
    /// The peer fell silent for 20 s.
    case lost
    /// Something else; `reason` says what.
    case failed
  }

  /// Which end this is.
  public enum Role: String, Sendable {
    /// This side invited.
    case caller
    /// The other side invited.
    case callee
  }

  /// Milliseconds from the zero point: `call` at the caller, the arrival of the invitation at the
  /// callee. A step that did not happen is `nil`.
  public struct Timeline: Sendable, Equatable {
    /// The zero point.
    public var invitedMs: Int = 0
    /// The callee's device opened the invitation.
    public var deliveredMs: Int?
    /// Accepted.
    public var acceptedMs: Int?
    /// The first path was proven.
    public var pathReadyMs: Int?
    /// The first own media frame left.
    public var firstFrameSentMs: Int?
    /// The first media frame of the other side arrived.
    public var firstFrameReceivedMs: Int?
    /// Connected.
    public var connectedMs: Int?
    /// The first picture of the other side was shown.
    public var firstVideoFrameDecodedMs: Int?

    /// A timeline with nothing but its zero point.
    public init() {}
  }

  /// The call.
  public var callID: CallID
  /// How it came out.
  public var outcome: Outcome
  /// Why, in words; never empty.
  public var reason: String
  /// Which end this is.
  public var role: Role
  /// The other side.
  public var peer: PeerID?
  /// The name that was dialled, or the one on the caller's card.
  public var peerName: String?
  /// What was known of the other side before.
  public var trust: Trust
  /// Connected time in milliseconds; 0 if it never connected.
  public var durationMs: Int
  /// The steps.
  public var timeline: Timeline
  /// Everything measured; `nil` if no media session stood.
  public var statistics: CallStatistics?
  /// The other side's user data, JSON.
  public var userExtension: String?
  /// The user data that came with the other side's cancel, reject or hang-up, JSON.
  public var endingExtension: String?
  /// What to do about it, where the end calls for that: an identity that changed.
  public var error: EarshotError?
  /// What `peerName` rests on; `nil` without a name.
  public var nameTrust: NameTrust?
  /// It rang here, and another program of this identity accepted or declined it.
  public var endedElsewhere = false
  /// What was tried, where the call ended because no path was found.
  public var pathAttempt: PathAttempt?
}

extension CallReport {
  /// A report of a call of which nothing more is known.
  package init(callID: CallID, outcome: Outcome, reason: String, role: Role) {
    self.init(
      callID: callID, outcome: outcome, reason: reason, role: role, peer: nil, peerName: nil,
      trust: .new, durationMs: 0, timeline: Timeline(), statistics: nil, userExtension: nil,
      error: nil)
  }
}
