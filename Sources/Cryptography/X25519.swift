internal import CSodium
package import Primitives

/// Diffie-Hellman on Curve25519 (RFC 7748).
package enum X25519 {
  /// The public key that belongs to `privateKey`.
  package static func publicKey(of privateKey: borrowing SecretKey) -> Bytes32 {
    let scalar = unsafe privateKey.pointer
    return unsafe Bytes32 { point in unsafe crypto_scalarmult_base(point, scalar) }
  }

  /// The shared secret. An all-zero one is refused (RFC 7748 §6.1): the handshake has failed.
  package static func agree(
    _ privateKey: borrowing SecretKey, with publicKey: Bytes32
  ) throws(CryptographyError) -> SecretKey {
    let result = SecretKey()
    let (output, scalar) = unsafe (result.pointer, privateKey.pointer)
    let status = unsafe publicKey.span.withPointer { point in
      unsafe crypto_scalarmult(output, scalar, point)
    }
    guard status == 0 else { throw .lowOrderPoint }
    return result
  }

  /// Whether a public key may stand on a contact card (docs/protocol/README.md §4): false for the
  /// points that give an all-zero result with every private key.
  package static func isUsable(_ publicKey: Bytes32) -> Bool {
    var scalar = RandomSource(seed: 1)
    do throws(CryptographyError) {
      _ = try agree(SecretKey(random: &scalar), with: publicKey)
      return true
    } catch {
      return false
    }
  }
}

extension X25519 {
  /// A private key with its public key beside it, which would cost 70 µs to compute again.
  package struct KeyPair: ~Copyable, Sendable {
    package let privateKey: SecretKey
    package let publicKey: Bytes32

    package init(privateKey: consuming SecretKey) {
      publicKey = X25519.publicKey(of: privateKey)
      self.privateKey = privateKey
    }

    package init(random: inout RandomSource) {
      self.init(privateKey: SecretKey(random: &random))
    }

    private init(privateKey: consuming SecretKey, publicKey: Bytes32) {
      self.privateKey = privateKey
      self.publicKey = publicKey
    }

    package borrowing func clone() -> KeyPair {
      KeyPair(privateKey: privateKey.clone(), publicKey: publicKey)
    }
  }
}
