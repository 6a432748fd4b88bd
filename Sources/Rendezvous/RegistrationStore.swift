package import Primitives
package import Wire

/// What must outlive the process (docs/protocol/rendezvous.md §1): who has which name, and the last
/// card of each identity.
///
/// Calls are synchronous and short. Writes belong to a batch that `commit` makes durable, and reads
/// see them at once. A class, because the machine shares it with the program that opened it.
package protocol RegistrationStore: AnyObject {
  /// How much it holds.
  var limits: StoreLimits { get }

  /// Whose name it is. A name that was neither registered nor looked up for a year is nobody's.
  ///
  /// - Parameter now: Seconds since 1970; noted, once a day, as the moment of its last use.
  func owner(of name: PeerName, now: UInt64) throws(StoreFailure) -> PeerID?

  /// The encoded card; `nil` for an identity that was never here.
  func card(of id: PeerID) throws(StoreFailure) -> [UInt8]?

  /// The highest serial of its cards; `nil` for an identity that was never here.
  func serial(of id: PeerID) throws(StoreFailure) -> UInt64?

  /// What `bind` would say. Changes nothing.
  func verdict(
    on name: PeerName, for id: PeerID, now: UInt64
  ) throws(StoreFailure) -> NameVerdict

  /// Gives `name` to `id` if the verdict allows it.
  func bind(_ name: PeerName, to id: PeerID, now: UInt64) throws(StoreFailure) -> NameVerdict

  /// Keeps `card` in place of a card with a lower serial.
  ///
  /// - Parameter seen: Seconds since 1970; of more identities than the store has room for, the
  ///   ones seen longest ago and without a name are forgotten.
  func keep(_ card: [UInt8], serial: UInt64, of id: PeerID, seen: UInt64) throws(StoreFailure)

  /// Keeps a ban, in place of one of the same identity in the same channel.
  ///
  /// - Parameter now: Milliseconds since 1970; what has ended is forgotten.
  func keep(_ ban: StoredBan, now: UInt64) throws(StoreFailure)

  /// All bans that have not ended.
  func bans(now: UInt64) throws(StoreFailure) -> [StoredBan]

  /// Whether there is something to commit: what was written, or a view that was read from.
  var isBatchOpen: Bool { get }

  /// Ends the batch. After a failure the batch is lost and the store goes on.
  func commit() throws(StoreFailure)

  /// How many batches were undone because a write or `commit` failed.
  var lostBatchCount: UInt64 { get }

  /// The store itself where it is elsewhere: nothing can be read there that was not wished for.
  var shared: SharedStore? { get }
}

extension RegistrationStore {
  /// The store is in this process.
  package var shared: SharedStore? { nil }

  /// Whoever is elsewhere says of each write what became of it.
  package var lostBatchCount: UInt64 { 0 }
}

/// An identity that is kept out of a channel.
package struct StoredBan: Equatable, Sendable {
  package var channel: Bytes32
  package var id: PeerID
  /// Milliseconds since 1970.
  package var until: UInt64

  package init(channel: Bytes32, id: PeerID, until: UInt64) {
    self.channel = channel
    self.id = id
    self.until = until
  }
}

/// What becomes of the wish for a name.
package enum NameVerdict: Sendable {
  /// It is this identity's already.
  case owned
  /// It is this identity's from now on.
  case granted
  /// It was this identity's before the store lost that, and is again from now on.
  case regained
  case taken
  /// This identity has as many names as one may have, or the store as many as it holds.
  case tooMany
}

/// The store could not do it: the disk is full, the file is damaged. The server refuses politely,
/// counts it and goes on.
package struct StoreFailure: Error, Equatable, Sendable {
  /// In words, for the log; no names, keys or IDs.
  package var reason: String

  package init(_ reason: String) { self.reason = reason }
}

/// How much a store holds, so that nobody can fill the disk by asking.
package struct StoreLimits: Sendable {
  /// A person's devices and roles; names are for long, so they must not be free.
  package var namesPerIdentity = 8
  /// About 100 MB of database; a server of this size has outgrown one process.
  package var names = 1_000_000
  /// About 450 MB of database; the oldest without a name make room.
  package var cards = 1_000_000
  /// What a server takes back at its start (`ChannelLimits.bansInAll`); the one that ends first
  /// makes room.
  package var bans = 16_384

  /// Seconds after which a name that nobody registered or looked up is free again.
  package var nameLife: UInt64 = 365 * 86_400

  package init() {}

  /// Of a store that several nodes share: 10⁷ clients, and as many that were there within a year. A
  /// client takes about 550 bytes of Redis, so `maxmemory` is the nearer limit on most hosts.
  package static var shared: StoreLimits {
    var limits = StoreLimits()
    limits.names = 20_000_000
    limits.cards = 20_000_000
    return limits
  }

  /// How often the use of a name is noted, in seconds.
  package static let usePace: UInt64 = 86_400
}

