internal import CAES

/// AES-128 in counter mode (NIST SP 800-38A §6.5), in place, by OpenSSL: libsodium has AES only
/// with the processor's instructions, and not this mode.
///
/// It holds no key between two calls: keys stay in `SecretBytes` (decision 0050).
@safe package struct AESCounterMode: ~Copyable, Sendable {
  package static let keyByteCount = 16

  /// The address of OpenSSL's context: a number, so that the value can move between threads.
  private let context: UInt

  /// Ends the process when there is no memory at all, as Swift itself does.
  package init() {
    guard let context = unsafe earshot_aes_open() else {
      preconditionFailure("no memory is left for a cipher context")
    }
    self.context = UInt(bitPattern: context)
  }

  deinit {
    if let pointer = unsafe OpaquePointer(bitPattern: context) {
      unsafe earshot_aes_close(pointer)
    }
  }

  /// XORs the key stream over `bytes[range]`.
  ///
  /// - Parameters:
  ///   - start: Where the 16 bytes of the key begin in `secret`.
  ///   - counter: The first counter block; its last 4 bytes count blocks, big-endian.
  @_lifetime(bytes: copy bytes)
  package borrowing func apply(
    to bytes: inout MutableSpan<UInt8>, in range: Range<Int>, key secret: borrowing SecretBytes,
    from start: Int, counter: InlineArray<16, UInt8>
  ) throws(CryptographyError) {
    guard range.lowerBound >= 0, range.upperBound <= bytes.count, start >= 0,
      start + Self.keyByteCount <= secret.count
    else { throw .wrongLength }
    guard !range.isEmpty, let aes = unsafe OpaquePointer(bitPattern: context) else { return }
    let key = unsafe secret.pointer + start
    let status = unsafe bytes.withUnsafeMutableBufferPointer { buffer -> Int32 in
      guard let text = unsafe buffer.baseAddress.map({ unsafe $0 + range.lowerBound }) else {
        return -1
      }
      return unsafe counter.span.withPointer { block in
        unsafe earshot_aes_apply(aes, key, block, text, range.count)
      }
    }
    guard status == 0 else { throw .wrongLength }
  }
}
