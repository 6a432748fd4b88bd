internal import Cryptography
package import Primitives

/// The key that tokens are signed with. As text it is a PASERK `k4.secret.`: base64url of the
/// seed and the public key.
package struct TokenSigningKey: ~Copyable, Sendable {
  private static let header = "k4.secret."

  private let key: Ed25519.PrivateKey

  package init(random: inout RandomSource) {
    key = Ed25519.PrivateKey(seed: SecretKey(random: &random))
  }

  /// `nil` unless `text` is a key whose public half belongs to the other one.
  package init?(_ text: String) {
    guard text.hasPrefix(Self.header),
      let bytes = Base64URL.decode(String(text.dropFirst(Self.header.count))), bytes.count == 64
    else { return nil }
    let secret = Array(bytes[..<32])
    guard let seed = SecretKey(copying: secret.span) else { return nil }
    let key = Ed25519.PrivateKey(seed: seed)
    guard key.publicKey.bytes == Array(bytes[32...]) else { return nil }
    self.key = key
  }

  package var publicKey: TokenPublicKey { TokenPublicKey(bytes: key.publicKey) }

  /// The key itself, for a file that only its owner may read.
  package borrowing func secretText() -> String {
    var bytes: [UInt8] = []
    let seed = key.seed
    for index in 0..<seed.count { bytes.append(seed[index]) }
    return Self.header + Base64URL.encode(bytes + key.publicKey.bytes)
  }

  func sign(_ message: Span<UInt8>) -> [UInt8] { key.sign(message) }
}

/// The public half: whoever has it can check tokens and sign none. As text it is a PASERK
/// `k4.public.`.
package struct TokenPublicKey: Hashable, Sendable {
  private static let header = "k4.public."
  private static let idHeader = "k4.pid."

  package let bytes: Bytes32

  package init(bytes: Bytes32) { self.bytes = bytes }

  /// `nil` unless `text` is a public key of version 4.
  package init?(_ text: String) {
    guard text.hasPrefix(Self.header),
      let bytes = Base64URL.decode(String(text.dropFirst(Self.header.count))),
      let key = Bytes32(bytes)
    else { return nil }
    self.bytes = key
  }

  package var text: String { Self.header + Base64URL.encode(bytes.bytes) }

  /// What the key is called, `k4.pid.`: a hash of 33 bytes.
  package var id: String {
    var hash = BLAKE2b(byteCount: 33)
    hash.update(Array((Self.idHeader + text).utf8).span)
    let digest = hash.finalizeSecret()
    var bytes: [UInt8] = []
    for index in 0..<digest.span.count { bytes.append(digest.span[index]) }
    return Self.idHeader + Base64URL.encode(bytes)
  }
}
