internal import Cryptography
internal import Primitives
internal import Wire

/// The verified members of one channel, and us: exactly those who may hear.
struct KeyRoster {
  let channel: Bytes32
  private(set) var own: VerifiedMember
  /// Without us; by uid.
  private(set) var members: [VerifiedMember] = []
  private(set) var audienceCount = 0
  private(set) var hostCount = 0
  private(set) var revision: UInt64 = 0
  /// All that the channel's roster has at the revision are verified: what others state of it can be
  /// compared.
  private(set) var isComplete = true
  private(set) var fingerprint: RosterFingerprint
  /// The newest revisions, oldest first.
  private var history: [(revision: UInt64, fingerprint: RosterFingerprint)] = []
  private let historyLimit: Int

  init(channel: Bytes32, own: VerifiedMember, historyLimit: Int) {
    self.channel = channel
    self.own = own
    self.historyLimit = historyLimit
    fingerprint = RosterFingerprint(channel: channel, members: [own])
  }

  subscript(uid: UInt32) -> VerifiedMember? {
    let place = place(of: uid)
    return place < members.count && members[place].uid == uid ? members[place] : nil
  }

  /// Adds a member, or puts its new value in the place of the old one.
  mutating func insert(_ member: VerifiedMember, revision: UInt64) {
    if member.uid == own.uid {
      own = member
    } else {
      _ = remove(member.uid)
      members.insert(member, at: place(of: member.uid))
      count(member, 1)
    }
    update(revision)
  }

  mutating func remove(_ uid: UInt32, revision: UInt64) -> VerifiedMember? {
    let member = remove(uid)
    update(revision)
    return member
  }

  /// Members are to come, or all of a revision are there.
  mutating func setComplete(_ isComplete: Bool, revision: UInt64) {
    guard isComplete != self.isComplete || isComplete && revision > self.revision else { return }
    self.isComplete = isComplete
    if isComplete { update(revision) }
  }

  /// The fingerprint at a revision; `nil` if that is to come, too long ago, or never was whole.
  func fingerprint(at revision: UInt64) -> RosterFingerprint? {
    history.last { $0.revision == revision }?.fingerprint
  }

  private mutating func remove(_ uid: UInt32) -> VerifiedMember? {
    let place = place(of: uid)
    guard place < members.count, members[place].uid == uid else { return nil }
    count(members[place], -1)
    return members.remove(at: place)
  }

  private mutating func count(_ member: VerifiedMember, _ change: Int) {
    if member.role == .audience { audienceCount += change } else { hostCount += change }
  }

  private mutating func update(_ revision: UInt64) {
    self.revision = max(self.revision, revision)
    fingerprint = RosterFingerprint(channel: channel, members: members + [own])
    guard isComplete else { return }
    if history.last?.revision == self.revision { history.removeLast() }
    history.append((self.revision, fingerprint))
    if history.count > historyLimit { history.removeFirst() }
  }

  /// Where the uid stands, or would.
  private func place(of uid: UInt32) -> Int {
    var low = 0
    var high = members.count
    while low < high {
      let middle = (low + high) / 2
      if members[middle].uid < uid { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
