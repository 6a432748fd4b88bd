internal import CSodium

/// The keys of one direction of a session (docs/protocol/session.md §5) as plain bytes: 64, without
/// a heap block of its own, for a rendezvous that keeps 20 000 of them in one table.
///
/// Its owner calls `erase` at the end of the session; a peer uses `PacketCipher`, which cannot
/// forget to.
package struct PacketKeys: BitwiseCopyable, Sendable {
  /// The AEAD key, then the header key.
  private var bytes: InlineArray<64, UInt8>

  package init(aead: borrowing SecretKey, header: borrowing SecretKey) {
    bytes = InlineArray(repeating: 0)
    for index in 0..<32 {
      bytes[index] = aead.span[index]
      bytes[32 + index] = header.span[index]
    }
  }

  /// Overwrites the keys, in a way that the optimiser does not remove.
  package mutating func erase() {
    unsafe withUnsafeMutableBytes(of: &self) { bytes in
      guard let start = bytes.baseAddress else { return }
      unsafe sodium_memzero(start, bytes.count)
    }
  }

  /// Seals a packet; see `PacketCipher.seal`.
  @_lifetime(packet: copy packet)
  package func seal(
    _ packet: inout OutputSpan<UInt8>, connectionID: UInt32, number: UInt32
  ) throws(CryptographyError) {
    try PacketProtection.checkRoom(packet)
    unsafe bytes.span.withPointer { keys in
      unsafe PacketProtection.seal(&packet, connectionID: connectionID, number: number, keys: keys)
    }
  }

  /// Takes the mask off a header; see `PacketCipher.unmask`.
  @_lifetime(packet: copy packet)
  package func unmask(_ packet: inout MutableSpan<UInt8>) throws(CryptographyError) -> UInt32 {
    try PacketProtection.checkLength(packet)
    let number = unsafe bytes.span.withPointer { keys in
      unsafe PacketProtection.unmask(&packet, keys: keys)
    }
    guard let number else { throw .notAuthentic }
    return number
  }

  /// Opens an unmasked packet; see `PacketCipher.open`.
  @_lifetime(packet: copy packet)
  package func open(
    _ packet: inout MutableSpan<UInt8>, number: UInt32
  ) throws(CryptographyError) -> Range<Int> {
    try PacketProtection.checkLength(packet)
    let isAuthentic = unsafe bytes.span.withPointer { keys in
      unsafe PacketProtection.open(&packet, number: number, keys: keys)
    }
    guard isAuthentic else { throw .notAuthentic }
    return PacketProtection.headerByteCount..<(packet.count - ChaChaPoly.tagByteCount)
  }
}

/// The keys of one direction in an owned block that is wiped at its end (docs/protocol/session.md
/// §5, §6).
package struct PacketCipher: ~Copyable, Sendable {
  private var keys: SecretBytes

  package init(aead: borrowing SecretKey, header: borrowing SecretKey) {
    var keys = SecretBytes(zeros: 64)
    keys.replace(from: 0, with: aead.span)
    keys.replace(from: 32, with: header.span)
    self.keys = keys
  }

  /// Seals a packet in place. It holds 9 bytes that will become the header, then the frames, and
  /// has room for the tag.
  @_lifetime(packet: copy packet)
  package func seal(
    _ packet: inout OutputSpan<UInt8>, connectionID: UInt32, number: UInt32
  ) throws(CryptographyError) {
    try PacketProtection.checkRoom(packet)
    unsafe PacketProtection.seal(
      &packet, connectionID: connectionID, number: number, keys: keys.pointer)
  }

  /// Takes the mask off the header and returns the packet number, which nothing has proven yet.
  /// Throws when the low 5 bits of byte 0 are not zero.
  @_lifetime(packet: copy packet)
  package func unmask(_ packet: inout MutableSpan<UInt8>) throws(CryptographyError) -> UInt32 {
    try PacketProtection.checkLength(packet)
    guard let number = unsafe PacketProtection.unmask(&packet, keys: keys.pointer) else {
      throw .notAuthentic
    }
    return number
  }

  /// Opens an unmasked packet in place and returns where its frames are. After a failure the
  /// sealed part is zero and of no use.
  @_lifetime(packet: copy packet)
  package func open(
    _ packet: inout MutableSpan<UInt8>, number: UInt32
  ) throws(CryptographyError) -> Range<Int> {
    try PacketProtection.checkLength(packet)
    guard unsafe PacketProtection.open(&packet, number: number, keys: keys.pointer) else {
      throw .notAuthentic
    }
    return PacketProtection.headerByteCount..<(packet.count - ChaChaPoly.tagByteCount)
  }

  /// Overwrites the keys before the end of their owner.
  package mutating func erase() { keys.erase() }

  /// The same keys without a block of their own.
  package func compact() -> PacketKeys {
    PacketKeys(aead: SecretKey(keys, from: 0), header: SecretKey(keys, from: 32))
  }
}

