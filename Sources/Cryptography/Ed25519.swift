internal import CSodium
package import Primitives

/// Signatures of identities (RFC 8032).
package enum Ed25519 {
  package static let signatureByteCount = 64

  /// The private side of an identity: a seed of 32 bytes and the public key that it gives.
  package struct PrivateKey: ~Copyable, Sendable {
    package let publicKey: Bytes32
    /// libsodium's form: the seed, then the public key.
    private let expanded: SecretBytes

    package init(seed: borrowing SecretKey) {
      let expanded = SecretBytes(zeros: Int(crypto_sign_SECRETKEYBYTES))
      let (output, seed) = unsafe (expanded.pointer, seed.pointer)
      publicKey = unsafe Bytes32 { publicKey in
        unsafe crypto_sign_seed_keypair(publicKey, output, seed)
      }
      self.expanded = expanded
    }

    /// The seed, to be stored.
    package var seed: Span<UInt8> {
      @_lifetime(borrow self)
      borrowing get { expanded.span.extracting(0..<SecretKey.byteCount) }
    }

    /// The 64 bytes of the signature over `message`.
    package func sign(_ message: Span<UInt8>) -> [UInt8] {
      var signature = [UInt8](repeating: 0, count: Ed25519.signatureByteCount)
      let key = unsafe expanded.pointer
      unsafe message.withPointer { start in
        _ = unsafe crypto_sign_detached(&signature, nil, start, UInt64(message.count), key)
      }
      return signature
    }
  }

  /// Whether `signature` over `message` is by `publicKey`; strict, as libsodium is.
  package static func isValid(
    _ signature: Span<UInt8>, over message: Span<UInt8>, by publicKey: Bytes32
  ) -> Bool {
    guard signature.count == signatureByteCount else { return false }
    Sodium.initialize()
    return unsafe signature.withPointer { signature in
      unsafe message.withPointer { start in
        unsafe publicKey.span.withPointer { publicKey in
          unsafe crypto_sign_verify_detached(signature, start, UInt64(message.count), publicKey)
            == 0
        }
      }
    }
  }
}
