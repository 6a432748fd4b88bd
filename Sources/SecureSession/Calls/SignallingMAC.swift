package import Cryptography
package import Primitives

/// MACs of signalling bodies (docs/protocol/calling.md §2).
package enum SignallingMAC {
  /// BLAKE2b-128(key, direction 1 ‖ all bytes of the body before the MAC).
  package static func make(
    key: borrowing SecretKey, from sender: RingKeys.Side, over body: Span<UInt8>
  ) -> Bytes16 {
    var hash = BLAKE2b(byteCount: 16, key: key.span)
    let direction = [sender.rawValue]
    hash.update(direction.span)
    hash.update(body)
    return hash.finalize16()
  }
}
