import Calling
import Primitives
import Wire

/// What a program that does not answer calls does with an invitation all the same
/// (docs/protocol/rendezvous.md §2).
extension PeerMachine {
  /// Why an invitation is refused because of what this program is there for; `nil` = it may ring.
  ///
  /// A program that calls takes the invitation of the one that it calls: both called each other.
  /// Until its look-up has shown who that is, any may be it.
  func presenceRefusal(of peer: PeerID) -> CallReason? {
    switch configuration.presence {
    case .answering: return nil
    case .guest: return .busy
    case .calling:
      if ledger.openCall(with: peer) != nil { return nil }
      let mayBeCalled = lookups.contains { lookup in
        if case .id(let id) = lookup.target { return id == peer }
        return lookup.options.expectedID.map { $0 == peer } ?? true
      }
      return mayBeCalled ? nil : .busy
    }
  }

  /// Somebody else than the one that this program calls rang meanwhile.
  mutating func refuseOthers(now: Instant) {
    guard configuration.presence == .calling else { return }
    for callID in ledger.openCallIDs where ledger.state(of: callID) == .calling {
      guard let link = link(callID), link.role == .callee else { continue }
      do throws(CallRefusal) {
        try ledger.reject(callID, .busy, now: now)
      } catch {
        continue  // It ended in this moment.
      }
    }
  }
}
