package import Cryptography
package import Primitives

/// Six letters that two people read to each other to know that nobody is between them
/// (docs/protocol/calling.md §5). The caller is bound to its number r_A before it knows r_B, so an
/// attacker has one guess in 2^30.
package enum ShortCode {
  package static let letterCount = 6

  /// What the caller promises in INVITE: BLAKE2b-256("EST1 sas" ‖ r_A).
  package static func commitment(to callerNumber: Bytes32) -> Bytes32 {
    var hash = BLAKE2b(byteCount: 32)
    hash.update("EST1 sas")
    hash.update(callerNumber.span)
    return hash.finalize32()
  }

  /// The first 30 bits of `digest` in z-base-32.
  ///
  /// - Parameter key: `export(.shortCode)` of the call's first epoch.
  package static func letters(
    key: borrowing SecretKey, callerNumber: Bytes32, calleeNumber: Bytes16, caller: PeerID,
    callee: PeerID
  ) -> String {
    let digest = digest(
      key: key, callerNumber: callerNumber, calleeNumber: calleeNumber, caller: caller,
      callee: callee)
    return String(ZBase32.encode(Array(digest.bytes.prefix(4))).prefix(letterCount))
  }

  /// BLAKE2b-256(exporter("sas"), r_A ‖ r_B ‖ caller ‖ callee).
  package static func digest(
    key: borrowing SecretKey, callerNumber: Bytes32, calleeNumber: Bytes16, caller: PeerID,
    callee: PeerID
  ) -> Bytes32 {
    var hash = BLAKE2b(byteCount: 32, key: key.span)
    hash.update(callerNumber.span)
    hash.update(calleeNumber.span)
    hash.update(Bytes32(caller).span)
    hash.update(Bytes32(callee).span)
    return hash.finalize32()
  }
}
