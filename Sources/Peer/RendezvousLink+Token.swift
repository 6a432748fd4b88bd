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
  /// The one that the rendezvous was shown last.
  private var shown: [UInt8]?
  /// The one that the registration rests on.
  private var accepted: [UInt8]?
  /// When the rendezvous ends the registration; `nil` = not for want of a token.
  private(set) var end: Instant?
  /// The token whose end was told.
  private var warned: [UInt8]?
  /// When it is shown again, because the rendezvous was asked too fast.
  private(set) var retryAt: Instant?
  /// A newer one that the rendezvous did not accept.
  private var refused: [UInt8]?
  /// Attempts have ended because of it.
  var isAwaited = false

  init(_ token: [UInt8]?) { self.token = token }

  /// The newest one that has not been refused beside one that holds.
  var best: [UInt8]? { token == refused ? accepted ?? token : token }

  /// Whether there is one that the rendezvous has not been shown.
  var isFresh: Bool { best != nil && best != shown }

  mutating func replace(with token: [UInt8]) {
    self.token = token
    refused = nil
  }

  /// The best one, to be shown now.
  mutating func show() -> [UInt8]? {
    shown = best
    retryAt = nil
    return shown
  }

  /// A registration rests on a token that it began with.
  ///
  /// - Returns: Whether it is another than the one before.
  mutating func accept(_ token: [UInt8]?, milliseconds: UInt32, now: Instant) -> Bool {
    shown = token
    return accept(milliseconds: milliseconds, now: now)
  }

  /// The rendezvous has said how long the one that it was shown lasts; 0 = it needs none.
  ///
  /// - Returns: Whether it is another than the one before.
  mutating func accept(milliseconds: UInt32, now: Instant) -> Bool {
    defer { accepted = shown }
    // An answer that was late on its way makes the end look later, never earlier.
    let known = accepted == shown ? end : nil
    end = milliseconds == 0 ? nil : earliest(known, now + .milliseconds(Int64(milliseconds)))
    return accepted != nil && accepted != shown
  }

  /// The one before holds.
  mutating func refuse() {
    refused = shown
    shown = accepted
  }

  mutating func retry(now: Instant) { retryAt = now + .seconds(1) }

  /// How long is left, once, when it is time to tell.
  mutating func takeWarning(now: Instant) -> Duration? {
    guard let end, warned != accepted, end <= now + Self.warning else { return nil }
    warned = accepted
    return end <= now ? .zero : end - now
  }

  /// The rendezvous would have said by now that the registration has ended.
  func isOver(now: Instant) -> Bool { end.map { $0 + Self.grace <= now } ?? false }

  mutating func forgetEnd() { end = nil }

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
}

extension RendezvousLink {
  /// There is a newer token: shown at once where one is needed, else with the next registration.
  mutating func renewToken(_ token: [UInt8], now: Instant, identity: inout LocalIdentity) {
    self.token.replace(with: token)
    if self.token.isAwaited {
      start(now: now, identity: &identity)
    } else if isRegistered, self.token.end != nil {
      showToken(now: now)
    }
  }

  /// Sends TOKEN.
  mutating func showToken(now: Instant) {
    guard let token = token.show() else { return }
    send(.token(TokenRenewal(token: token)), now: now)
  }

  mutating func take(_ result: TokenResult, now: Instant) {
    switch result {
    case .accepted(let milliseconds):
      if token.accept(milliseconds: milliseconds, now: now) {
        events.append(.token(.renewed))
      }
    case .refused(let fault):
      token.refuse()
      events.append(.token(.refused(fault)))
    case .tooMany: token.retry(now: now)
    }
  }

  /// What is due.
  mutating func driveToken(now: Instant) {
    if let left = token.takeWarning(now: now) {
      events.append(.token(.willExpire(in: left)))
    }
    if let retryAt = token.retryAt, retryAt <= now { showToken(now: now) }
  }
}
