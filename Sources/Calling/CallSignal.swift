package import Wire

/// What the two sides of a call say to each other, without its bytes (docs/protocol/calling.md §2,
/// §5).
///
/// The machines of this module are told of signals only after the owner has found call ID, sender,
/// direction and MAC or seal to be right; what they ask to be sent, the owner makes bytes of.
package enum CallSignal: Hashable, Sendable {
  case invite
  case ringing(isPrepared: Bool)
  case accept
  case reject(CallReason, ReasonText)
  case cancel(CallReason)
  case timeout(CallReason)
  case hangUp(CallReason, ReasonText)
  case receipt(of: SignalType)
  /// The other side does not speak our version.
  case unsupported
  /// r_A: received only if it opens the commitment.
  case confirm
  case mediaState(MediaState)

  /// The body that carries it; `nil` for what exists only as call control.
  package var type: SignalType? {
    switch self {
    case .invite: .invite
    case .ringing: .ringing
    case .accept: .accept
    case .reject: .reject
    case .cancel: .cancel
    case .timeout: .timeout
    case .hangUp: .hangUp
    case .receipt: .receipt
    case .unsupported: .unsupported
    case .confirm, .mediaState: nil
    }
  }

  /// How a repetition of it, or its receipt, travels: HANGUP goes on stream 2, which repeats and
  /// acknowledges by itself.
  package var repetitionRoute: SignalRoute {
    switch self {
    case .hangUp, .receipt(of: .hangUp): .rendezvous
    case .invite, .ringing, .accept, .reject, .cancel, .timeout, .receipt, .unsupported, .confirm,
      .mediaState:
      .both
    }
  }

  /// Whether the side that says it is done with the call.
  package var endsCall: Bool {
    switch self {
    case .reject, .cancel, .timeout, .hangUp: true
    case .invite, .ringing, .accept, .receipt, .unsupported, .confirm, .mediaState: false
    }
  }
}

/// How a signal travels (docs/protocol/calling.md §3).
package enum SignalRoute: Hashable, Sendable {
  /// As FORWARD, with a new message ID.
  case rendezvous
  /// Only from peer to peer: call control on stream 2, and what answers or ends a call that rings
  /// as SIGNAL under the ring keys.
  case path
  /// By the rendezvous, and on the path if there is a valid one. What goes on stream 2 is
  /// repeated there by the stream: only the first sending of it says `both`.
  case both
}

/// Why the rendezvous did not forward a signal (docs/protocol/rendezvous.md §3, FORWARD_RESULT).
package enum ForwardFailure: UInt8, CaseIterable, Sendable {
  case notOnline = 1
  case tooMany = 2
  case bodyTooLong = 3
  case notAllowed = 4
}
