package import Cryptography
internal import Primitives

/// What seals and opens frames under one KID: the keys and the salt that RFC 9605 §4.4.2 derives.
///
/// In locked memory, wiped at its end. RFC 9605 §4.4.1 wants a base key used in one direction only:
/// `SendingKey` and `ReceivedKeys` each make their own.
package struct SFrameKey: ~Copyable, Sendable {
  package let suite: SFrameSuite
  package let keyID: UInt64
  /// AES key 16, HMAC key 32, salt 12.
  private let material: SecretBytes

  private static let sealingByteCount = AESCounterMode.keyByteCount + 32
  private static let saltByteCount = 12

  /// - Parameter baseKey: The sender's base key; 32 bytes in channels, in the published vectors 16.
  package init(baseKey: Span<UInt8>, keyID: UInt64, suite: SFrameSuite = .media) {
    let key = Self.expand(
      baseKey, SFrameLabel.key(keyID: keyID, suite: suite.rawValue), Self.sealingByteCount)
    let salt = Self.expand(
      baseKey, SFrameLabel.salt(keyID: keyID, suite: suite.rawValue), Self.saltByteCount)
    self.init(key: key.span, salt: salt.span, keyID: keyID, suite: suite)
  }

  /// From what the derivation gives: 48 bytes of key, 12 of salt.
  init(key: Span<UInt8>, salt: Span<UInt8>, keyID: UInt64, suite: SFrameSuite) {
    var material = SecretBytes(zeros: Self.sealingByteCount + Self.saltByteCount)
    material.replace(from: 0, with: key)
    material.replace(from: Self.sealingByteCount, with: salt)
    self.material = material
    self.suite = suite
    self.keyID = keyID
  }

  /// Seals `frame[text]` in place: the header goes before it, the tag behind it.
  ///
  /// - Parameters:
  ///   - counter: Never twice under one key: `SendingKey` counts.
  ///   - metadata: Is authenticated and not sent (RFC 9605 §9.4).
  /// - Returns: Where header, ciphertext and tag stand.
  @_lifetime(frame: copy frame)
  package borrowing func seal(
    _ frame: inout MutableSpan<UInt8>, text: Range<Int>, counter: UInt64, metadata: Span<UInt8>,
    with aes: borrowing AESCounterMode
  ) throws(SFrameError) -> Range<Int> {
    let header = SFrameHeader(keyID: keyID, counter: counter)
    let start = text.lowerBound - header.byteCount
    let end = text.upperBound + suite.tagByteCount
    guard start >= 0, end <= frame.count else { throw .wrongLength }
    header.write(to: &frame, at: start)
    try protect(
      &frame, header: start..<text.lowerBound, text: text, counter: counter, metadata: metadata,
      with: aes)
    return start..<end
  }

  /// AEAD.Encrypt of RFC 9605 §4.5.1, in place: the tag goes behind `text`.
  @_lifetime(frame: copy frame)
  borrowing func protect(
    _ frame: inout MutableSpan<UInt8>, header: Range<Int>, text: Range<Int>, counter: UInt64,
    metadata: Span<UInt8>, with aes: borrowing AESCounterMode
  ) throws(SFrameError) {
    let block = counterBlock(counter)
    try apply(aes, to: &frame, in: text, block)
    let tag = tag(of: frame, header: header, text: text, block, metadata)
    for index in 0..<suite.tagByteCount { frame[text.upperBound + index] = tag.storage[index] }
  }

  /// Opens the frame at `place` of `packet`, in place; after a failure its bytes are as they were.
  ///
  /// - Parameter headerByteCount: What `header` took of the beginning of the frame.
  /// - Returns: Where the plain text stands.
  @_lifetime(packet: copy packet)
  package borrowing func open(
    _ packet: inout MutableSpan<UInt8>, at place: Range<Int>, header: SFrameHeader,
    headerByteCount: Int, metadata: Span<UInt8>, with aes: borrowing AESCounterMode
  ) throws(SFrameError) -> Range<Int> {
    let start = place.lowerBound + headerByteCount
    let end = place.upperBound - suite.tagByteCount
    guard headerByteCount >= 0, start <= end else { throw .wrongLength }
    let block = counterBlock(header.counter)
    let expected = tag(
      of: packet, header: place.lowerBound..<start, text: start..<end, block, metadata)
    let isAuthentic = Secret.areEqual(
      expected.span.extracting(0..<suite.tagByteCount),
      packet.span.extracting(end..<place.upperBound))
    guard isAuthentic else { throw .notAuthentic }
    try apply(aes, to: &packet, in: start..<end, block)
    return start..<end
  }

  @_lifetime(frame: copy frame)
  private borrowing func apply(
    _ aes: borrowing AESCounterMode, to frame: inout MutableSpan<UInt8>, in text: Range<Int>,
    _ block: InlineArray<16, UInt8>
  ) throws(SFrameError) {
    do throws(CryptographyError) {
      try aes.apply(to: &frame, in: text, key: material, from: 0, counter: block)
    } catch {
      throw .wrongLength
    }
  }

  /// The nonce, salt XOR CTR (RFC 9605 §4.4.3), and four zero bytes: the first block of AES-CTR.
  private borrowing func counterBlock(_ counter: UInt64) -> InlineArray<16, UInt8> {
    var block = InlineArray<16, UInt8>(repeating: 0)
    for index in 0..<Self.saltByteCount {
      block[index] = material.span[Self.sealingByteCount + index]
    }
    for index in 0..<8 {
      block[4 + index] ^= UInt8(truncatingIfNeeded: counter >> UInt64(56 - 8 * index))
    }
    return block
  }

  /// HMAC over the lengths, the nonce, header, metadata and ciphertext (RFC 9605 §4.5.1), uncut.
  private borrowing func tag(
    of frame: borrowing MutableSpan<UInt8>, header: Range<Int>, text: Range<Int>,
    _ block: InlineArray<16, UInt8>, _ metadata: Span<UInt8>
  ) -> Bytes32 {
    let keys = material.span
    var mac = HMACSHA256(key: keys.extracting(AESCounterMode.keyByteCount..<Self.sealingByteCount))
    var lengths = InlineArray<24, UInt8>(repeating: 0)
    Self.write(header.count + metadata.count, to: &lengths, endingAt: 8)
    Self.write(text.count, to: &lengths, endingAt: 16)
    Self.write(suite.tagByteCount, to: &lengths, endingAt: 24)
    mac.update(lengths.span)
    mac.update(block.span.extracting(0..<Self.saltByteCount))
    mac.update(frame.span.extracting(header))
    mac.update(metadata)
    mac.update(frame.span.extracting(text))
    return mac.finalize()
  }

  /// 4 of the 8 bytes, big-endian: no frame is longer than 2^32.
  private static func write(
    _ count: Int, to lengths: inout InlineArray<24, UInt8>, endingAt end: Int
  ) {
    for index in 0..<4 {
      lengths[end - 1 - index] = UInt8(truncatingIfNeeded: count >> (8 * index))
    }
  }

  private static func expand(
    _ baseKey: Span<UInt8>, _ label: [UInt8], _ count: Int
  ) -> SecretBytes {
    do throws(CryptographyError) {
      return try HKDFSHA256.derive(
        secret: baseKey, salt: Span(), context: label.span, count: count)
    } catch {
      preconditionFailure("HKDF gives 60 bytes")
    }
  }
}

/// What separates the derivations of RFC 9605 §4.4.2 and §5.1.
package enum SFrameLabel {
  package static func key(keyID: UInt64, suite: UInt16) -> [UInt8] {
    Array("SFrame 1.0 Secret key ".utf8) + parameters(keyID, suite)
  }

  package static func salt(keyID: UInt64, suite: UInt16) -> [UInt8] {
    Array("SFrame 1.0 Secret salt ".utf8) + parameters(keyID, suite)
  }

  package static var ratchet: [UInt8] { Array("SFrame 1.0 Ratchet".utf8) }

  /// Big-endian: KID 8, suite 2.
  private static func parameters(_ keyID: UInt64, _ suite: UInt16) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: keyID >> UInt64(56 - 8 * $0)) }
      + [UInt8(truncatingIfNeeded: suite >> 8), UInt8(truncatingIfNeeded: suite)]
  }
}
