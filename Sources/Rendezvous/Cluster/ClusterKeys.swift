import Cryptography
import Primitives
import Wire

/// What hides names, IDs, cards and bodies from the memory that nodes share: all nodes have the
/// same secret, and Redis has not (docs/protocol/cluster.md §1).
struct ClusterKeys: ~Copyable {
  private let hashing: SecretKey
  private let sealing: SecretKey

  init(_ secret: borrowing SecretKey) {
    hashing = secret.derive("EST1clus", 1)
    sealing = secret.derive("EST1clus", 2)
  }

  /// What something is called where its content must not be seen.
  enum Kind: UInt8 {
    case name = 0x6E
    case identity = 0x69
    case node = 0x6F
    case ban = 0x62
    /// Only to choose a node for it: Redis does not get it.
    case channel = 0x63
  }

  borrowing func hash(_ kind: Kind, _ bytes: [UInt8]) -> [UInt8] {
    var hash = BLAKE2b(byteCount: 16, key: hashing.span)
    hash.update([kind.rawValue].span)
    hash.update(bytes.span)
    return hash.finalize16().bytes
  }

  /// Nonce 24 · sealed bytes · tag 16, good under `place` alone.
  borrowing func seal(
    _ bytes: [UInt8], at place: [UInt8], random: inout RandomSource
  ) -> [UInt8] {
    let nonce = random.bytes(XChaChaPoly.nonceByteCount)
    do throws(CryptographyError) {
      let sealed = try XChaChaPoly.seal(
        bytes.span, associated: place.span, key: sealing, nonce: nonce.span)
      return nonce + sealed
    } catch {
      return []  // Never: a nonce of 24 bytes always fits.
    }
  }

  /// `nil` for what no node of this service sealed for `place`.
  borrowing func open(_ bytes: [UInt8], at place: [UInt8]) -> [UInt8]? {
    guard bytes.count >= XChaChaPoly.nonceByteCount else { return nil }
    let nonce = Array(bytes.prefix(XChaChaPoly.nonceByteCount))
    let sealed = Array(bytes.dropFirst(nonce.count))
    do throws(CryptographyError) {
      return try XChaChaPoly.open(
        sealed.span, associated: place.span, key: sealing, nonce: nonce.span)
    } catch {
      return nil
    }
  }
}
