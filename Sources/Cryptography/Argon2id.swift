internal import CSodium

/// Keys from passphrases (Argon2id, RFC 9106, version 1.3, one lane).
package enum Argon2id {
  package static let saltByteCount = 16

  /// What one key costs whoever makes it, or guesses.
  package struct Cost: Equatable, Sendable {
    /// Passes over the memory: 1...16.
    package let passes: Int
    /// 8...1048576, in KiB.
    package let memoryKiB: Int

    /// `nil` outside the ranges: a file of a stranger may not ask for more.
    package init?(passes: Int, memoryKiB: Int) {
      guard (1...16).contains(passes), (8...1_048_576).contains(memoryKiB) else { return nil }
      self.init(passes, memoryKiB)
    }

    private init(_ passes: Int, _ memoryKiB: Int) {
      self.passes = passes
      self.memoryKiB = memoryKiB
    }

    /// libsodium's `MODERATE`: 256 MiB, about 0.7 s.
    package static let usual = Cost(3, 262_144)
  }

  /// The key of a passphrase; `nil` where the memory is not to be had, or `salt` has no 16 bytes.
  package static func key(
    passphrase: Span<UInt8>, salt: Span<UInt8>, cost: Cost
  ) -> SecretKey? {
    guard salt.count == saltByteCount else { return nil }
    Sodium.initialize()
    let secret = SecretBytes(zeros: SecretKey.byteCount)
    let status = unsafe passphrase.withUnsafeBytes { words -> Int32 in
      let start = unsafe words.baseAddress?.assumingMemoryBound(to: CChar.self)
      guard let start = unsafe start else { return -1 }
      return unsafe salt.withPointer { salt in
        unsafe crypto_pwhash(
          secret.pointer, UInt64(SecretKey.byteCount), start, UInt64(words.count), salt,
          UInt64(cost.passes), cost.memoryKiB * 1024, crypto_pwhash_ALG_ARGON2ID13)
      }
    }
    return status == 0 ? SecretKey(secret, from: 0) : nil
  }
}
