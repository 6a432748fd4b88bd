package import Earshot

/// What the program tells its caller (the table in `earshot --help`).
package enum ExitCode: Int32, Sendable {
  case done = 0
  case failed = 1
  case usage = 2
  case unreachable = 3
  case refused = 4
  case timeout = 5
  case quality = 6
  case identity = 7
  case file = 8
  case interrupted = 130

  /// How a call ended.
  ///
  /// - Parameter role: Whoever rejects a call has done what it meant to do.
  package init(_ report: CallReport) {
    switch report.outcome {
    case .completed: self = .done
    case .rejected: self = report.role == .callee ? .done : .refused
    case .busy: self = .refused
    // Whoever answered it elsewhere has the call: nothing went wrong here.
    case .cancelled: self = report.endedElsewhere ? .done : .refused
    case .timeout: self = .timeout
    case .unreachable, .lost: self = .unreachable
    case .failed: self = report.error.map { ExitCode($0.code) } ?? .failed
    }
    if report.trust == .changed { self = .identity }
  }

  /// How a probe ended.
  ///
  /// - Parameter required: What the line must be fit for, without a doubt.
  package init(_ report: LineReport, _ rating: LineRating, required: LineUse?) {
    guard report.state == .unavailable else {
      let isFit = required.map { rating.fitness[$0] == .yes } ?? true
      self = isFit ? .done : .quality
      return
    }
    switch report.ending {
    case .busy, .notAllowed, .callInProgress: self = .refused
    case .cancelled: self = .interrupted
    case .notSupported, .ownIdentity: self = .failed
    case .identityChanged: self = .identity
    case .finished, .underWay, .noAnswer, .noPath, .sessionLost, .budgetSpent, .unknownPeer,
      .notOnline:
      self = .unreachable
    }
  }

  /// What stopped the program (docs/errors.md).
  package init(_ code: EarshotError.Code) {
    switch code {
    case .invalidAddress, .invalidName, .invalidCard, .invalidArgument: self = .usage
    case .hostNotFound, .rendezvousUnreachable, .rendezvousNotUnderstood, .clockWrong:
      self = .unreachable
    case .notAllowed, .nameTaken, .noMoreNames, .identitySuperseded, .rendezvousFull:
      self = .refused
    case .identityChanged, .tokenNeeded, .tokenRefused, .tokenExpired: self = .identity
    case .identityFileMode, .identityFileDamaged, .fileUnusable: self = .file
    case .contactUnknown, .addressInUse, .versionMismatch, .replacedElsewhere, .tooManyPrograms,
      .relayUnavailable, .callState, .channelState, .closed, .systemFailure, .noPicture:
      self = .failed
    }
  }
}
