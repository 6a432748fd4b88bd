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
  private var detailsKey: SecretKey
  private var pathSecret: SecretKey
  /// Only `macKey` is left.
  private var isCallOver = false
  /// The programs of the callee that have path keys.
  private var handedOut: [Ringing] = []

  /// A program of the callee that rings, or its own.
  private struct Ringing: Equatable {
    let presence: PresenceID
    let connection: ConnectionID
  }

  /// Programs of one callee that a path is sought to at once.
  package static let programLimit = 8

  package init(secret ck: borrowing SecretKey, side: Side) {
    self.side = side
    macKey = ck.derive("EST1ring", 1)
    detailsKey = ck.derive("EST1ring", 6)
    pathSecret = ck.derive("EST1ring", 2)
  }

  /// The call is over: what would seal or open anything but MACs goes. MACs stay for bodies that
  /// are repeated.
  package mutating func eraseAllButMAC() {
    isCallOver = true
    detailsKey = SecretKey()
    pathSecret = SecretKey()
  }

  /// The MAC of a signalling body: BLAKE2b-128(mk, direction 1 ‖ all bytes of the body before it).
  package func mac(from sender: Side, over body: Span<UInt8>) -> Bytes16 {
    SignallingMAC.make(key: macKey, from: sender, over: body)
  }

  /// Seals the details of RINGING; `head` is the body before the nonce.
  package func sealDetails(
    _ details: Span<UInt8>, head: Span<UInt8>, nonce: Span<UInt8>
  ) throws(CryptographyError) -> [UInt8] {
    guard !isCallOver else { throw .notAuthentic }
    return try XChaChaPoly.seal(details, associated: head, key: detailsKey, nonce: nonce)
  }

  package func openDetails(
    _ sealed: Span<UInt8>, head: Span<UInt8>, nonce: Span<UInt8>
  ) throws(CryptographyError) -> [UInt8] {
    guard !isCallOver else { throw .notAuthentic }
    return try XChaChaPoly.open(sealed, associated: head, key: detailsKey, nonce: nonce)
  }

  /// The association that path checks with one program of the callee use; `nil` the second time,
  /// because its numbers start at 0 and no number is ever used twice under one key. At the callee
  /// once, at the caller for `programLimit` programs.
  ///
  /// - Parameter presence: The callee's program: all of them have this secret, so the keys are
  ///   bound to the program and to its ring connection ID.
  package mutating func pathChecks(
    local: ConnectionID, remote: ConnectionID, presence: PresenceID
  ) -> RingSession? {
    let ringing = Ringing(presence: presence, connection: side == .caller ? remote : local)
    let limit = side == .caller ? Self.programLimit : 1
    guard !isCallOver, handedOut.count < limit, !handedOut.contains(ringing) else { return nil }
    handedOut.append(ringing)
    var hash = BLAKE2b(byteCount: 32, key: pathSecret.span)
    var bytes: [UInt8] = []
    presence.write(to: &bytes)
    ringing.connection.write(to: &bytes)
    hash.update(bytes.span)
    let secret = SecretKey(hash.finalizeSecret(), from: 0)
    return RingSession(PathKeys(secret, side: side), local: local, remote: remote)
  }
}

/// The keys of path checks, by the direction in which one side uses them.
struct PathKeys: ~Copyable {
  let send: PacketCipher
  let receive: PacketCipher

  init(_ secret: borrowing SecretKey, side: RingKeys.Side) {
    let forward = PacketCipher(
      aead: secret.derive("EST1path", 1), header: secret.derive("EST1path", 2))
    let backward = PacketCipher(
      aead: secret.derive("EST1path", 3), header: secret.derive("EST1path", 4))
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
