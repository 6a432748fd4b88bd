package import Primitives
package import Wire

/// Several programs of the callee ring: what those hear at which the call was not decided
/// (docs/protocol/calling.md §3).
extension CallLedger {
  /// An answer that cannot be read any more, because another program's was taken first.
  ///
  /// - Parameter presence: The program that sent it, as the rendezvous says.
  package mutating func handleLateAnswer(
    _ callID: CallID, from peer: PeerID, presence: PresenceID, now: Instant
  ) {
    guard self.peer(of: callID) == peer, presence != .every, let decision = decision(of: callID),
      presence != decision.presence
    else { return ignored.count(.withoutEffect) }
    tell(presence, of: callID, peer, decision.reason, now: now)
    updateDeadline()
  }

  /// `nil` while a call rings, and where it never rang at a program with an ID.
  func decision(of callID: CallID) -> CallDecision? {
    open[callID]?.decision ?? ended.first { $0.callID == callID }?.decision
  }

  /// A signal of a program other than the one that decided the call.
  mutating func tellElsewhere(
    _ signal: CallSignal, _ callID: CallID, _ peer: PeerID, _ presence: PresenceID,
    _ reason: CallReason, now: Instant
  ) {
    switch signal {
    case .ringing, .accept: tell(presence, of: callID, peer, reason, now: now)
    case .receipt(of: .cancel): elsewhere.settle(callID, presence)
    case .reject, .timeout, .hangUp, .cancel:
      // It is done with the call by itself.
      elsewhere.settle(callID, presence)
      if let type = signal.type { reply(.receipt(of: type), callID, peer, to: presence) }
    case .invite, .receipt, .unsupported, .confirm, .mediaState: ignored.count(.withoutEffect)
    }
  }

  /// Tells a program that rings, until it receipts that; at once again when it shows that it has
  /// not heard.
  mutating func tell(
    _ presence: PresenceID, of callID: CallID, _ peer: PeerID, _ reason: CallReason, now: Instant
  ) {
    _ = elsewhere.add(callID, peer, presence, reason, now: now)
    act(.sendTo(presence, .cancel(reason), callID, of: peer))
  }

  mutating func repeatNotice(_ notice: ElsewhereNotices.Notice) {
    act(.sendTo(notice.presence, .cancel(notice.reason), notice.callID, of: notice.peer))
  }

  /// An answer to whoever said something about a call.
  mutating func reply(
    _ signal: CallSignal, _ callID: CallID, _ peer: PeerID, to presence: PresenceID
  ) {
    if presence == .every {
      act(.send(signal, callID, to: peer, signal.repetitionRoute))
    } else {
      act(.sendTo(presence, signal, callID, of: peer))
    }
  }
}
