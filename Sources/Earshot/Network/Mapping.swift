internal import Calling
internal import Connectivity
internal import Messaging
internal import Peer
internal import Primitives
internal import Wire

/// From the words of the machines to the words of the API.
extension CallID {
  init(_ id: Wire.CallID) { self.init(bytes: id.bytes) }

  /// An ID of ours always has 16 bytes; anything else names no call.
  var wire: Wire.CallID { Wire.CallID(bytes) ?? Wire.CallID.nobody }
}

extension Wire.CallID {
  /// Sixteen zero bytes: never made for a call.
  static var nobody: Wire.CallID {
    var random = RandomSource(replaying: [])
    return Wire.CallID(from: &random)
  }
}

extension CallState {
  /// `nil` for "idle", which no call is in.
  init?(_ state: Calling.CallState) {
    switch state {
    case .idle: return nil
    case .calling: self = .calling
    case .connecting: self = .connecting
    case .connected: self = .connected
    case .ended: self = .ended
    }
  }
}

extension CallStateReason {
  init(_ cause: CallCause) {
    switch cause {
    case .localCall: self = .localInvite
    case .remoteCall: self = .remoteInvite
    case .localAccepted: self = .localAccepted
    case .remoteAccepted: self = .remoteAccepted
    case .localRejected: self = .localRejected
    case .remoteRejected, .notAllowed: self = .remoteRejected
    case .remoteBusy: self = .remoteBusy
    case .localCancelled: self = .localCancelled
    case .remoteCancelled, .recalled: self = .remoteCancelled
    case .answeredElsewhere: self = .answeredElsewhere
    case .declinedElsewhere: self = .declinedElsewhere
    case .localHangUp, .shuttingDown: self = .localHangUp
    case .remoteHangUp: self = .remoteHangUp
    case .firstFrame: self = .firstFrameReceived
    case .localRingTimeout: self = .callingTimeout
    case .remoteRingTimeout: self = .remoteCallingTimeout
    case .glare: self = .superseded
    case .notOnline, .undelivered, .noPath: self = .unreachable
    case .peerLost: self = .remoteLost
    case .identityChanged: self = .identityChanged
    case .noMedia, .unsupportedVersion, .internalFailure: self = .failed
    }
  }
}

extension PresenceKind {
  init(_ presence: Configuration.Presence) {
    switch presence {
    case .answering: self = .answering
    case .calling: self = .calling
    case .guest: self = .guest
    }
  }
}

extension PathKind {
  init(_ kind: Connectivity.PathKind) {
    switch kind {
    case .direct: self = .direct
    case .holePunched: self = .holePunched
    case .relayed: self = .relayed
    }
  }
}

extension RegistrationState.NameStatus {
  init(_ status: RegistrationStep.NameStatus) {
    switch status {
    case .none: self = .none
    case .granted: self = .granted
    case .taken: self = .taken
    case .malformed: self = .malformed
    case .noMore: self = .noMore
    }
  }
}

extension CallReport.Outcome {
  init(_ outcome: CallOutcome) {
    switch outcome {
    case .completed: self = .completed
    case .rejected: self = .rejected
    case .busy: self = .busy
    case .cancelled: self = .cancelled
    case .timeout: self = .timeout
    case .unreachable: self = .unreachable
    case .lost: self = .lost
    case .failed: self = .failed
    }
  }
}

extension CallReport.Timeline {
  init(_ timeline: CallTimeline) {
    func at(_ step: CallTimeline.Step) -> Int? { timeline[step].map { Int(clamping: $0) } }
    self.init()
    deliveredMs = at(.delivered)
    acceptedMs = at(.accepted)
    pathReadyMs = at(.pathReady)
    firstFrameSentMs = at(.firstFrameSent)
    firstFrameReceivedMs = at(.firstFrameReceived)
    connectedMs = at(.connected)
  }
}

extension CallReport {
  init(
    _ summary: CallSummary, _ record: CallRecord, statistics: CallStatistics?,
    _ commands: ContactCommands
  ) {
    self.init(
      callID: CallID(summary.callID), outcome: Outcome(summary.outcome),
      reason: CallSentence.of(summary, name: record.peerName ?? "the other side"),
      role: summary.role == .caller ? .caller : .callee, peer: summary.peer,
      peerName: record.peerName, trust: record.trust,
      durationMs: Int(clamping: summary.durationMilliseconds),
      timeline: Timeline(summary.timeline), statistics: statistics,
      userExtension: record.userExtension,
      error: commands.error(of: summary, record), nameTrust: record.nameTrust,
      endedElsewhere: summary.cause == .answeredElsewhere
        || summary.cause == .declinedElsewhere)
  }
}

