internal import CSodium
package import Primitives

/// SHA-256 (FIPS 180-4), fed piece by piece.
package struct SHA256: ~Copyable {
  private var state = crypto_hash_sha256_state()

  package init() {
    Sodium.initialize()
    unsafe crypto_hash_sha256_init(&state)
  }

  package mutating func update(_ bytes: Span<UInt8>) {
    unsafe bytes.withPointer { start in
      _ = unsafe crypto_hash_sha256_update(&state, start, UInt64(bytes.count))
    }
  }

  /// The digest; libsodium wipes the state.
  package consuming func finalize() -> Bytes32 {
    unsafe Bytes32 { digest in unsafe crypto_hash_sha256_final(&state, digest) }
  }

  package static func hash(_ bytes: Span<UInt8>) -> Bytes32 {
    var hash = SHA256()
    hash.update(bytes)
    return hash.finalize()
  }
}

/// HMAC-SHA256 (RFC 2104) with a key of any length, fed piece by piece.
package struct HMACSHA256: ~Copyable {
  private var state = crypto_auth_hmacsha256_state()

  package init(key: Span<UInt8>) {
    Sodium.initialize()
    unsafe key.withPointer { start in
      _ = unsafe crypto_auth_hmacsha256_init(&state, start, key.count)
    }
  }

  package mutating func update(_ bytes: Span<UInt8>) {
    unsafe bytes.withPointer { start in
      _ = unsafe crypto_auth_hmacsha256_update(&state, start, UInt64(bytes.count))
    }
  }

  package mutating func update(_ byte: UInt8) {
    unsafe withUnsafePointer(to: byte) { pointer in
      _ = unsafe crypto_auth_hmacsha256_update(&state, pointer, 1)
    }
  }

  /// Writes the 32 bytes of the result over `output` from `start` on; libsodium wipes the state.
  package consuming func finalize(into output: inout SecretBytes, from start: Int) {
    precondition(start >= 0 && start + 32 <= output.count)
    unsafe crypto_auth_hmacsha256_final(&state, output.pointer + start)
  }

  package consuming func finalize() -> Bytes32 {
    unsafe Bytes32 { digest in unsafe crypto_auth_hmacsha256_final(&state, digest) }
  }
}

/// HKDF with SHA-256 (RFC 5869).
package enum HKDFSHA256 {
  /// Extract, then expand to `count` bytes; at most 255 × 32 (RFC 5869 §2.3).
  package static func derive(
    secret: Span<UInt8>, salt: Span<UInt8>, context: Span<UInt8>, count: Int
  ) throws(CryptographyError) -> SecretBytes {
    guard (0...(255 * 32)).contains(count) else { throw .wrongLength }
    var pseudorandomKey = SecretBytes(zeros: 32)
    var extract = HMACSHA256(key: salt)
    extract.update(secret)
    extract.finalize(into: &pseudorandomKey, from: 0)

    let blockCount = (count + 31) / 32
    var blocks = SecretBytes(zeros: 32 * blockCount)
    for index in 0..<blockCount {
      var expand = HMACSHA256(key: pseudorandomKey.span)
      if index > 0 { expand.update(blocks.span.extracting((32 * (index - 1))..<(32 * index))) }
      expand.update(context)
      expand.update(UInt8(truncatingIfNeeded: index + 1))
      expand.finalize(into: &blocks, from: 32 * index)
    }
    return SecretBytes(copying: blocks.span.extracting(0..<count))
  }

  /// Noise's HKDF (rev. 34 §4.3): `outputCount` (2 or 3) keys of 32 bytes, one after the other.
  package static func noise(
    chainingKey: borrowing SecretKey, input: Span<UInt8>, outputCount: Int
  ) -> SecretBytes {
    precondition((2...3).contains(outputCount))
    var temporaryKey = SecretBytes(zeros: 32)
    var extract = HMACSHA256(key: chainingKey.span)
    extract.update(input)
    extract.finalize(into: &temporaryKey, from: 0)

    var outputs = SecretBytes(zeros: 32 * outputCount)
    for index in 0..<outputCount {
      var expand = HMACSHA256(key: temporaryKey.span)
      if index > 0 { expand.update(outputs.span.extracting((32 * (index - 1))..<(32 * index))) }
      expand.update(UInt8(truncatingIfNeeded: index + 1))
      expand.finalize(into: &outputs, from: 32 * index)
    }
    return outputs
  }
}
