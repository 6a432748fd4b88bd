import Cryptography
package import Primitives
package import Wire

extension AudienceMark {
  /// The mark of `peer` in the audience of `owner` (docs/protocol/rendezvous.md §6).
  package init(of peer: PeerID, for owner: PeerID) {
    var hash = BLAKE2b(byteCount: 16, key: owner.bytes.span)
    hash.update("EST1audi")
    hash.update(peer.bytes.span)
    let digest = hash.finalize16().bytes
    self.init(rawValue: (0..<8).reduce(0) { $0 | UInt64(digest[$1]) << UInt64(8 * $1) })
  }
}
