import Primitives
import Wire

/// How a call of ours was decided at one program of the callee: what the others are told.
struct CallDecision: Hashable, Sendable {
  /// The program that accepted or declined.
  let presence: PresenceID
  /// `answeredElsewhere` or `declinedElsewhere`.
  let reason: CallReason
}

/// CANCELs for programs of a callee that rang while another one answered or declined: each repeated
/// until it is receipted (docs/protocol/calling.md §3).
struct ElsewhereNotices: Sendable {
  struct Notice: Sendable {
    let callID: CallID
    let peer: PeerID
    let presence: PresenceID
    let reason: CallReason
    fileprivate var delivery: Delivery
  }

  private var notices: [Notice] = []

  /// Eight programs of each of the most calls that may be open; the oldest makes room.
  private static let limit = 8 * CallLimits.mostCalls

  var isEmpty: Bool { notices.isEmpty }

  /// Begins to tell a program; `false` if that has begun before.
  mutating func add(
    _ callID: CallID, _ peer: PeerID, _ presence: PresenceID, _ reason: CallReason, now: Instant
  ) -> Bool {
    guard index(callID, presence) == nil else { return false }
    if notices.count >= Self.limit { notices.removeFirst() }
    notices.append(
      Notice(
        callID: callID, peer: peer, presence: presence, reason: reason,
        delivery: Delivery(now: now)))
    return true
  }

  /// The program knows.
  mutating func settle(_ callID: CallID, _ presence: PresenceID) {
    if let index = index(callID, presence) { notices.remove(at: index) }
  }

  /// One that is to be sent again; call until `nil`.
  mutating func popDue(now: Instant) -> Notice? {
    for index in notices.indices.reversed() {
      switch notices[index].delivery.handleTimeout(now: now) {
      case .sendAgain: return notices[index]
      case .fail: notices.remove(at: index)
      case nil: break
      }
    }
    return nil
  }

  var nextDeadline: Instant? {
    notices.reduce(nil) { earliest($0, $1.delivery.nextDeadline) }
  }

  private func index(_ callID: CallID, _ presence: PresenceID) -> Int? {
    notices.firstIndex { $0.callID == callID && $0.presence == presence }
  }
}
