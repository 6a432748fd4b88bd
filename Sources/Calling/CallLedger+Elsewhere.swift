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
    elsewhere.sendCancel(callID, to: peer, presence, decision.reason, now: now, &actions)
    updateDeadline()
  }

  /// `nil` while a call rings, and where it never rang at a program with an ID.
  func decision(of callID: CallID) -> CallDecision? {
    open[callID]?.decision ?? ended[callID]?.decision
  }
}