/// DATA packets (docs/protocol/session.md §6): AEAD, then header protection as in RFC 9001 §5.4.4.
/// `keys` is 64 bytes everywhere: the AEAD key, then the header key.
package enum PacketProtection {
  package static let headerByteCount = 9
  /// Header and tag.
  package static let overheadByteCount = headerByteCount + ChaChaPoly.tagByteCount

  private static let type: UInt8 = 0x60
  private static let maskedBits: UInt8 = 0x1F

  static func checkRoom(_ packet: borrowing OutputSpan<UInt8>) throws(CryptographyError) {
    guard packet.count >= headerByteCount, packet.freeCapacity >= ChaChaPoly.tagByteCount else {
      throw .wrongLength
    }
  }

  static func checkLength(_ packet: borrowing MutableSpan<UInt8>) throws(CryptographyError) {
    guard packet.count >= overheadByteCount else { throw .wrongLength }
  }

  @_lifetime(packet: copy packet)
  static func seal(
    _ packet: inout OutputSpan<UInt8>, connectionID: UInt32, number: UInt32,
    keys: UnsafePointer<UInt8>
  ) {
    let nonce = ChaChaPoly.Nonce(counter: UInt64(number))
    unsafe packet.withUnsafeMutableBufferPointer { buffer, count in
      guard let bytes = buffer.baseAddress else { return }
      unsafe bytes[0] = type
      let header = UnsafeMutableRawPointer(bytes)
      unsafe header.storeBytes(of: connectionID.littleEndian, toByteOffset: 1, as: UInt32.self)
      unsafe header.storeBytes(of: number.littleEndian, toByteOffset: 5, as: UInt32.self)
      let text = unsafe bytes + headerByteCount
      unsafe nonce.withPointer { nonce in
        _ = unsafe crypto_aead_chacha20poly1305_ietf_encrypt(
          text, nil, text, UInt64(count - headerByteCount), bytes, UInt64(headerByteCount), nil,
          nonce, keys)
      }
      unsafe applyMask(to: bytes, keys: keys)
      count += ChaChaPoly.tagByteCount
    }
  }

  @_lifetime(packet: copy packet)
  static func unmask(_ packet: inout MutableSpan<UInt8>, keys: UnsafePointer<UInt8>) -> UInt32? {
    unsafe packet.withUnsafeMutableBufferPointer { buffer -> UInt32? in
      guard let bytes = buffer.baseAddress else { return nil }
      unsafe applyMask(to: bytes, keys: keys)
      guard unsafe bytes[0] == type else { return nil }
      return unsafe UInt32(
        littleEndian: UnsafeRawPointer(bytes).loadUnaligned(fromByteOffset: 5, as: UInt32.self))
    }
  }

  @_lifetime(packet: copy packet)
  static func open(
    _ packet: inout MutableSpan<UInt8>, number: UInt32, keys: UnsafePointer<UInt8>
  ) -> Bool {
    let nonce = ChaChaPoly.Nonce(counter: UInt64(number))
    let length = UInt64(packet.count - headerByteCount)
    return unsafe packet.withUnsafeMutableBufferPointer { buffer -> Bool in
      guard let bytes = buffer.baseAddress else { return false }
      let text = unsafe bytes + headerByteCount
      return unsafe nonce.withPointer { nonce in
        unsafe crypto_aead_chacha20poly1305_ietf_decrypt(
          text, nil, nil, text, length, bytes, UInt64(headerByteCount), nonce, keys) == 0
      }
    }
  }

  /// XORs the mask made from the 16 bytes after the header over byte 0 and the packet number.
  @inline(__always)
  private static func applyMask(to bytes: UnsafeMutablePointer<UInt8>, keys: UnsafePointer<UInt8>) {
    let sample = unsafe bytes + headerByteCount
    let mask = unsafe HeaderMask(sample: sample, key: keys + 32)
    let header = UnsafeMutableRawPointer(bytes)
    unsafe bytes[0] ^= mask.first & maskedBits
    let number = unsafe header.loadUnaligned(fromByteOffset: 5, as: UInt32.self)
    unsafe header.storeBytes(of: number ^ mask.number, toByteOffset: 5, as: UInt32.self)
  }
}

/// The 5 bytes that hide a header (RFC 9001 §5.4.4).
package struct HeaderMask: BitwiseCopyable {
  /// The mask in its first 5 bytes.
  private var word: UInt64 = 0

  package var bytes: InlineArray<5, UInt8> {
    let word = UInt64(littleEndian: word)
    return InlineArray { index in UInt8(truncatingIfNeeded: word >> UInt64(8 * index)) }
  }

  /// Over byte 0.
  fileprivate var first: UInt8 { UInt8(truncatingIfNeeded: UInt64(littleEndian: word)) }
  /// Over the four bytes of the packet number, in memory order.
  fileprivate var number: UInt32 {
    UInt32(truncatingIfNeeded: UInt64(littleEndian: word) >> 8).littleEndian
  }

  /// - Parameter sample: The 16 bytes of ciphertext after the header.
  package init(sample: Span<UInt8>, key: borrowing SecretKey) throws(CryptographyError) {
    guard sample.count == 16 else { throw .wrongLength }
    let key = unsafe key.pointer
    self = unsafe sample.withPointer { sample in unsafe HeaderMask(sample: sample, key: key) }
  }

  init(sample: UnsafePointer<UInt8>, key: UnsafePointer<UInt8>) {
    let counter = unsafe UInt32(
      littleEndian: UnsafeRawPointer(sample).loadUnaligned(as: UInt32.self))
    unsafe withUnsafeMutableBytes(of: &word) { output in
      guard let output = unsafe output.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
        return
      }
      _ = unsafe crypto_stream_chacha20_ietf_xor_ic(output, output, 5, sample + 4, counter, key)
    }
  }
}
