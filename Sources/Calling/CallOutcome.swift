package import Wire

/// Where a call stands, the same words on both sides.
package enum CallState: Hashable, Sendable {
  case idle
  /// Invited, not answered yet; on the side of the callee it rings.
  case calling
  /// Both have agreed; the path, the session or the first frame is missing.
  case connecting
  case connected
  case ended
}

package enum CallRole: Hashable, Sendable { case caller, callee }

/// How a call ended, in one word: what scripts compare.
package enum CallOutcome: String, CaseIterable, Sendable {
  /// It was connected, and somebody hung up.
  case completed
  case rejected
  case busy
  /// Ended by a user before it was connected.
  case cancelled
  /// Nobody answered in time.
  case timeout
  case unreachable
  /// It was connected, and the other side fell silent.
  case lost
  case failed
}

/// Why a call changed its state.
package enum CallCause: String, CaseIterable, Sendable {
  case localCall, remoteCall
  case localAccepted, remoteAccepted
  case localRejected, remoteRejected, remoteBusy, notAllowed
  case localCancelled, remoteCancelled
  case localHangUp, remoteHangUp
  /// The first frame of the other side, or its word that it sends none.
  case firstFrame
  case localRingTimeout, remoteRingTimeout
  /// The caller called again; its earlier invitation is void.
  case recalled
  /// Another program of the callee's identity accepted.
  case answeredElsewhere
  /// The callee declined at another program.
  case declinedElsewhere
  /// Both called each other; the call with the lesser ID stands.
  case glare
  case notOnline
  /// A signal was repeated for 8 s and never receipted.
  case undelivered
  case noPath
  case noMedia
  case peerLost
  case unsupportedVersion
  case identityChanged
  case shuttingDown
  case internalFailure
}

/// Everything that is decided when a call ends.
package struct CallEnding: Hashable, Sendable {
  package var outcome: CallOutcome
  package var cause: CallCause
  /// The words that came, or go, with it.
  package var text: ReasonText
  /// What the other side must still be told, until it is receipted.
  package var lastWord: CallSignal?

  package init(
    _ outcome: CallOutcome, _ cause: CallCause, text: ReasonText = .empty,
    lastWord: CallSignal? = nil
  ) {
    self.outcome = outcome
    self.cause = cause
    self.text = text
    self.lastWord = lastWord
  }
}

extension CallEnding {
  /// What a CANCEL, TIMEOUT, REJECT or HANGUP of the other side means here; `nil` for other
  /// signals.
  ///
  /// The outcome follows from the reason that the sender gave, so that both sides report the same.
  package init?(receiving signal: CallSignal, wasConnected: Bool) {
    switch signal {
    case .cancel(.noPath): self.init(.unreachable, .undelivered)
    case .cancel(.superseded): self.init(.cancelled, .glare)
    case .cancel(.identityChanged): self.init(.failed, .identityChanged)
    case .cancel(.internalFailure): self.init(.failed, .internalFailure)
    case .cancel(.answeredElsewhere): self.init(.cancelled, .answeredElsewhere)
    case .cancel(.declinedElsewhere): self.init(.rejected, .declinedElsewhere)
    case .cancel: self.init(.cancelled, .remoteCancelled)
    case .timeout: self.init(.timeout, .remoteRingTimeout)
    case .reject(let reason, let text):
      self.init(CallOutcome(reject: reason), CallCause(remoteReject: reason), text: text)
    case .hangUp(let reason, let text):
      self.init(
        CallOutcome(hangUp: reason, wasConnected: wasConnected), CallCause(remoteHangUp: reason),
        text: text)
    case .invite, .ringing, .accept, .receipt, .unsupported, .confirm, .mediaState: return nil
    }
  }
}

extension CallOutcome {
  /// What a REJECT with `reason` amounts to, for its sender and its receiver alike.
  package init(reject reason: CallReason) {
    switch reason {
    case .busy: self = .busy
    case .internalFailure, .identityChanged: self = .failed
    case .none, .declined, .notAllowed, .noAnswer, .userHungUp, .userCancelled, .noPath,
      .shuttingDown, .superseded, .answeredElsewhere, .declinedElsewhere:
      self = .rejected
    }
  }

  /// What a HANGUP with `reason` amounts to.
  package init(hangUp reason: CallReason, wasConnected: Bool) {
    switch reason {
    case .none, .userHungUp, .shuttingDown: self = .completed
    case .userCancelled, .superseded, .answeredElsewhere: self = .cancelled
    case .declined, .notAllowed, .declinedElsewhere: self = .rejected
    case .busy: self = .busy
    case .noAnswer: self = .timeout
    case .noPath: self = wasConnected ? .lost : .unreachable
    case .internalFailure, .identityChanged: self = .failed
    }
  }
}

extension CallCause {
  fileprivate init(remoteReject reason: CallReason) {
    switch reason {
    case .busy: self = .remoteBusy
    case .notAllowed: self = .notAllowed
    case .identityChanged: self = .identityChanged
    case .internalFailure: self = .internalFailure
    case .shuttingDown: self = .shuttingDown
    case .none, .declined, .noAnswer, .userHungUp, .userCancelled, .noPath, .superseded,
      .answeredElsewhere, .declinedElsewhere:
      self = .remoteRejected
    }
  }

  fileprivate init(remoteHangUp reason: CallReason) {
    switch reason {
    case .noPath: self = .noPath
    case .identityChanged: self = .identityChanged
    case .internalFailure: self = .internalFailure
    case .shuttingDown: self = .shuttingDown
    case .none, .declined, .busy, .notAllowed, .noAnswer, .userHungUp, .userCancelled, .superseded,
      .answeredElsewhere, .declinedElsewhere:
      self = .remoteHangUp
    }
  }
}
