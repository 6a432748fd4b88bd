internal import Cryptography
internal import Primitives
package import Reactor
internal import Wire

/// BLAKE2b-256 of a content that comes in parts.
package final class ContentHash {
  private var state: BLAKE2b? = BLAKE2b(byteCount: TransferOffer.hashByteCount)

  package init() {}

  package func update(_ bytes: [UInt8]) { state?.update(bytes.span) }

  /// Once; later it is empty.
  package func finish() -> [UInt8] {
    guard let state = state.take() else { return [] }
    return state.finalize32().bytes
  }

  /// All that `read` gives, from the beginning until it gives nothing.
  package func update(
    byAll read: (UInt64) throws(ReactorError) -> [UInt8]
  ) throws(ReactorError) -> UInt64 {
    var place: UInt64 = 0
    while true {
      let bytes = try read(place)
      guard !bytes.isEmpty else { return place }
      update(bytes)
      place += UInt64(bytes.count)
    }
  }

  /// Bytes that are read at once.
  package static let blockByteCount = 1 << 20
}
