package import Cryptography
import Primitives
import Wire

/// By what nodes see that they have one secret.
package enum ServiceMark {
  /// Says nothing of the secret to whoever does not have it.
  package static func bytes(of secret: borrowing SecretKey) -> [UInt8] {
    ClusterKeys(secret).hash(.service, [])
  }
}

/// What hides names, IDs, cards and bodies from the memory that nodes share: all nodes have the
/// same secret, and Redis has not (docs/protocol/cluster.md §1).
struct ClusterKeys: ~Copyable {
  private let hashing: SecretKey
  private let sealing: SecretKey
  private let receipts: SecretKey

  init(_ secret: borrowing SecretKey) {
    hashing = secret.derive("EST1clus", 1)
    sealing = secret.derive("EST1clus", 2)
    receipts = secret.derive("EST1clus", 3)
  }

  /// What something is called where its content must not be seen.
  enum Kind: UInt8 {
    case name = 0x6E
    case identity = 0x69
    case node = 0x6F
    case ban = 0x62
    /// Only to choose a node for it: Redis does not get it.
    case channel = 0x63
    case service = 0x73
  }

  borrowing func hash(_ kind: Kind, _ bytes: [UInt8]) -> [UInt8] {
    var hash = BLAKE2b(byteCount: 16, key: hashing.span)
    hash.update([kind.rawValue].span)
    hash.update(bytes.span)
    return hash.finalize16().bytes
  }

  /// Nonce 24 · sealed bytes · tag 16, good under `place` alone.
  ///
  /// - Parameter mark: What all may read: the first 9 bytes of the nonce. 15 random ones follow.
  borrowing func seal(
    _ bytes: [UInt8], at place: [UInt8], mark: NonceMark? = nil, random: inout RandomSource
  ) -> [UInt8] {
    let head = mark?.bytes ?? []
    let nonce = head + random.bytes(XChaChaPoly.nonceByteCount - head.count)
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

  // MARK: - Receipts

  borrowing func mac(of name: PeerName, _ id: PeerID, _ rank: NameRank, _ issued: UInt64) -> Bytes16
  {
    var hash = BLAKE2b(byteCount: 16, key: receipts.span)
    hash.update(NameReceipt.head(rank, issued).span)
    hash.update(id.bytes.span)
    hash.update(name.bytes.span)
    return hash.finalize16()
  }

  borrowing func receipt(
    for name: PeerName, of id: PeerID, _ rank: NameRank, issued: UInt64
  ) -> NameReceipt {
    NameReceipt(rank: rank, issued: issued, mac: mac(of: name, id, rank, issued))
  }

  /// `nil` for what no node of this service has made for that name and identity.
  borrowing func read(_ receipt: OpaqueReceipt, for name: PeerName, of id: PeerID) -> NameReceipt? {
    do throws(WireError) {
      let read = try NameReceipt(parsing: receipt.bytes.span)
      let mac = mac(of: name, id, read.rank, read.issued)
      return Secret.areEqual(read.mac.span, mac.span) ? read : nil
    } catch {
      return nil
    }
  }
}

/// What stands in front of a sealed value for the scripts, which cannot open it. It is part of the
/// nonce: nobody can change it, and nodes of a version before take it for a nonce like any other.
enum NonceMark: Equatable {
  /// Since when the name is its owner's.
  case rank(NameRank)
  /// When the operator freed the name, in seconds since 1970.
  case freed(UInt64)

  var bytes: [UInt8] {
    switch self {
    case .rank(let rank): Self.rankLabel + NameReceipt.fiveBytes(rank.rawValue)
    case .freed(let seconds): Self.freedLabel + NameReceipt.fiveBytes(seconds)
    }
  }

  /// - Parameter sealed: A value that opens. Of one without a mark the label is there by chance
  ///   once in 2^32.
  init?(of sealed: [UInt8]) {
    guard sealed.count >= 9 else { return nil }
    let number = NameReceipt.number(Array(sealed[4..<9]))
    switch Array(sealed.prefix(4)) {
    case Self.rankLabel: self = .rank(NameRank(rawValue: number))
    case Self.freedLabel: self = .freed(number)
    default: return nil
    }
  }

  private static let rankLabel = Array("ENR1".utf8)
  private static let freedLabel = Array("ENF1".utf8)
}
