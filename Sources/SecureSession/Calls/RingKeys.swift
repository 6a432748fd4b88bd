package import Cryptography
package import Primitives
package import Wire

/// Everything that is made from `ck`, the secret inside INVITE (docs/protocol/calling.md §2, §4):
/// MACs of signalling bodies, ring details, and the packets of path checks before the session
/// stands. Both sides have it while the phone rings; it seals no media.
package struct RingKeys: ~Copyable {
  package enum Side: UInt8, Sendable {
    case caller = 0
    case callee = 1
  }

  package let side: Side
  private let macKey: SecretKey
  private let detailsKey: SecretKey
  private var pathKeys: PathKeys?

  package init(secret ck: borrowing SecretKey, side: Side) {
    self.side = side
    macKey = ck.derive("EST1ring", 1)
    detailsKey = ck.derive("EST1ring", 6)
    pathKeys = PathKeys(ck, side: side)
  }

  /// The MAC of a signalling body: BLAKE2b-128(mk, direction 1 ‖ all bytes of the body before it).
  package func mac(from sender: Side, over body: Span<UInt8>) -> Bytes16 {
    SignallingMAC.make(key: macKey, from: sender, over: body)
  }

  /// Seals the details of RINGING; `head` is the body before the nonce.
  package func sealDetails(
    _ details: Span<UInt8>, head: Span<UInt8>, nonce: Span<UInt8>
  ) throws(CryptographyError) -> [UInt8] {
    try XChaChaPoly.seal(details, associated: head, key: detailsKey, nonce: nonce)
  }

  package func openDetails(
    _ sealed: Span<UInt8>, head: Span<UInt8>, nonce: Span<UInt8>
  ) throws(CryptographyError) -> [UInt8] {
    try XChaChaPoly.open(sealed, associated: head, key: detailsKey, nonce: nonce)
  }

  /// The association that path checks use; `nil` the second time, because its numbers start at 0
  /// and no number is ever used twice under one key.
  package mutating func pathChecks(local: ConnectionID, remote: ConnectionID) -> RingSession? {
    guard let keys = pathKeys.take() else { return nil }
    return RingSession(keys, local: local, remote: remote)
  }
}

/// The keys of path checks, by the direction in which one side uses them.
struct PathKeys: ~Copyable {
  let send: PacketCipher
  let receive: PacketCipher

  init(_ ck: borrowing SecretKey, side: RingKeys.Side) {
    let forward = PacketCipher(aead: ck.derive("EST1ring", 2), header: ck.derive("EST1ring", 3))
    let backward = PacketCipher(aead: ck.derive("EST1ring", 4), header: ck.derive("EST1ring", 5))
    switch side {
    case .caller:
      send = forward
      receive = backward
    case .callee:
      send = backward
      receive = forward
    }
  }
}
