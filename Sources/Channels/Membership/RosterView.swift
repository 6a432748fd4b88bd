import Primitives
import Wire

/// The members as the user sees them: true rosters one after another, and what happened between
/// them. Whoever is missing only since the server started anew is kept for a while.
struct RosterView {
  /// What happened to one member.
  enum Step: Equatable {
    case appeared(ChannelMember)
    /// Its role, or its stay after the server began anew.
    case changed(from: ChannelMember, ChannelMember)
    case disappeared(ChannelMember, Departure)
  }

  /// By rising uid.
  private(set) var members: [ChannelMember] = []
  private var epoch: UInt64 = 0
  /// Those of a former epoch who have not come back yet, until when.
  private var awaited: [UInt32: Instant] = [:]
  /// Members of a channel (`ChannelLimits.members`): a server may begin anew again and again.
  private static let mostAwaited = 4096

  /// - Parameters:
  ///   - end: Until when those are kept who were there in a former life of the server.
  ///   - reasons: Why those went that went, where it was told.
  ///   - expelled: Identities that have lost the right to be there: none of their former stays is
  ///     kept, which hosts would give their fresh keys.
  mutating func update(
    to roster: RosterCopy, reasons: [UInt32: Departure], expelled: [PeerID: Departure] = [:],
    awaitingUntil end: Instant
  ) -> [Step] {
    // Of another life of the server; a channel that ended and began again is only another room.
    let isNewEpoch =
      UInt32(truncatingIfNeeded: epoch) != UInt32(truncatingIfNeeded: roster.epoch) && epoch != 0
    epoch = roster.epoch
    var steps: [Step] = []
    var kept: [ChannelMember] = []
    for old in members {
      guard let new = roster.members[old.uid], new.id == old.id,
        isNewEpoch || awaited[old.uid] != nil || new.joinNumber == old.joinNumber
      else {
        let isAwaited = isNewEpoch || awaited[old.uid] != nil
        if isAwaited, roster.members[old.uid] == nil, reasons[old.uid] == nil,
          expelled[old.id] == nil, awaited[old.uid] != nil || awaited.count < Self.mostAwaited
        {
          if awaited[old.uid] == nil { awaited[old.uid] = end }
          kept.append(old)
        } else {
          awaited[old.uid] = nil
          let departure = reasons[old.uid] ?? expelled[old.id] ?? .lost
          steps.append(.disappeared(old, departure))
        }
        continue
      }
      awaited[old.uid] = nil
      kept.append(new)
      if new != old { steps.append(.changed(from: old, new)) }
    }
    let known = Set(kept.map(\.uid))
    for member in roster.members.values.sorted(by: { $0.uid < $1.uid })
    where !known.contains(member.uid) {
      kept.append(member)
      steps.append(.appeared(member))
    }
    members = kept.sorted { $0.uid < $1.uid }
    return steps
  }

  /// Those who have not come back in time.
  mutating func endWaiting(now: Instant) -> [Step] {
    let over = members.filter { awaited[$0.uid].map { $0 <= now } ?? false }
    guard !over.isEmpty else { return [] }
    for member in over { awaited[member.uid] = nil }
    members.removeAll { member in over.contains { $0.uid == member.uid } }
    return over.map { .disappeared($0, .lost) }
  }

  /// The member with a uid, by bisection.
  func member(_ uid: UInt32) -> ChannelMember? {
    var (low, high) = (0, members.count)
    while low < high {
      let middle = (low + high) / 2
      if members[middle].uid < uid { low = middle + 1 } else { high = middle }
    }
    return low < members.count && members[low].uid == uid ? members[low] : nil
  }

  /// Whether all are members as the server knows them: nobody is kept who may come back.
  var isExact: Bool { awaited.isEmpty }

  var nextDeadline: Instant? { awaited.values.min() }
}
