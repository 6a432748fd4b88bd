internal import CSodium

/// ChaCha20-Poly1305 with a 12-byte nonce (RFC 8439), in place.
package enum ChaChaPoly {
  package static let tagByteCount = 16

  /// 12 bytes that are never used twice under one key.
  package struct Nonce: BitwiseCopyable, Sendable {
    /// In little-endian words: libsodium reads words, and a processor that was given bytes would
    /// have to wait for them.
    private let words: InlineArray<3, UInt32>

    /// 4 zero bytes, then `counter`: Noise rev. 34 §12.3 and docs/protocol/session.md §6.
    package init(counter: UInt64) {
      words = [
        0, UInt32(truncatingIfNeeded: counter).littleEndian,
        UInt32(truncatingIfNeeded: counter >> 32).littleEndian,
      ]
    }

    /// `nil` unless there are exactly 12 bytes: C does not check the length.
    package init?(_ span: Span<UInt8>) {
      guard span.count == 12 else { return nil }
      words = InlineArray { index in
        let low = UInt32(span[4 * index]) | UInt32(span[4 * index + 1]) << 8
        let high = UInt32(span[4 * index + 2]) | UInt32(span[4 * index + 3]) << 8
        return (low | high << 16).littleEndian
      }
    }

    @inline(__always)
    func withPointer<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
      unsafe withUnsafeBytes(of: words) { bytes in
        guard let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
          return unsafe withUnsafePointer(to: 0) { empty in unsafe body(empty) }
        }
        return unsafe body(start)
      }
    }
  }

  /// Seals `bytes` from `start` to 16 before the end, in place; the last 16 become the tag.
  @_lifetime(bytes: copy bytes)
  package static func seal(
    _ bytes: inout MutableSpan<UInt8>, from start: Int, associated: Span<UInt8>,
    key: borrowing SecretKey, nonce: Nonce
  ) throws(CryptographyError) {
    guard start >= 0, bytes.count - start >= tagByteCount else { throw .wrongLength }
    let key = unsafe key.pointer
    let length = bytes.count - start - tagByteCount
    unsafe bytes.withUnsafeMutableBufferPointer { buffer in
      guard let text = unsafe buffer.baseAddress.map({ unsafe $0 + start }) else { return }
      unsafe associated.withPointer { header in
        unsafe nonce.withPointer { nonce in
          _ = unsafe crypto_aead_chacha20poly1305_ietf_encrypt(
            text, nil, text, UInt64(length), header, UInt64(associated.count), nil, nonce, key)
        }
      }
    }
  }

  /// Opens `bytes` from `start` to the end in place and returns where the plain text is. After a
  /// failure the sealed part is zero and of no use.
  @_lifetime(bytes: copy bytes)
  package static func open(
    _ bytes: inout MutableSpan<UInt8>, from start: Int, associated: Span<UInt8>,
    key: borrowing SecretKey, nonce: Nonce
  ) throws(CryptographyError) -> Range<Int> {
    guard start >= 0, bytes.count - start >= tagByteCount else { throw .wrongLength }
    let key = unsafe key.pointer
    let length = bytes.count - start
    let status = unsafe bytes.withUnsafeMutableBufferPointer { buffer -> Int32 in
      guard let text = unsafe buffer.baseAddress.map({ unsafe $0 + start }) else { return -1 }
      return unsafe associated.withPointer { header in
        unsafe nonce.withPointer { nonce in
          unsafe crypto_aead_chacha20poly1305_ietf_decrypt(
            text, nil, nil, text, UInt64(length), header, UInt64(associated.count), nonce, key)
        }
      }
    }
    guard status == 0 else { throw .notAuthentic }
    return start..<(start + length - tagByteCount)
  }
}

/// XChaCha20-Poly1305, whose 24-byte nonce may be random: cookies and ring details.
package enum XChaChaPoly {
  package static let tagByteCount = 16
  package static let nonceByteCount = 24

  /// The sealed form of `message`: as long, and 16 bytes of tag.
  package static func seal(
    _ message: Span<UInt8>, associated: Span<UInt8>, key: borrowing SecretKey, nonce: Span<UInt8>
  ) throws(CryptographyError) -> [UInt8] {
    guard nonce.count == nonceByteCount else { throw .wrongLength }
    let key = unsafe key.pointer
    var sealed = [UInt8](repeating: 0, count: message.count + tagByteCount)
    unsafe message.withPointer { text in
      unsafe associated.withPointer { header in
        unsafe nonce.withPointer { nonce in
          _ = unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
            &sealed, nil, text, UInt64(message.count), header, UInt64(associated.count), nil,
            nonce, key)
        }
      }
    }
    return sealed
  }

  /// The message inside `sealed`.
  package static func open(
    _ sealed: Span<UInt8>, associated: Span<UInt8>, key: borrowing SecretKey, nonce: Span<UInt8>
  ) throws(CryptographyError) -> [UInt8] {
    guard nonce.count == nonceByteCount, sealed.count >= tagByteCount else { throw .wrongLength }
    let key = unsafe key.pointer
    var message = [UInt8](repeating: 0, count: sealed.count - tagByteCount)
    let status = unsafe sealed.withPointer { text in
      unsafe associated.withPointer { header in
        unsafe nonce.withPointer { nonce in
          unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
            &message, nil, nil, text, UInt64(sealed.count), header, UInt64(associated.count),
            nonce, key)
        }
      }
    }
    guard status == 0 else { throw .notAuthentic }
    return message
  }
}
