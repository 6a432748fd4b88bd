internal import Cryptography
package import Primitives

/// Who may hear in a channel, as letters that people compare (docs/protocol/sframe.md §5).
///
/// The alphabet is that of a call's short code. It is longer: nobody is bound beforehand. Whoever
/// can put members of its own on two rosters may search for two that agree.
package struct RosterFingerprint: Hashable, Sendable {
  /// 120 bits: two rosters that agree take 2^60 trials.
  package static let letterCount = 24

  private let hash: Bytes32

  /// BLAKE2b-256("EST1 roster" ‖ channel ‖ for each member, by uid: uid ‖ ID).
  package init(channel: Bytes32, members: [VerifiedMember]) {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(36 * members.count)
    for member in members.sorted(by: { $0.uid < $1.uid }) {
      bytes.append(littleEndian: member.uid)
      member.id.write(to: &bytes)
    }
    var hash = BLAKE2b(byteCount: 32)
    hash.update("EST1 roster")
    hash.update(channel.span)
    hash.update(bytes.span)
    self.hash = hash.finalize32()
  }

  /// Six groups of four letters of z-base-32.
  package var text: String {
    let letters = Array(ZBase32.encode(Array(hash.bytes.prefix(15))))
    return stride(from: 0, to: Self.letterCount, by: 4)
      .map { String(letters[$0..<($0 + 4)]) }.joined(separator: " ")
  }

  /// The first 16 bytes.
  var digest: Bytes16 {
    Bytes16(InlineArray { index in hash.storage[index] })
  }
}
