internal import Primitives
internal import Wire

/// Bytes of codec payload that came in, by what they were for.
package struct ReceivedBytes: Equatable, Sendable {
  /// Of packets' own frames.
  package private(set) var primary: UInt64 = 0
  /// Of copies in later packets (`fecBytesReceived`).
  package private(set) var copies: UInt64 = 0
  /// Of frames sent again (`retransmittedBytesReceived`).
  package private(set) var retransmitted: UInt64 = 0

  package init() {}

  /// Counts the body of one AUDIO frame; one that cannot be read counts nothing.
  package mutating func addBody(_ body: Span<UInt8>, hasCopies: Bool) {
    let parts: AudioBody
    do throws(WireError) {
      parts = try AudioBody(body, hasCopies: hasCopies)
    } catch {
      return  // Checked when its packet was read, and counted there.
    }
    primary &+= UInt64(parts.primary.count)
    for index in 0..<parts.copyCount {
      let copy = parts.copy(index)
      switch copy.coding {
      case .retransmission: retransmitted &+= UInt64(copy.payload.count)
      case .unsentCount: break
      case .primary, .lowRate, .other, .parity: copies &+= UInt64(copy.payload.count)
      }
    }
  }
}
