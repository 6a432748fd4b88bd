internal import CSodium
internal import Primitives

/// libsodium, of which this module is the only importer.
package enum Sodium {
  /// Picks the fastest implementation for this processor; everything here calls it first.
  package static func initialize() { precondition(isReady, "libsodium could not be initialised") }

  /// As the library calls it: "1.0.18".
  package static var version: String { unsafe String(cString: sodium_version_string()) }

  private static let isReady = sodium_init() >= 0
}

/// What can go wrong with keys and sealed bytes; never says more, so that it tells an attacker
/// nothing.
package enum CryptographyError: Error, Equatable, Sendable {
  /// The tag, or the signature, does not fit the bytes.
  case notAuthentic
  /// The public key is one of the few points whose X25519 result is all zero (RFC 7748 §6.1).
  case lowOrderPoint
  /// A length that the algorithm does not take, or no room for the result.
  case wrongLength
}

/// Comparing secrets, and forgetting them.
package enum Secret {
  /// Compares without telling, by the time taken, where the first difference is.
  package static func areEqual(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    return unsafe left.withUnsafeBufferPointer { left in
      unsafe right.withUnsafeBufferPointer { right in
        guard let first = left.baseAddress, let second = right.baseAddress else { return true }
        return unsafe sodium_memcmp(first, second, left.count) == 0
      }
    }
  }

  /// Overwrites bytes in a way that the optimiser does not remove.
  @_lifetime(bytes: copy bytes)
  package static func wipe(_ bytes: inout MutableSpan<UInt8>) {
    unsafe bytes.withUnsafeMutableBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return }
      unsafe sodium_memzero(start, buffer.count)
    }
  }

  /// Overwrites what an array holds, then empties it.
  package static func wipe(_ bytes: inout [UInt8]) {
    unsafe bytes.withUnsafeMutableBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return }
      unsafe sodium_memzero(start, buffer.count)
    }
    bytes.removeAll()
  }
}

// MARK: - How C gets at our bytes. Nothing outside this module sees a pointer.

extension Span<UInt8> {
  /// Calls `body` with the start of the bytes, never null: libsodium's prototypes are `nonnull`
  /// even where the length is zero.
  @inline(__always)
  func withPointer<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
    unsafe withUnsafeBufferPointer { buffer in
      guard let start = buffer.baseAddress else {
        return unsafe withUnsafePointer(to: 0) { empty in unsafe body(empty) }
      }
      return unsafe body(start)
    }
  }
}

extension Bytes16 {
  init(filledBy body: (UnsafeMutablePointer<UInt8>) -> Void) {
    self = .zero
    var span = storage.mutableSpan
    unsafe span.withUnsafeMutableBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return }
      unsafe body(start)
    }
  }
}

extension Bytes32 {
  init(filledBy body: (UnsafeMutablePointer<UInt8>) -> Void) {
    self = .zero
    var span = storage.mutableSpan
    unsafe span.withUnsafeMutableBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return }
      unsafe body(start)
    }
  }
}
