package import Cryptography

/// One key and its nonce counter (Noise rev. 34 §5.1).
///
/// Not copyable: two copies would each seal with the same nonce, which for ChaCha20-Poly1305 gives
/// away the XOR of the plain texts. `clone` exists for the trial run of a handshake message only.
package struct CipherState: ~Copyable {
  private var key: SecretKey
  package private(set) var hasKey: Bool
  /// Counts the messages of this key; the next one uses it as its nonce.
  package private(set) var nonce: UInt64 = 0

  /// Without a key: seals and opens nothing.
  package init() {
    key = SecretKey()
    hasKey = false
  }

  package init(key: consuming SecretKey) {
    self.key = key
    hasKey = true
  }

  /// Appends the sealed form of `message` to `output`; the plain form when there is no key.
  package mutating func seal(
    _ message: Span<UInt8>, associated: Span<UInt8>, appendingTo output: inout [UInt8]
  ) throws(HandshakeError) {
    let start = output.count
    for index in 0..<message.count { output.append(message[index]) }
    guard hasKey else { return }
    output.append(contentsOf: repeatElement(0, count: ChaChaPoly.tagByteCount))
    let current = try takeNonce()
    var span = output.mutableSpan
    do throws(CryptographyError) {
      try ChaChaPoly.seal(&span, from: start, associated: associated, key: key, nonce: current)
    } catch {
      throw .malformed
    }
  }

  /// The plain form of `sealed`. The nonce advances only when it opens (Noise rev. 34 §5.1).
  package mutating func open(
    _ sealed: Span<UInt8>, associated: Span<UInt8>
  ) throws(HandshakeError) -> [UInt8] {
    var message = [UInt8]()
    message.reserveCapacity(sealed.count)
    for index in 0..<sealed.count { message.append(sealed[index]) }
    guard hasKey else { return message }
    guard nonce < .max else { throw .noncesExhausted }
    var span = message.mutableSpan
    do throws(CryptographyError) {
      _ = try ChaChaPoly.open(
        &span, from: 0, associated: associated, key: key, nonce: ChaChaPoly.Nonce(counter: nonce))
    } catch {
      throw .notAuthentic
    }
    nonce += 1
    message.removeLast(ChaChaPoly.tagByteCount)
    return message
  }

  borrowing func clone() -> CipherState {
    var copy = hasKey ? CipherState(key: key.clone()) : CipherState()
    copy.nonce = nonce
    return copy
  }

  /// The nonce 2^64 − 1 is reserved (Noise rev. 34 §5.1).
  private mutating func takeNonce() throws(HandshakeError) -> ChaChaPoly.Nonce {
    guard nonce < .max else { throw .noncesExhausted }
    defer { nonce += 1 }
    return ChaChaPoly.Nonce(counter: nonce)
  }
}

/// Why a handshake message was not taken, or not made. The state is as it was before.
package enum HandshakeError: Error, Equatable, Sendable {
  /// Too short, or a field inside is not what it should be.
  case malformed
  /// It does not open: another key, another prologue, changed bytes, a point of low order.
  case notAuthentic
  /// It is the other side's turn, or the handshake is complete.
  case outOfTurn
  /// The pattern needs a key that was not given.
  case missingKey
  case noncesExhausted
}
