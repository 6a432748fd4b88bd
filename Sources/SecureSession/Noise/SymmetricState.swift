package import Cryptography
package import Primitives

/// The chaining key, the handshake hash and the key of the moment (Noise rev. 34 §5.2).
struct SymmetricState: ~Copyable {
  private var chainingKey: SecretKey
  private var cipher: CipherState
  private(set) var hash: Bytes32

  init(protocolName: String) {
    let name = Array(protocolName.utf8)
    if name.count <= Bytes32.byteCount {
      hash = Bytes32(name + Array(repeating: 0, count: 32 - name.count)) ?? .zero
    } else {
      hash = SHA256.hash(name.span)
    }
    chainingKey = SecretKey(copying: hash.span) ?? SecretKey()
    cipher = CipherState()
  }

  private init(chainingKey: consuming SecretKey, cipher: consuming CipherState, hash: Bytes32) {
    self.chainingKey = chainingKey
    self.cipher = cipher
    self.hash = hash
  }

  /// A copy for the trial run of a message, which replaces the original only if all goes well.
  borrowing func clone() -> SymmetricState {
    SymmetricState(chainingKey: chainingKey.clone(), cipher: cipher.clone(), hash: hash)
  }

  mutating func mixHash(_ bytes: Span<UInt8>) {
    var next = SHA256()
    next.update(hash.span)
    next.update(bytes)
    hash = next.finalize()
  }

  mutating func mixKey(_ input: Span<UInt8>) {
    let keys = HKDFSHA256.noise(chainingKey: chainingKey, input: input, outputCount: 2)
    chainingKey = SecretKey(keys, from: 0)
    cipher = CipherState(key: SecretKey(keys, from: 32))
  }

  mutating func mixKeyAndHash(_ input: Span<UInt8>) {
    let keys = HKDFSHA256.noise(chainingKey: chainingKey, input: input, outputCount: 3)
    chainingKey = SecretKey(keys, from: 0)
    mixHash(keys.span.extracting(32..<64))
    cipher = CipherState(key: SecretKey(keys, from: 64))
  }

  mutating func sealAndHash(
    _ message: Span<UInt8>, appendingTo output: inout [UInt8]
  ) throws(HandshakeError) {
    let start = output.count
    try cipher.seal(message, associated: hash.span, appendingTo: &output)
    mixHash(output.span.extracting(start..<output.count))
  }

  mutating func openAndHash(_ sealed: Span<UInt8>) throws(HandshakeError) -> [UInt8] {
    let message = try cipher.open(sealed, associated: hash.span)
    mixHash(sealed)
    return message
  }

  /// How many bytes sealing adds at the moment.
  var tagByteCount: Int { cipher.hasKey ? ChaChaPoly.tagByteCount : 0 }

  /// The two keys of the session and the handshake hash (Noise rev. 34 §5.2, §11.2).
  consuming func split() -> SplitKeys {
    let keys = HKDFSHA256.noise(chainingKey: chainingKey, input: Span(), outputCount: 2)
    return SplitKeys(
      initiatorToResponder: SecretKey(keys, from: 0),
      responderToInitiator: SecretKey(keys, from: 32),
      handshakeHash: hash)
  }
}

/// What a finished handshake leaves behind.
package struct SplitKeys: ~Copyable {
  package let initiatorToResponder: SecretKey
  package let responderToInitiator: SecretKey
  package let handshakeHash: Bytes32
}
