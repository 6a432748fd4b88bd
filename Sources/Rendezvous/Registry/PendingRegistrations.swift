import Primitives
import Wire

/// What registrations asked for whose first DATA has not come: written to the store only when it
/// has, so that nobody can fill it with made-up addresses. As many as there are unconfirmed
/// sessions.
struct PendingRegistrations {
  struct Entry: Sendable {
    var card: [UInt8]
    var serial: UInt64
    /// The name that the card claims.
    var claimedName: PeerName?
    /// Promised in RESP.
    var name: PeerName?
    var status: RegistrationStatus
    /// The client takes NAME_RECEIPT.
    var wantsReceipt = false
  }

  private var entries: [UInt32: Entry] = [:]
  /// Names promised, and to which slot.
  private var names: [PeerName: UInt32] = [:]

  var count: Int { entries.count }

  /// Whose session has the promise of a name.
  func holder(of name: PeerName) -> UInt32? { names[name] }

  mutating func insert(_ entry: Entry, for slot: UInt32) {
    entries[slot] = entry
    if let name = entry.name { names[name] = slot }
  }

  @discardableResult
  mutating func remove(_ slot: UInt32) -> Entry? {
    guard let entry = entries.removeValue(forKey: slot) else { return nil }
    if let name = entry.name, names[name] == slot { names[name] = nil }
    return entry
  }
}

/// Connection IDs that never repeat within a boot and tell nobody how many there were
/// (docs/protocol/session.md §8): a counter, shuffled with a secret, under the boot's 4 bits.
struct ConnectionIDs {
  private let prefix: UInt32
  private let hash: KeyedHash
  private var next: UInt32 = 0

  init(boot: UInt64, random: inout RandomSource) {
    prefix = UInt32(truncatingIfNeeded: boot & 15) << 28
    hash = KeyedHash(key0: random.next(), key1: random.next())
  }

  /// The next one; `isUsed` is asked only after 2^28 of them.
  mutating func makeID(isUsed: (ConnectionID) -> Bool) -> ConnectionID {
    while true {
      let id = ConnectionID(rawValue: prefix | shuffle(next))
      next = (next &+ 1) & 0xFFF_FFFF
      if id != .none, !isUsed(id) { return id }
    }
  }

  /// A permutation of 28 bits: four rounds of a Feistel network.
  private func shuffle(_ value: UInt32) -> UInt32 {
    var (left, right) = (value >> 14, value & 0x3FFF)
    for round in UInt64(0)..<4 {
      let mixed = UInt32(truncatingIfNeeded: hash.hash(UInt64(right), round)) & 0x3FFF
      (left, right) = (right, left ^ mixed)
    }
    return left << 14 | right
  }
}