/// Why a call ended, for people.
enum CallSentence {
  static func of(_ summary: CallSummary, name: String) -> String {
    let words = summary.text.isEmpty ? "" : " (\(summary.text))"
    switch summary.cause {
    case .localHangUp: return "This side hung up\(words)."
    case .remoteHangUp: return "The other side hung up\(words)."
    case .localRejected: return "This side rejected the call\(words)."
    case .remoteRejected: return "The other side rejected the call\(words)."
    case .remoteBusy: return "The other side is busy with another call."
    case .notAllowed where !words.isEmpty: return "The other side does not take the call\(words)."
    case .notAllowed: return "The other side does not allow the call, or has no common codec."
    case .localCancelled: return "This side cancelled before an answer."
    case .remoteCancelled, .recalled: return "The caller cancelled before an answer."
    case .answeredElsewhere:
      return "Answered elsewhere: another program of this identity has the call."
    case .declinedElsewhere:
      return "Declined elsewhere: at another program of this identity."
    case .localRingTimeout, .remoteRingTimeout: return "Nobody answered in time."
    case .glare: return "Both called each other; the other call stands."
    case .notOnline: return "\(name) is not online."
    case .undelivered: return "\(name) did not acknowledge within 8 s."
    case .noPath: return "No path between the two hosts carried packets."
    case .noMedia: return "No audio arrived within 10 s of the answer."
    case .peerLost: return "Nothing was heard of the other side for 20 s."
    case .unsupportedVersion: return "The other side speaks another version of the protocol."
    case .identityChanged: return "\(name) is not who was expected: the call was blocked."
    case .shuttingDown: return "This program was shut down."
    case .internalFailure: return "Something failed inside the program\(words)."
    case .localCall, .remoteCall, .localAccepted, .remoteAccepted, .firstFrame:
      return "The call ended."
    }
  }
}

/// How a call by name ended before there was anybody to invite.
struct UnresolvedEnding {
  let outcome: CallReport.Outcome
  let reason: CallStateReason
  let sentence: String
  var error: EarshotError?

  init(_ failure: LookUpFailure, name: String, _ commands: ContactCommands) {
    switch failure {
    case .unknown:
      (outcome, reason, sentence) = (.unreachable, .unreachable, "Nobody is known as \(name).")
    case .notOnline:
      (outcome, reason, sentence) = (.unreachable, .unreachable, "\(name) is not online.")
    case .identityChanged(let expected, let found):
      let change = commands.peerChanged(name: name, expected: expected, found: found)
      (outcome, reason, sentence) = (.failed, .identityChanged, change.message)
      error = change
    case .badCard:
      (outcome, reason, sentence) = (
        .failed, .failed, "The contact card of \(name) does not verify; check this host's clock."
      )
    case .tooManyRequests:
      (outcome, reason, sentence) = (
        .unreachable, .unreachable, "The rendezvous refuses more look-ups for now."
      )
    case .unavailable:
      (outcome, reason, sentence) = (
        .unreachable, .unreachable,
        "The rendezvous cannot tell now whether \(name) is online; try again in a minute."
      )
    case .noAnswer:
      (outcome, reason, sentence) = (
        .unreachable, .unreachable, "The rendezvous did not say within 8 s who \(name) is."
      )
    case .cancelled:
      (outcome, reason, sentence) = (
        .cancelled, .localCancelled, "This side cancelled before an answer."
      )
    case .ownID:
      (outcome, reason, sentence) = (
        .failed, .failed,
        "\(name) is this identity itself: call another one, or use another identity."
      )
    }
  }
}

extension EarshotError {
  init(_ refusal: PeerRefusal) {
    switch refusal {
    case .call(.busy): self = .callState("There is a call already.")
    case .call(.ownID): self = .callState("One cannot call oneself.")
    case .call(.callIDInUse), .call(.unknownCall): self = .callState("There is no such call.")
    case .call(.wrongState): self = .callState("The call is not in a state for that.")
    case .tooManyCalls: self = .callState("Too many calls are still ending.")
    case .extensionTooLong:
      self = .invalidArgument("The extension is too long.", advice: "Keep it to 1024 bytes.")
    case .noSession: self = .callState("The call has no session.")
    case .probing: self = .callState("A probe runs already.")
    case .badPlan:
      self = .invalidArgument(
        "The probe's plan is out of range.",
        advice: "Expect 100000 to 5000000 bit/s, take 4 to 30 s, and probe a direction.")
    case .message(.tooLong):
      self = .invalidArgument("The message is too long.", advice: "Keep it to 65536 bytes.")
    case .message(.queueFull): self = .callState("Too many messages wait.")
    case .message(.streamNotAllowed):
      self = .invalidArgument("The stream does not exist.", advice: "Use 8 to 127.")
    }
  }
}

extension RegistrationState {
  /// What a step of the machine means to an application.
  ///
  /// - Parameter error: the words for a failure.
  init(_ step: RegistrationStep, error: (RegistrationFailure) -> EarshotError) {
    switch step {
    case .connecting: self = .connecting
    case .reconnecting: self = .reconnecting(nil)
    case .doubted(let failure): self = .reconnecting(error(failure))
    case .registered(let seen, let name): self = .registered(seenAs: seen, name: NameStatus(name))
    case .failed(let failure):
      self = failure.isFinal ? .failed(error(failure)) : .reconnecting(error(failure))
    }
  }
}

extension RegistrationFailure {
  /// Whether the machine has given up. A server that is away, or that somebody else answers for,
  /// may be back at any moment.
  var isFinal: Bool {
    switch self {
    case .noAnswer, .longPacketsLost, .notUnderstood, .full, .wrongClock, .nameOnCard,
      .nodesNotValid,
      .token(.notYetValid?):
      false
    case .identityMismatch, .versionMismatch, .notAllowed, .superseded, .withoutAudience,
      .tooManyPrograms, .replaced, .isRelay, .token:
      true
    }
  }
}
