import Forwarding
import Primitives
import Tokens
import Wire

/// Access tokens (docs/protocol/rendezvous.md §5): who may register only shows that somebody who
/// holds the key has signed for it, and for how long.
extension RendezvousMachine {
  /// A newer token for a registration that stands. One that is not accepted changes nothing: the
  /// one before holds until its end.
  mutating func renew(_ renewal: TokenRenewal, of slot: UInt32, now: Instant) {
    let isAllowed =
      registry[slot].lookUps.admit(limits.lookUpsPerClient, nowMilliseconds: now.millisecond)
      && limiter.takeLookUp(of: registry[slot].address, now: now)
    var result = TokenResult.tooMany
    if isAllowed {
      let ruling = settings.rule(on: renewal.token, of: registry[slot].id, now: now)
      let allowsName = registry.name(of: slot).map { ruling.allows($0) } ?? true
      switch ruling {
      case .notRequired: result = .accepted(milliseconds: 0)
      // It does not permit the name that the session has.
      case .granted where !allowsName: result = .refused(.scope)
      case .granted(let grant) where channels.hub?.renew(slot, by: grant.seat) == false:
        result = .refused(.scope)
      case .granted(let grant):
        tokens.set(slot, at: now + grant.life)
        result = .accepted(milliseconds: grant.wireLife)
      case .refused(let fault): result = .refused(fault ?? .malformed)
      case .noSeat: result = .tooMany
      }
    }
    _ = send(
      RendezvousMessage.tokenResult(result).bytes, to: slot, life: AnswerTerms.life, now: now)
  }

  /// Ends the registrations whose tokens have ended.
  mutating func endTokens(now: Instant) {
    while let slot = tokens.popDue(now: now) {
      if registry[slot].isConfirmed {
        close(slot, .tokenExpired, .tokenExpired, now: now)
      } else {
        forgetUnconfirmed(slot)
      }
    }
  }
}

/// What the token of a registration comes to.
enum TokenRuling {
  case notRequired
  case granted(TokenGrant)
  /// A relay has no room for one more.
  case noSeat
  /// - Parameter fault: `nil` = none came.
  case refused(TokenFault?)

  /// Whether the token lets its holder register by that name.
  func allows(_ name: PeerName) -> Bool {
    guard case .granted(let grant) = self, let only = grant.name else { return true }
    return only == name.description
  }
}

extension ServerSettings {
  /// Judges by this server's clock; whoever asks has proven to be `id`.
  func rule(on token: [UInt8]?, of id: PeerID, now: Instant) -> TokenRuling {
    guard let rule = tokenRule else { return .notRequired }
    // Whoever takes a relay for a rendezvous learns by this what it is (docs/protocol/relay.md §2).
    guard let token else { return .refused(forwarding == nil ? nil : .scope) }
    do throws(TokenFault) {
      let grant = try rule.check(token, of: id, unixMilliseconds: unixMilliseconds(now))
      if forwarding != nil, grant.seat == nil { throw .scope }
      return .granted(grant)
    } catch {
      return .refused(error)
    }
  }
}

extension TokenGrant {
  /// An interval of this host's monotonic clock: a wall clock that is set later moves nothing.
  var life: Duration { .milliseconds(Int64(clamping: min(remainingMilliseconds, 1 << 42))) }

  /// The same for the client, at most 49 days.
  var wireLife: UInt32 { max(1, UInt32(clamping: remainingMilliseconds)) }
}
