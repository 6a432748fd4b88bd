internal import Primitives

// How C gets at our bytes. Nothing outside this module sees a pointer.

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
