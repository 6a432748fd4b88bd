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
  private struct Notice: Sendable {
    let callID: CallID
    let peer: PeerID
    let presence: PresenceID
    let reason: CallReason
    var delivery: Delivery
  }

  private var notices: [Notice] = []

  /// Eight programs of each of the most calls that may be open; the oldest makes room.
  private static let limit = 8 * CallLimits.mostCalls

  var isEmpty: Bool { notices.isEmpty }

  /// A signal of a program other than the one that decided the call.
  ///
  /// - Returns: Whether it had an effect.
  mutating func handle(
    _ signal: CallSignal, _ callID: CallID, from peer: PeerID, _ presence: PresenceID,
    _ reason: CallReason, now: Instant, _ actions: inout ActionQueue
  ) -> Bool {
    switch signal {
    case .ringing, .accept: sendCancel(callID, to: peer, presence, reason, now: now, &actions)
    case .receipt(of: .cancel): settle(callID, presence)
    case .reject, .timeout, .hangUp, .cancel:
      // It is done with the call by itself.
      settle(callID, presence)
      if let type = signal.type { actions.reply(.receipt(of: type), callID, peer, to: presence) }
    case .invite, .receipt, .unsupported, .confirm, .mediaState: return false
    }
    return true
  }

  /// Tells a program that rings, until it receipts that; at once again when it shows that it has
  /// not heard.
  mutating func sendCancel(
    _ callID: CallID, to peer: PeerID, _ presence: PresenceID, _ reason: CallReason, now: Instant,
    _ actions: inout ActionQueue
  ) {
    if index(callID, presence) == nil {
      if notices.count >= Self.limit { notices.removeFirst() }
      notices.append(
        Notice(
          callID: callID, peer: peer, presence: presence, reason: reason,
          delivery: Delivery(now: now)))
    }
    actions.push(.sendTo(presence, .cancel(reason), callID, of: peer))
  }

  /// The program knows.
  mutating func settle(_ callID: CallID, _ presence: PresenceID) {
    if let index = index(callID, presence) { notices.remove(at: index) }
  }

  /// Repeats what is due.
  mutating func handleTimeout(now: Instant, _ actions: inout ActionQueue) {
    while let notice = popDue(now: now) {
      actions.push(
        .sendTo(notice.presence, .cancel(notice.reason), notice.callID, of: notice.peer))
    }
  }

  /// One that is to be sent again; call until `nil`.
  private mutating func popDue(now: Instant) -> Notice? {
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
