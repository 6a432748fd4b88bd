internal import CSodium
package import Primitives

/// BLAKE2b (RFC 7693), keyed or not, fed piece by piece; results of 16..64 bytes.
@safe package struct BLAKE2b: ~Copyable {
  /// libsodium wants its state aligned to 64 bytes, which Swift cannot say of a stored property.
  private let state: OpaquePointer
  private let byteCount: Int

  /// Without a key.
  package init(byteCount: Int) {
    precondition((16...64).contains(byteCount))
    self.byteCount = byteCount
    unsafe state = Self.allocateState()
    unsafe crypto_generichash_init(state, nil, 0, byteCount)
  }

  /// With a key of 16..64 bytes.
  package init(byteCount: Int, key: Span<UInt8>) {
    precondition((16...64).contains(byteCount) && (16...64).contains(key.count))
    self.byteCount = byteCount
    let state = unsafe Self.allocateState()
    unsafe self.state = unsafe state
    unsafe key.withPointer { start in
      _ = unsafe crypto_generichash_init(state, start, key.count, byteCount)
    }
  }

  private static func allocateState() -> OpaquePointer {
    Sodium.initialize()
    return OpaquePointer(
      UnsafeMutableRawPointer.allocate(byteCount: crypto_generichash_statebytes(), alignment: 64))
  }

  deinit {
    let memory = unsafe UnsafeMutableRawPointer(state)
    unsafe sodium_memzero(memory, crypto_generichash_statebytes())
    unsafe memory.deallocate()
  }

  package mutating func update(_ bytes: Span<UInt8>) {
    unsafe bytes.withPointer { start in
      _ = unsafe crypto_generichash_update(state, start, UInt64(bytes.count))
    }
  }

  package mutating func update(_ text: StaticString) {
    text.withUTF8Buffer { buffer in
      guard let start = buffer.baseAddress else { return }
      _ = unsafe crypto_generichash_update(state, start, UInt64(buffer.count))
    }
  }

  /// The result of a hash made with `byteCount: 16`.
  package consuming func finalize16() -> Bytes16 {
    precondition(byteCount == Bytes16.byteCount)
    let state = unsafe state
    return unsafe Bytes16 { digest in
      unsafe crypto_generichash_final(state, digest, Bytes16.byteCount)
    }
  }

  /// The result of a hash made with `byteCount: 32`.
  package consuming func finalize32() -> Bytes32 {
    precondition(byteCount == Bytes32.byteCount)
    let state = unsafe state
    return unsafe Bytes32 { digest in
      unsafe crypto_generichash_final(state, digest, Bytes32.byteCount)
    }
  }

  /// The result, kept secret.
  package consuming func finalizeSecret() -> SecretBytes {
    let digest = SecretBytes(zeros: byteCount)
    unsafe crypto_generichash_final(state, digest.pointer, byteCount)
    return digest
  }
}

extension SecretKey {
  /// KDF(key, context, index) (docs/protocol/README.md §2): `crypto_kdf_derive_from_key`.
  ///
  /// - Parameter context: Exactly 8 ASCII letters that separate one use of the key from another.
  package borrowing func derive(_ context: StaticString, _ index: UInt64) -> SecretKey {
    precondition(context.utf8CodeUnitCount == Int(crypto_kdf_CONTEXTBYTES))
    let subkey = SecretKey()
    let (output, key) = unsafe (subkey.pointer, pointer)
    context.withUTF8Buffer { letters in
      unsafe letters.withMemoryRebound(to: CChar.self) { letters in
        guard let letters = letters.baseAddress else { return }
        _ = unsafe crypto_kdf_derive_from_key(output, Self.byteCount, index, letters, key)
      }
    }
    return subkey
  }
}
