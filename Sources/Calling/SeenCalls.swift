package import Primitives
package import Wire

/// Call IDs that start nothing again for 5 minutes (docs/protocol/calling.md §2).
///
/// An ID may not be forgotten while an invitation with it could still pass the age limit; when
/// there is no other room, new invitations are refused instead.
package struct SeenCalls: Sendable {
  private var entries: [(callID: CallID, at: Instant)] = []

  package init() {}

  package func contains(_ callID: CallID) -> Bool { entries.contains { $0.callID == callID } }

  /// - Parameter isFamiliar: A quarter is kept for callers that are no strangers.
  package mutating func hasRoom(isFamiliar: Bool = true, now: Instant) -> Bool {
    while let first = entries.first, first.at + CallLimits.seenFor <= now { entries.removeFirst() }
    let limit = isFamiliar ? CallLimits.seenCalls : CallLimits.seenCalls / 4 * 3
    // Twice the limit: an invitation may also be 60 s ahead.
    while entries.count >= limit, let first = entries.first,
      first.at + .milliseconds(2 * CallLimits.ageMilliseconds) <= now
    {
      entries.removeFirst()
    }
    return entries.count < limit
  }

  /// Remembers `callID`; the oldest makes room.
  package mutating func insert(_ callID: CallID, now: Instant) {
    while let first = entries.first, first.at + CallLimits.seenFor <= now { entries.removeFirst() }
    if entries.count >= CallLimits.seenCalls { entries.removeFirst() }
    entries.append((callID, now))
  }

  package var count: Int { entries.count }
}
