import Primitives
import Wire

/// From a key to a slot number: open addressing, 4 bytes an entry, at most three quarters full.
///
/// The table holds no keys: it reads them in the slab (that memory is needed next anyway). Keys are
/// spread already: our own random connection IDs, or IDs hashed with a secret.
struct SlotTable {
  /// What of a record is the key.
  enum Key { case connection, id(KeyedHash) }

  private let key: Key
  /// Slot + 1; 0 is empty. The count is a power of two.
  private var entries: [UInt32]
  private(set) var count = 0

  init(_ key: Key) {
    self.key = key
    entries = Array(repeating: 0, count: 64)
  }

  @inline(__always)
  func find(_ connection: ConnectionID, in slab: borrowing ClientSlab) -> UInt32? {
    let mask = entries.count &- 1
    var index = Int(connection.rawValue) & mask
    while entries[index] != 0 {
      let slot = entries[index] &- 1
      if slab[slot].local == connection { return slot }
      index = (index &+ 1) & mask
    }
    return nil
  }

  func find(_ id: PeerID, in slab: borrowing ClientSlab) -> UInt32? {
    guard case .id(let hash) = key else { return nil }
    let mask = entries.count &- 1
    var index = Int(hash.hash32(id)) & mask
    while entries[index] != 0 {
      let slot = entries[index] &- 1
      if slab[slot].id == id { return slot }
      index = (index &+ 1) & mask
    }
    return nil
  }

  /// Whether one of the slots with this ID is as `condition` asks.
  func contains(
    _ id: PeerID, in slab: borrowing ClientSlab, where condition: (UInt32) -> Bool
  ) -> Bool {
    guard case .id(let hash) = key else { return false }
    let mask = entries.count &- 1
    var index = Int(hash.hash32(id)) & mask
    while entries[index] != 0 {
      let slot = entries[index] &- 1
      if slab[slot].id == id, condition(slot) { return true }
      index = (index &+ 1) & mask
    }
    return false
  }

  /// All slots with this ID: at most `ServerLimits.presencesPerIdentity`.
  func findAll(_ id: PeerID, in slab: borrowing ClientSlab) -> [UInt32] {
    guard case .id(let hash) = key else { return [] }
    let mask = entries.count &- 1
    var index = Int(hash.hash32(id)) & mask
    var found: [UInt32] = []
    while entries[index] != 0 {
      let slot = entries[index] &- 1
      if slab[slot].id == id { found.append(slot) }
      index = (index &+ 1) & mask
    }
    return found
  }

  /// Adds a slot that is not in the table.
  mutating func insert(_ slot: UInt32, in slab: borrowing ClientSlab) {
    if (count &+ 1) &* 4 > entries.count &* 3 {
      let old = entries
      entries = Array(repeating: 0, count: old.count * 2)
      for entry in old where entry != 0 { place(entry &- 1, in: slab) }
    }
    place(slot, in: slab)
    count &+= 1
  }

  /// Takes a slot out, and moves those up that had to step aside for it.
  mutating func remove(_ slot: UInt32, in slab: borrowing ClientSlab) {
    let mask = entries.count &- 1
    var hole = home(of: slot, in: slab) & mask
    while entries[hole] != slot &+ 1 {
      if entries[hole] == 0 { return }
      hole = (hole &+ 1) & mask
    }
    var index = hole
    while true {
      index = (index &+ 1) & mask
      let entry = entries[index]
      if entry == 0 { break }
      let home = home(of: entry &- 1, in: slab) & mask
      // Whether the hole lies on the entry's way from its home.
      if (index &- home) & mask >= (index &- hole) & mask {
        entries[hole] = entry
        hole = index
      }
    }
    entries[hole] = 0
    count &-= 1
  }

  private mutating func place(_ slot: UInt32, in slab: borrowing ClientSlab) {
    let mask = entries.count &- 1
    var index = home(of: slot, in: slab) & mask
    while entries[index] != 0 { index = (index &+ 1) & mask }
    entries[index] = slot &+ 1
  }

  private func home(of slot: UInt32, in slab: borrowing ClientSlab) -> Int {
    switch key {
    case .connection: Int(slab[slot].local.rawValue)
    case .id(let hash): Int(hash.hash32(slab[slot].id))
    }
  }
}

/// Spreads values that others chose, with a secret, so that nobody can make them meet in a table.
struct KeyedHash: Sendable {
  private let key0: UInt64
  private let key1: UInt64

  init(key0: UInt64, key1: UInt64) {
    self.key0 = key0 | 1
    self.key1 = key1 | 1
  }

  func hash(_ a: UInt64, _ b: UInt64 = 0) -> UInt64 {
    // Folded 128-bit products, as in wyhash (Wang Yi, public domain).
    let first = Self.fold(a ^ key0, b ^ key1)
    return Self.fold(first ^ key1, key0)
  }

  func hash32(_ id: PeerID) -> UInt32 {
    UInt32(truncatingIfNeeded: hash(id.word0 ^ id.word2, id.word1 ^ id.word3))
  }

  private static func fold(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let (high, low) = a.multipliedFullWidth(by: b)
    return high ^ low
  }
}
