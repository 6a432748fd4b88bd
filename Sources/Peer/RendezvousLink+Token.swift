import Primitives
import SecureSession
package import Wire

/// What becomes of the access token of a registration.
package enum TokenStep: Sendable, Equatable {
  /// It ends in so long, and the registration with it, unless there is a newer one by then.
  case willExpire(in: Duration)
  /// A newer one holds.
  case renewed
  /// A newer one was not accepted; the one before holds until its end.
  case refused(TokenFault)
}

/// The access token that a registration needs, and how long it lasts: by intervals of this host's
/// monotonic clock, which the server's answers begin. No wall clock has a say in it.
struct TokenWatch {
  /// The newest one there is.
  private var token: [UInt8]?
  /// The one that the registration rests on, or rested on last.
  private var accepted: [UInt8]?
  /// The one that TOKEN has shown, until TOKEN_RESULT comes. There is never a second one under way:
  /// TOKEN_RESULT does not say which one it is about.
  private var asked: [UInt8]?
  /// When the rendezvous ends the registration; `nil` = not for want of a token.
  private(set) var end: Instant?
  /// The end may be later: the rendezvous can tell of no longer time.
  private var isEndOpen = false
  /// The token whose end was told.
  private var warned: [UInt8]?
  /// When one is shown again: no answer has come, or one that may be another the next time.
  private(set) var retryAt: Instant?
  /// A newer one that the rendezvous did not accept.
  private var refused: [UInt8]?
  /// A newer one whose time had not begun.
  private var early: [UInt8]?
  /// The early one has waited long enough.
  private var isEarlyDue = false
  /// Nothing can rest on the accepted one any more.
  private var isSpent = false
  /// Attempts have ended because of it, or come to nothing before its time.
  var isAwaited = false

  init(_ token: [UInt8]?) { self.token = token }

  /// The newest one, unless that would be refused and there is one that holds.
  var best: [UInt8]? {
    guard let token, let accepted, !isSpent else { return self.token }
    return token == refused || (token == early && !isEarlyDue) ? accepted : token
  }

  /// Whether there is one to be shown now in the session that stands.
  var isFresh: Bool { asked == nil && isUntried && best == token }

  /// Whether there is a newer one than the registration rests on, of which no answer says that it
  /// is good for nothing.
  var isUntried: Bool { token != nil && token != accepted && token != refused }

  /// Whether an attempt may succeed where one with `tried` was refused.
  func mayBegin(after tried: [UInt8]?) -> Bool { best != tried && (isUntried || !isSpent) }

  mutating func replace(with token: [UInt8]) {
    self.token = token
    refused = nil
    early = nil
    if asked == nil { retryAt = nil }
  }

  /// The best one, which is under way from now on; `nil` while another one is.
  mutating func show(now: Instant) -> [UInt8]? {
    guard asked == nil, let best else { return nil }
    asked = best
    retryAt = now + Self.patience
    return best
  }

  /// The one that TOKEN_RESULT is about; `nil` if none is under way.
  mutating func takeAsked(now: Instant) -> [UInt8]? {
    let judged = asked
    forgetAsked(now: now)
    return judged
  }

  /// No TOKEN_RESULT will come: it would belong to a session that is no more.
  mutating func forgetAsked(now: Instant) {
    guard asked != nil else { return }
    asked = nil
    retryAt = early == nil ? nil : now + Self.earlyPace
  }

  /// The rendezvous has said how long that one lasts; 0 = it needs none.
  ///
  /// - Returns: Whether it is another than the one before.
  mutating func accept(_ judged: [UInt8]?, milliseconds: UInt32, now: Instant) -> Bool {
    defer { accepted = judged }
    let isOpen = milliseconds == .max
    // An answer that was late on its way makes the end look later, never earlier.
    let known = accepted == judged && !isOpen && !isEndOpen ? end : nil
    end = milliseconds == 0 ? nil : earliest(known, now + .milliseconds(Int64(milliseconds)))
    isEndOpen = isOpen
    isSpent = false
    isAwaited = false
    if judged == early { early = nil }
    return accepted != nil && accepted != judged
  }

