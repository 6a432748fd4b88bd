import Calling
import Primitives
import Wire

/// What a program that does not answer calls does with an invitation all the same
/// (docs/protocol/rendezvous.md §2).
extension PeerMachine {
  mutating func handleRegistered(now: Instant) {
    if case .awaited(nil) = firstCall { firstCall = .awaited(since: now) }
    if rendezvous.server.nodes.isService { lookups.askAgain(now: now) }
  }

  /// Why an invitation is refused because of what this program is there for; `nil` = it may ring.
  ///
  /// A program that calls takes the invitation of the one that it calls: both called each other.
  /// In the second before its call, and until its look-up has shown who that is, any may be it.
  func presenceRefusal(of peer: PeerID, now: Instant) -> CallReason? {
    switch configuration.presence {
    case .answering: return nil
    case .guest: return .busy
    case .calling:
      if ledger.openCall(with: peer) != nil { return nil }
      if case .awaited(let since) = firstCall, since.map({ now < $0 + Self.callPatience }) ?? true {
        return nil
      }
      return lookups.mayFind(peer) ? nil : .busy
    }
  }

  /// Calls that ring where somebody calls: accepted or refused as soon as it is known whom.
  var provisionalCount: Int {
    configuration.presence == .calling ? ledger.openCallIDs.count { isRinging($0) } : 0
  }

  /// How long after its registration a program that calls may take until it does.
  private static var callPatience: Duration { .seconds(1) }

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

/// Whether a program has called somebody, or answered.
enum FirstCall {
  /// - Parameter since: when it had registered.
  case awaited(since: Instant?)
  case made
}