/// A store that forgets when the process ends: for simulation and tests.
package final class MemoryStore: RegistrationStore {
  package let limits: StoreLimits
  /// While set, every call fails with it: the disk is full.
  package var failure: StoreFailure?
  /// While set, `commit` fails with it and undoes all writes since it was set or failed last.
  package var commitFailure: StoreFailure? {
    didSet { committed = commitFailure == nil ? nil : content }
  }
  /// How many batches were ended.
  package private(set) var commitCount = 0
  package private(set) var lostBatchCount: UInt64 = 0

  private struct Content {
    var owners: [PeerName: (id: PeerID, used: UInt64)] = [:]
    var nameCounts: [PeerID: Int] = [:]
    var cards: [PeerID: (card: [UInt8], serial: UInt64, seen: UInt64)] = [:]
    var kept: [StoredBan] = []
    /// IDs in the order in which they were first kept: eviction must not depend on hashing.
    var order: [PeerID] = []
  }

  private var content = Content()
  /// What a commit that fails leaves.
  private var committed: Content?

  package init(limits: StoreLimits = StoreLimits()) { self.limits = limits }

  package func owner(of name: PeerName, now: UInt64) throws(StoreFailure) -> PeerID? {
    if let failure { throw failure }
    guard let owner = content.owners[name], !hasLapsed(owner.used, now) else { return nil }
    content.owners[name]?.used = max(owner.used, now)
    return owner.id
  }

  private func hasLapsed(_ used: UInt64, _ now: UInt64) -> Bool {
    now > used && now - used >= limits.nameLife
  }

  package func card(of id: PeerID) throws(StoreFailure) -> [UInt8]? {
    if let failure { throw failure }
    return content.cards[id]?.card
  }

  package func serial(of id: PeerID) throws(StoreFailure) -> UInt64? {
    if let failure { throw failure }
    return content.cards[id]?.serial
  }

  package func verdict(
    on name: PeerName, for id: PeerID, now: UInt64
  ) throws(StoreFailure) -> NameVerdict {
    if let failure { throw failure }
    if let owner = content.owners[name], !hasLapsed(owner.used, now) {
      return owner.id == id ? .owned : .taken
    }
    guard content.nameCounts[id] ?? 0 < limits.namesPerIdentity else { return .tooMany }
    let isFull =
      content.owners.count >= limits.names
      && !content.owners.values.contains { hasLapsed($0.used, now) }
    return isFull ? .tooMany : .granted
  }

  package func bind(
    _ name: PeerName, to id: PeerID, now: UInt64
  ) throws(StoreFailure) -> NameVerdict {
    let verdict = try verdict(on: name, for: id, now: now)
    switch verdict {
    case .owned: content.owners[name]?.used = now
    case .granted, .regained:
      if content.owners.count >= limits.names { forgetLapsed(now) }
      forget(name)
      content.owners[name] = (id, now)
      content.nameCounts[id, default: 0] += 1
    case .taken, .tooMany: break
    }
    return verdict
  }

  private func forgetLapsed(_ now: UInt64) {
    for (name, owner) in content.owners where hasLapsed(owner.used, now) { forget(name) }
  }

  private func forget(_ name: PeerName) {
    guard let former = content.owners.removeValue(forKey: name) else { return }
    content.nameCounts[former.id] = content.nameCounts[former.id].flatMap { $0 > 1 ? $0 - 1 : nil }
  }

  package func keep(
    _ card: [UInt8], serial: UInt64, of id: PeerID, seen: UInt64
  ) throws(StoreFailure) {
    if let failure { throw failure }
    if let known = content.cards[id] {
      let isNewer = serial >= known.serial
      content.cards[id] = (
        isNewer ? card : known.card, max(serial, known.serial), max(seen, known.seen)
      )
      return
    }
    if content.cards.count >= limits.cards { forgetOne() }
    guard content.cards.count < limits.cards else {
      throw StoreFailure("the store holds its most cards")
    }
    content.cards[id] = (card, serial, seen)
    content.order.append(id)
  }

  package func keep(_ ban: StoredBan, now: UInt64) throws(StoreFailure) {
    if let failure { throw failure }
    content.kept.removeAll { $0.until <= now || ($0.channel == ban.channel && $0.id == ban.id) }
    content.kept.append(ban)
    guard content.kept.count > limits.bans, let largest = content.kept.mostFrequent(\.channel)
    else { return }
    content.kept.sort { $0.until < $1.until }
    if let first = content.kept.firstIndex(where: { $0.channel == largest }) {
      content.kept.remove(at: first)
    }
  }

  package func bans(now: UInt64) throws(StoreFailure) -> [StoredBan] {
    if let failure { throw failure }
    return content.kept.filter { $0.until > now }
  }

  package var isBatchOpen: Bool { false }

  package func commit() throws(StoreFailure) {
    if let failure { throw failure }
    if let commitFailure, let committed {
      content = committed
      lostBatchCount += 1
      throw commitFailure
    }
    commitCount += 1
  }

  private func forgetOne() {
    var oldest: (index: Int, seen: UInt64)?
    for (index, id) in content.order.enumerated() where content.nameCounts[id] == nil {
      let seen = content.cards[id]?.seen ?? 0
      if oldest.map({ seen < $0.seen }) ?? true { oldest = (index, seen) }
    }
    guard let oldest else { return }
    content.cards[content.order.remove(at: oldest.index)] = nil
  }
}
