/// From a key to a slot number: open addressing, 4 bytes an entry, at most three quarters full.
///
/// The table holds no keys: whoever asks compares the slot's own (that memory is needed next
/// anyway). Keys must be spread already: our own random numbers, or hashed with a secret.
struct SlotTable {
  /// Slot + 1; 0 is empty. The count is a power of two.
  private var entries: [UInt32]
  private(set) var count = 0

  init() { entries = Array(repeating: 0, count: 64) }

  /// The slot of a key with `hash` for which `isMatch` holds.
  @inline(__always)
  func find(_ hash: UInt32, where isMatch: (UInt32) -> Bool) -> UInt32? {
    let mask = entries.count &- 1
    var index = Int(hash) & mask
    while true {
      let entry = entries[index]
      if entry == 0 { return nil }
      if isMatch(entry &- 1) { return entry &- 1 }
      index = (index &+ 1) & mask
    }
  }

  /// Adds a slot whose key is not in the table. `hashOf` gives the hash of any slot in it.
  mutating func insert(_ slot: UInt32, _ hash: UInt32, hashOf: (UInt32) -> UInt32) {
    if (count &+ 1) &* 4 > entries.count &* 3 { grow(hashOf) }
    place(slot, hash)
    count &+= 1
  }

  /// Takes a slot out, and moves those up that had to step aside for it.
  mutating func remove(_ slot: UInt32, _ hash: UInt32, hashOf: (UInt32) -> UInt32) {
    let mask = entries.count &- 1
    var hole = Int(hash) & mask
    while entries[hole] != slot &+ 1 {
      if entries[hole] == 0 { return }
      hole = (hole &+ 1) & mask
    }
    var index = hole
    while true {
      index = (index &+ 1) & mask
      let entry = entries[index]
      if entry == 0 { break }
      let home = Int(hashOf(entry &- 1)) & mask
      // Whether the hole lies on the entry's way from its home.
      if (index &- home) & mask >= (index &- hole) & mask {
        entries[hole] = entry
        hole = index
      }
    }
    entries[hole] = 0
    count &-= 1
  }

  private mutating func place(_ slot: UInt32, _ hash: UInt32) {
    let mask = entries.count &- 1
    var index = Int(hash) & mask
    while entries[index] != 0 { index = (index &+ 1) & mask }
    entries[index] = slot &+ 1
  }

  private mutating func grow(_ hashOf: (UInt32) -> UInt32) {
    let old = entries
    entries = Array(repeating: 0, count: old.count * 2)
    for entry in old where entry != 0 { place(entry &- 1, hashOf(entry &- 1)) }
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

  private static func fold(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let (high, low) = a.multipliedFullWidth(by: b)
    return high ^ low
  }
}
