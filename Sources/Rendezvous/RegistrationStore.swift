package import Primitives
package import Wire

/// What must outlive the process (docs/protocol/rendezvous.md §1): who has which name, and the last
/// card of each identity.
///
/// Calls are synchronous and short. Writes belong to a batch that `commit` makes durable, and reads
/// see them at once. A class, because the machine shares it with the program that opened it.
package protocol RegistrationStore: AnyObject {
  func owner(of name: PeerName) throws(StoreFailure) -> PeerID?

  /// The encoded card; `nil` for an identity that was never here.
  func card(of id: PeerID) throws(StoreFailure) -> [UInt8]?

  /// Gives `name` to `id` if nobody else has it.
  func bind(_ name: PeerName, to id: PeerID) throws(StoreFailure) -> NameVerdict

  /// Keeps `card` in place of a card with a lower serial.
  ///
  /// - Parameter seen: Seconds since 1970; of more identities than the store has room for, the
  ///   ones seen longest ago and without a name are forgotten.
  func keep(_ card: [UInt8], serial: UInt64, of id: PeerID, seen: UInt64) throws(StoreFailure)

  /// Ends the batch. After a failure the batch is lost and the store goes on.
  func commit() throws(StoreFailure)
}

/// What became of the wish for a name.
package enum NameVerdict: Sendable {
  /// It is this identity's now, or was already.
  case granted
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
  /// A person's devices and roles; names are for good, so they must not be free.
  package var namesPerIdentity = 8
  /// About 100 MB of database; a server of this size has outgrown one process.
  package var names = 1_000_000
  /// About 450 MB of database; the oldest without a name make room.
  package var cards = 1_000_000

  package init() {}
}

/// A store that forgets when the process ends: for simulation and tests.
package final class MemoryStore: RegistrationStore {
  package let limits: StoreLimits
  /// While set, every call fails with it: the disk is full.
  package var failure: StoreFailure?
  /// How many batches were ended.
  package private(set) var commitCount = 0

  private var owners: [PeerName: PeerID] = [:]
  private var nameCounts: [PeerID: Int] = [:]
  private var cards: [PeerID: (card: [UInt8], serial: UInt64, seen: UInt64)] = [:]
  /// IDs in the order in which they were first kept: eviction must not depend on hashing.
  private var order: [PeerID] = []

  package init(limits: StoreLimits = StoreLimits()) { self.limits = limits }

  package func owner(of name: PeerName) throws(StoreFailure) -> PeerID? {
    if let failure { throw failure }
    return owners[name]
  }

  package func card(of id: PeerID) throws(StoreFailure) -> [UInt8]? {
    if let failure { throw failure }
    return cards[id]?.card
  }

  package func bind(_ name: PeerName, to id: PeerID) throws(StoreFailure) -> NameVerdict {
    if let failure { throw failure }
    if let owner = owners[name] { return owner == id ? .granted : .taken }
    let count = nameCounts[id] ?? 0
    guard count < limits.namesPerIdentity, owners.count < limits.names else { return .tooMany }
    owners[name] = id
    nameCounts[id] = count + 1
    return .granted
  }

  package func keep(
    _ card: [UInt8], serial: UInt64, of id: PeerID, seen: UInt64
  ) throws(StoreFailure) {
    if let failure { throw failure }
    if let known = cards[id] {
      let isNewer = serial >= known.serial
      cards[id] = (isNewer ? card : known.card, max(serial, known.serial), max(seen, known.seen))
      return
    }
    if cards.count >= limits.cards { forgetOne() }
    guard cards.count < limits.cards else { throw StoreFailure("the store holds its most cards") }
    cards[id] = (card, serial, seen)
    order.append(id)
  }

  package func commit() throws(StoreFailure) {
    if let failure { throw failure }
    commitCount += 1
  }

  private func forgetOne() {
    var oldest: (index: Int, seen: UInt64)?
    for (index, id) in order.enumerated() where nameCounts[id] == nil {
      let seen = cards[id]?.seen ?? 0
      if oldest.map({ seen < $0.seen }) ?? true { oldest = (index, seen) }
    }
    guard let oldest else { return }
    cards[order.remove(at: oldest.index)] = nil
  }
}
