import Primitives
import Wire

/// A member's copy of a roster: follows changes, and knows what it lacks (docs/protocol/channels.md
/// §4). It is true for one epoch.
struct RosterCopy {
  private(set) var epoch: UInt64 = 0
  private(set) var revision: UInt64 = 0
  private(set) var members: [UInt32: ChannelMember] = [:]
  /// Why those went that went since the last `takeReasons`.
  private var reasons: [UInt32: Departure] = [:]
  /// Identities of members that have lost the right to be there since the last `takeExpelled`.
  private var expelled: [PeerID: Departure] = [:]
  /// Changes that others have overtaken.
  private var ahead: [RosterChanges] = []
  private let limits: ChannelLimits
  /// What the server is known to have.
  private var latest: UInt64 = 0
  private var pages: Pages?
  /// Since when something has been missing.
  private(set) var lackingSince: Instant?

  /// Pages under way.
  private struct Pages {
    /// Of the first one: that of the whole.
    let revision: UInt64
    var after: UInt32
    var members: [ChannelMember]
  }

  init(limits: ChannelLimits) { self.limits = limits }

  /// What to ask for.
  var position: RosterPosition {
    RosterPosition(epoch: epoch, revision: revision, after: pages?.after ?? 0)
  }

  /// Whether all that is known to be there is here.
  var isComplete: Bool { epoch != 0 && pages == nil && revision >= latest && revision > 0 }

  /// Another life of the channel: nothing is known of it.
  mutating func begin(_ epoch: UInt64) {
    guard epoch != self.epoch else { return }
    self.epoch = epoch
    revision = 0
    latest = 0
    members = [:]
    reasons = [:]
    expelled = [:]
    ahead = []
    pages = nil
    lackingSince = nil
  }

  /// We are a member, and the roster is on its way, unless it has overtaken the welcome.
  mutating func awaitAnswer(now: Instant) { lackingSince = now }

  mutating func handle(head: UInt64, now: Instant) {
    latest = max(latest, head)
    noteLack(now: now)
  }

  /// - Returns: Whether more is to be asked for at once: the message had not room for all.
  mutating func handle(_ changes: RosterChanges, now: Instant) -> Bool {
    let last = changes.first + UInt64(changes.changes.count) - 1
    latest = max(latest, last, changes.latest)
    guard last > revision else { return false }
    // The next one always has room: the others wait for it.
    let isNext = pages == nil && changes.first <= revision + 1
    if isNext || ahead.count < limits.ahead { ahead.append(changes) }
    let before = revision
    applyAhead()
    // What is missing now is missing since now.
    if revision > before { lackingSince = nil }
    noteLack(now: now)
    return revision == last && last < changes.latest
  }

  /// - Returns: Whether another page is to be asked for at once.
  mutating func handle(_ page: RosterPage, now: Instant) -> Bool {
    latest = max(latest, page.revision)
    if page.after == 0 {
      // The answer to an older question: what is here is newer.
      guard page.revision > revision || revision == 0 else { return false }
      pages = Pages(revision: page.revision, after: 0, members: [])
    }
    guard let begun = pages, begun.after == page.after,
      begun.members.count + page.members.count <= limits.members
    else { return false }
    pages?.members.append(contentsOf: page.members)
    pages?.after = page.members.last?.uid ?? page.after
    guard page.isLast, let pages else {
      lackingSince = now
      return true
    }
    self.pages = nil
    members = Dictionary(uniqueKeysWithValues: pages.members.map { ($0.uid, $0) })
    revision = pages.revision
    applyAhead()
    noteLack(now: now)
    return false
  }

  /// Why a member went, if that was told; each is told once.
  mutating func takeReasons() -> [UInt32: Departure] {
    defer { reasons = [:] }
    return reasons
  }

  /// Whose stays have lost the right to be there, and how; each is told once.
  mutating func takeExpelled() -> [PeerID: Departure] {
    defer { expelled = [:] }
    return expelled
  }

  /// It was asked for: the answer has time to come.
  mutating func noteRequest(now: Instant) {
    if lackingSince != nil { lackingSince = now + limits.repetition - limits.gapPatience }
  }

  private mutating func applyAhead() {
    // At revision 0 a channel is empty: changes from the first one on are all of it.
    guard pages == nil else { return }
    while let index = ahead.firstIndex(where: { $0.first <= revision + 1 }) {
      let changes = ahead.remove(at: index)
      for (offset, change) in changes.changes.enumerated()
      where changes.first + UInt64(offset) == revision + 1 {
        apply(change)
        revision += 1
      }
    }
  }

  private mutating func apply(_ change: RosterChange) {
    switch change {
    case .present(let member):
      guard members[member.uid] != nil || members.count < limits.members else { return }
      members[member.uid] = member
    case .gone(let uid, let departure):
      if let member = members.removeValue(forKey: uid), departure.endsRight,
        expelled.count < limits.members
      {
        expelled[member.id] = departure
      }
      // A rendezvous that keeps the roster from being whole could name uids without end.
      if reasons.count < limits.members || reasons[uid] != nil { reasons[uid] = departure }
    }
  }

  private mutating func noteLack(now: Instant) {
    lackingSince = isComplete ? nil : lackingSince ?? now
  }
}