  /// The rendezvous does not accept that one. What a registration rests on holds until its end.
  ///
  /// - Returns: Whether this is the first that is heard of it.
  mutating func refuse(_ judged: [UInt8]?, _ fault: TokenFault?, now: Instant) -> Bool {
    guard let judged, judged != accepted else {
      isSpent = true
      return false
    }
    guard judged == token else { return true }
    guard fault == .notYetValid else {
      refused = judged
      return true
    }
    defer { early = judged }
    isEarlyDue = false
    retryAt = now + Self.earlyPace
    return early != judged
  }

  /// TOKEN_RESULT has come.
  ///
  /// - Returns: What is to be told.
  mutating func handle(_ result: TokenResult, of judged: [UInt8], now: Instant) -> TokenStep? {
    switch result {
    case .accepted(let milliseconds):
      return accept(judged, milliseconds: milliseconds, now: now) ? .renewed : nil
    case .refused(let fault):
      return refuse(judged, fault, now: now) ? .refused(fault) : nil
    case .tooMany:
      retry(now: now)
      return nil
    }
  }

  /// The rendezvous was asked too fast.
  mutating func retry(now: Instant) { retryAt = now + .seconds(1) }

  /// Whether it is time to show one again, once.
  mutating func takeRetry(now: Instant) -> Bool {
    guard let retryAt, retryAt <= now else { return false }
    self.retryAt = nil
    asked = nil
    isEarlyDue = true
    return true
  }

  /// How long is left, once, when it is time to tell.
  mutating func takeWarning(now: Instant) -> Duration? {
    guard let end, warned != accepted, end <= now + Self.warning else { return nil }
    warned = accepted
    return end <= now ? .zero : end - now
  }

  /// How long is left, where that was told.
  func left(now: Instant) -> Duration? {
    guard let end, accepted != nil, warned == accepted else { return nil }
    return end <= now ? .zero : end - now
  }

  /// The rendezvous would have said by now that the registration has ended.
  func isOver(now: Instant) -> Bool { end.map { $0 + Self.grace <= now } ?? false }

  /// The registration has ended, and nothing can rest on its token any more.
  mutating func forgetEnd() {
    end = nil
    isSpent = true
  }

  /// - Parameter hasSession: Whether there is a registration that would end.
  func nextDeadline(hasSession: Bool) -> Instant? {
    guard let end else { return retryAt }
    if warned != accepted { return earliest(retryAt, end - Self.warning) }
    return hasSession ? earliest(retryAt, end + Self.grace) : retryAt
  }

  /// Before the end.
  private static let warning = Duration.seconds(30)
  /// After it, for the server's CLOSE: three packets on a line that may lose some.
  private static let grace = Duration.milliseconds(500)
  /// For TOKEN_RESULT: TOKEN is given up after 8 s, so that none overtakes a later one.
  private static let patience = Duration.seconds(9)
  /// Between two tries of one whose time has not begun.
  static let earlyPace = Duration.seconds(10)
}

extension RendezvousLink {
  /// There is a newer token: shown at once where one is needed, else with the next registration.
  mutating func renewToken(_ token: [UInt8], now: Instant, identity: inout LocalIdentity) {
    self.token.replace(with: token)
    if self.token.isAwaited, isStopped {
      start(now: now, identity: &identity)
    } else if self.token.isAwaited {
      self.token.isAwaited = false
      begin(now: now, identity: &identity)
    } else {
      showFreshToken(now: now)
    }
  }

  private mutating func showFreshToken(now: Instant) {
    if token.end != nil, token.isFresh { showToken(now: now) }
  }

  /// Sends TOKEN, unless one is under way. Without a session INIT has the token.
  mutating func showToken(now: Instant) {
    guard isRegistered, let token = token.show(now: now) else { return }
    send(.token(TokenRenewal(token: token)), now: now)
  }

  mutating func handleTokenResult(_ result: TokenResult, now: Instant) {
    // Of one that was given up nothing is known: it is shown again, and judged again.
    guard let judged = token.takeAsked(now: now) else { return }
    if let step = token.handle(result, of: judged, now: now) { events.append(.token(step)) }
    // One that came meanwhile.
    if token.retryAt == nil { showFreshToken(now: now) }
  }

  /// What is due.
  mutating func driveToken(now: Instant) {
    if let left = token.takeWarning(now: now) {
      events.append(.token(.willExpire(in: left)))
    }
    if token.takeRetry(now: now) { showToken(now: now) }
  }
}
