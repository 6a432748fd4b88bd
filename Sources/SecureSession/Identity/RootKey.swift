internal import Cryptography
package import Primitives

/// The key that signs the list of nodes of one service: kept off line, pinned by clients
/// (docs/protocol/cluster.md §7).
package struct RootKey: ~Copyable, Sendable {
  private static let header = "earshot-root."

  private let key: Ed25519.PrivateKey

  package init(random: inout RandomSource) {
    key = Ed25519.PrivateKey(seed: SecretKey(random: &random))
  }

  /// `nil` unless `text` is a key whose public half belongs to the other one.
  package init?(_ text: String) {
    guard text.hasPrefix(Self.header),
      var bytes = Base64URL.decode(String(text.dropFirst(Self.header.count)))
    else { return nil }
    defer { Secret.wipe(&bytes) }
    guard bytes.count == 64,
      let seed = SecretKey(copying: bytes.span.extracting(0..<SecretKey.byteCount))
    else { return nil }
    let key = Ed25519.PrivateKey(seed: seed)
    guard key.publicKey.bytes == Array(bytes[32...]) else { return nil }
    self.key = key
  }

  /// What clients pin.
  package var id: PeerID { PeerID(key.publicKey) }

  /// The key itself, for a file that only its owner may read.
  package borrowing func secretText() -> String {
    var bytes: [UInt8] = []
    let seed = key.seed
    for index in 0..<seed.count { bytes.append(seed[index]) }
    return Self.header + Base64URL.encode(bytes + key.publicKey.bytes)
  }

  func sign(_ message: Span<UInt8>) -> [UInt8] { key.sign(message) }
}
