/// Where chance comes from: a value that is handed to whoever needs it, never a global.
///
/// Programs pass `.system`; simulations pass a seed, which reproduces the run to the byte; tests of
/// published vectors replay the bytes that the vector prescribes.
package struct RandomSource: RandomNumberGenerator, Sendable {
  private enum Kind: Sendable {
    case system
    case seeded(s0: UInt64, s1: UInt64, s2: UInt64, s3: UInt64)
    case replaying([UInt8], position: Int)
  }

  private var kind: Kind

  /// The kernel's generator: the only one a program ever passes.
  package static var system: RandomSource { RandomSource(kind: .system) }

  /// Not for keys: a generator (xoshiro256**, Blackman and Vigna 2018) that `seed` determines.
  package init(seed: UInt64) {
    var state = seed
    func next() -> UInt64 {  // SplitMix64, the authors' advice for seeding
      state &+= 0x9E37_79B9_7F4A_7C15
      var mixed = state
      mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
      return mixed ^ (mixed >> 31)
    }
    kind = .seeded(s0: next(), s1: next(), s2: next(), s3: next())
  }

  /// Gives out exactly `bytes`, then zeros.
  package init(replaying bytes: [UInt8]) { kind = .replaying(bytes, position: 0) }

  private init(kind: Kind) { self.kind = kind }

  package mutating func next() -> UInt64 {
    switch kind {
    case .system:
      var generator = SystemRandomNumberGenerator()
      return generator.next()
    case .seeded(let s0, let s1, var s2, var s3):
      let product = s1 &* 5
      let result = (product << 7 | product >> 57) &* 9
      s2 ^= s0
      s3 ^= s1
      kind = .seeded(
        s0: s0 ^ s3, s1: s1 ^ s2, s2: s2 ^ (s1 << 17), s3: s3 << 45 | s3 >> 19)
      return result
    case .replaying(let bytes, let position):
      var value: UInt64 = 0
      for index in 0..<8 where position + index < bytes.count {
        value |= UInt64(bytes[position + index]) << UInt64(8 * index)
      }
      kind = .replaying(bytes, position: position + 8)
      return value
    }
  }

  /// A generator of its own for another part, so that a new draw in one part does not reshuffle
  /// the others. The system's generator splits into itself.
  package mutating func split() -> RandomSource {
    if case .system = kind { return self }
    return RandomSource(seed: next())
  }

  /// `count` random bytes.
  package mutating func bytes(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      let word = next()
      for index in 0..<min(8, count - bytes.count) {
        bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(8 * index)))
      }
    }
    return bytes
  }

  /// Uniform in `0..<1`.
  package mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
