import Primitives
import SecureSession
import Wire

/// What a rendezvous told us to say differently (docs/protocol/rendezvous.md §2).
struct RegistrationAmendment {
  /// Milliseconds that its clock is ahead of ours. Only for the time on our card and INIT: what
  /// others send is judged by our own clock, so that no server can make an expired card good.
  var clockOffset: Int64 = 0
  /// Once until the next registration.
  private(set) var hasSetClock = false
  private(set) var raises = 0
  /// The card has no name: the one that this side asks for has not been granted.
  var withholdsName = false

  /// Whether a card with a higher serial, with the server's time, or without a name is worth a try.
  mutating func amend(
    _ failure: RegistrationFailure, ownMilliseconds: UInt64, identity: inout LocalIdentity
  ) -> Bool {
    if failure == .nameOnCard, !withholdsName {
      withholdsName = true
      return true
    }
    switch failure {
    case .superseded(let serial):
      guard raises < Self.mostRaises, identity.raiseSerial(above: serial) else { return false }
      raises += 1
    case .wrongClock(.some(let serverTime)):
      guard !hasSetClock else { return false }
      clockOffset = Int64(clamping: serverTime) &- Int64(clamping: ownMilliseconds)
      hasSetClock = true
    default: return false
    }
    return true
  }

  /// Registered: what is refused from here on may be amended anew.
  mutating func reset() { (hasSetClock, raises) = (false, 0) }

  /// Another program of this identity may register between our two attempts, with a serial that is
  /// higher again: as often as one identity may have programs at a rendezvous.
  private static let mostRaises = 8
}

extension RendezvousLink {
  /// It refused us, in an answer under its key.
  mutating func handleRefusal(
    _ failure: RegistrationFailure, now: Instant, identity: inout LocalIdentity
  ) {
    let tried = attempt?.request.token ?? nil
    attempt = nil
    let own = configuration.unixMilliseconds(now: now)
    if schedule.amendment.amend(failure, ownMilliseconds: own, identity: &identity) {
      return begin(now: now, identity: &identity)
    }
    switch failure {
    case .token(let fault):
      handleRefusal(of: tried, fault, now: now, identity: &identity)
    case .full, .wrongClock, .nameOnCard:
      NodeMove.retry(&self, after: failure, isInCall: false, now: now)
    case .noAnswer, .longPacketsLost, .notUnderstood, .identityMismatch, .versionMismatch,
      .nodesNotValid, .notAllowed, .superseded, .withoutAudience, .tooManyPrograms, .replaced,
      .isRelay:
      isStopped = true
      events.append(.registration(.failed(failure)))
    }
  }

  /// One that came meanwhile may be accepted, and one that held before may still hold.
  private mutating func handleRefusal(
    of tried: [UInt8]?, _ fault: TokenFault?, now: Instant, identity: inout LocalIdentity
  ) {
    let isNews = token.refuse(tried, fault, now: now)
    guard !token.mayBegin(after: tried) else {
      if isNews, let fault { events.append(.token(.refused(fault))) }
      return begin(now: now, identity: &identity)
    }
    token.isAwaited = true
    token.forgetEnd()
    if fault == .notYetValid {
      schedule.next = now + TokenWatch.earlyPace
    } else {
      isStopped = true
    }
    events.append(.registration(.failed(.token(fault))))
  }
}
