package import Primitives

/// Why there is no relay, or no longer.
package enum RelayError: Error, Hashable, Sendable {
  /// The server does not answer.
  case noAnswer
  /// 401 although we gave credentials, or 441.
  case wrongCredentials
  /// 486: this user has as many allocations as it may have.
  case quotaReached
  /// 508: the server has no port or bandwidth left.
  case insufficientCapacity
  /// 403.
  case forbidden
  /// The allocation went before its time: the server was started anew, or sees us elsewhere.
  case allocationLost
  /// The connection to the server ended.
  case connectionLost
  /// The server's certificate is not to be trusted, or TLS failed for another reason.
  case untrusted(String)
  /// The server asks for what we do not have, or says what makes no sense.
  case notUnderstood
  /// Any other number.
  case refused(UInt16)

  init(code: UInt16?) {
    switch code {
    case 401, 441: self = .wrongCredentials
    case 403: self = .forbidden
    case 437: self = .allocationLost
    case 486: self = .quotaReached
    case 508: self = .insufficientCapacity
    case .some(let code): self = .refused(code)
    case nil: self = .notUnderstood
    }
  }

  /// Until it is tried again; `nil` = it would come to the same.
  var retryAfter: Duration? {
    switch self {
    case .wrongCredentials, .forbidden: nil
    case .allocationLost: .zero
    case .connectionLost: .zero
    case .noAnswer: .seconds(10)
    case .quotaReached, .insufficientCapacity, .notUnderstood, .refused, .untrusted:
      .seconds(60)
    }
  }
}

extension RelayError: CustomStringConvertible {
  /// What happened, then what to do.
  package var description: String {
    switch self {
    case .noAnswer: "The TURN server does not answer. Check its address and its firewall."
    case .wrongCredentials:
      "The TURN server refuses the credentials. Check --turn-user and --turn-password."
    case .quotaReached:
      "The TURN server has its full number of relays for this user. Wait, or raise its quota."
    case .insufficientCapacity: "The TURN server has no relay left. Wait, or use another server."
    case .forbidden: "The TURN server does not let us relay. Ask who runs it."
    case .allocationLost: "The TURN server has given up our relay. A new one is asked for."
    case .connectionLost: "The connection to the TURN server is lost. A new one is made."
    case .untrusted(let reason):
      "The TURN server's certificate is not to be trusted: \(reason). "
        + "Check the host in the URI, or name its authority with --turn-ca."
    case .notUnderstood: "The TURN server's answer makes no sense. Check that it is a TURN server."
    case .refused(let code): "The TURN server refuses a relay, code \(code) (RFC 8656, section 18)."
    }
  }
}

/// What became of the relay.
package enum RelayEvent: Hashable, Sendable {
  /// A peer reaches us at `address` from now on.
  case allocated(SocketAddress)
  /// There is none; calls go on without.
  case failed(RelayError)
}
