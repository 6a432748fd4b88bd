internal import CSodium
package import Primitives

/// Bytes that nobody else may learn: one owned block, never copied by accident, wiped at its end.
///
/// Not copyable: a released `[UInt8]` leaves its bytes in memory, and a copy would outlive the
/// wipe.
@safe package struct SecretBytes: ~Copyable, @unchecked Sendable {
  private let block: UnsafeMutablePointer<UInt8>
  package let count: Int

  /// `count` zero bytes.
  package init(zeros count: Int) {
    self.count = count
    unsafe block = SecretPool.allocate(count)
  }

  package init(copying bytes: Span<UInt8>) {
    self.init(zeros: bytes.count)
    for index in 0..<bytes.count { unsafe block[index] = bytes[index] }
  }

  deinit {
    unsafe SecretPool.free(block, count)
  }

  package var span: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      let span = unsafe Span(_unsafeStart: block, count: count)
      return unsafe _overrideLifetime(span, borrowing: self)
    }
  }

  package var mutableSpan: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get {
      let span = unsafe MutableSpan(_unsafeStart: block, count: count)
      return unsafe _overrideLifetime(span, mutating: &self)
    }
  }

  /// Overwrites everything with zeros, before the end of the block's life.
  package mutating func erase() { unsafe sodium_memzero(block, count) }

  /// Overwrites `bytes.count` bytes from `start` on.
  package mutating func replace(from start: Int, with bytes: Span<UInt8>) {
    precondition(start >= 0 && start + bytes.count <= count)
    for index in 0..<bytes.count { unsafe block[start + index] = bytes[index] }
  }

  /// The block itself, for the calls into C in this module.
  var pointer: UnsafeMutablePointer<UInt8> { unsafe block }
}

/// A secret of 32 bytes: an AEAD key, an X25519 private key, a chaining key.
package struct SecretKey: ~Copyable, Sendable {
  package static let byteCount = 32

  private var bytes: SecretBytes

  /// 32 zero bytes: the psk of a handshake without one (docs/protocol/session.md §2).
  package init() { bytes = SecretBytes(zeros: Self.byteCount) }

  /// 32 bytes from `random`, written straight into the block.
  package init(random: inout RandomSource) {
    bytes = SecretBytes(zeros: Self.byteCount)
    for word in 0..<4 {
      let value = random.next()
      for index in 0..<8 {
        unsafe bytes.pointer[8 * word + index] = UInt8(
          truncatingIfNeeded: value >> UInt64(8 * index))
      }
    }
  }

  /// `nil` unless there are exactly 32 bytes.
  package init?(copying span: Span<UInt8>) {
    guard span.count == Self.byteCount else { return nil }
    bytes = SecretBytes(copying: span)
  }

  /// Bytes `start ..< start + 32` of a longer secret.
  package init(_ secret: borrowing SecretBytes, from start: Int) {
    bytes = SecretBytes(copying: secret.span.extracting(start..<(start + Self.byteCount)))
  }

  package func clone() -> SecretKey { SecretKey(bytes, from: 0) }

  package var span: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { bytes.span }
  }

  package static func == (left: borrowing SecretKey, right: borrowing SecretKey) -> Bool {
    Secret.areEqual(left.span, right.span)
  }

  var pointer: UnsafeMutablePointer<UInt8> { unsafe bytes.pointer }
}
