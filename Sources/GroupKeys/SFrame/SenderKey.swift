package import Cryptography
package import Primitives

/// A sender's base key at one ratchet step (RFC 9605 §5.1). Steps go forward only.
package struct SenderKey: ~Copyable, Sendable {
  /// The sender's count of fresh keys, from 0. Rises with every leave.
  package let generation: UInt32
  /// How often the key of this generation was ratcheted. Rises with every join.
  package private(set) var step: UInt32
  package private(set) var baseKey: SecretKey

  package init(generation: UInt32, step: UInt32 = 0, baseKey: consuming SecretKey) {
    self.generation = generation
    self.step = step
    self.baseKey = baseKey
  }

  /// A fresh key of 32 random bytes.
  package init(generation: UInt32, random: inout RandomSource) {
    self.init(generation: generation, baseKey: SecretKey(random: &random))
  }

  /// (generation << 8) + step mod 256: R is 8 (docs/protocol/sframe.md §2).
  package var keyID: UInt64 { UInt64(generation) << 8 | UInt64(step & 0xFF) }

  package func clone() -> SenderKey {
    SenderKey(generation: generation, step: step, baseKey: baseKey.clone())
  }

  /// Replaces the base key by the next one, from which nobody comes back to this one.
  package mutating func ratchet() {
    do throws(CryptographyError) {
      let next = try HKDFSHA256.derive(
        secret: baseKey.span, salt: Span(), context: SFrameLabel.ratchet.span,
        count: SecretKey.byteCount)
      baseKey = SecretKey(next, from: 0)
    } catch {
      preconditionFailure("HKDF gives 32 bytes")
    }
    step &+= 1
  }

  /// The key for frames at this step.
  package func frameKey(_ suite: SFrameSuite = .media) -> SFrameKey {
    SFrameKey(baseKey: baseKey.span, keyID: keyID, suite: suite)
  }
}

/// The key that seals our own frames, and the count of them.
struct SendingKey: ~Copyable {
  private(set) var chain: SenderKey
  private var key: SFrameKey
  /// CTR of the next frame; 0 when nothing was sealed at this step.
  private(set) var nextCounter: UInt64 = 0

  init(_ chain: consuming SenderKey) {
    key = chain.frameKey()
    self.chain = chain
  }

  mutating func ratchet() {
    chain.ratchet()
    key = chain.frameKey()
    nextCounter = 0
  }

  /// Seals under the next counter. At the last one that takes 2 bytes the key is ratcheted, which
  /// receivers follow without an envelope.
  @_lifetime(frame: copy frame)
  mutating func seal(
    _ frame: inout MutableSpan<UInt8>, text: Range<Int>, metadata: Span<UInt8>,
    with aes: borrowing AESCounterMode
  ) throws(SFrameError) -> Range<Int> {
    if nextCounter > GroupKeyLimits.lastCounter { ratchet() }
    let sealed = try key.seal(
      &frame, text: text, counter: nextCounter, metadata: metadata, with: aes)
    nextCounter += 1
    return sealed
  }
}
