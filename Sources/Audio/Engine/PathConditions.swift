/// What the session knows of the path to the other end, in the precision that a call hands on from
/// its event loop to its media thread: 1 ms and 1 kbit/s.
package struct PathConditions: Equatable, Sendable, BitwiseCopyable {
  /// `nil` before it was measured.
  package let roundTrip: RedundancyPolicy.RoundTrip?
  /// What the rate controller grants this stream, IP and UDP included, in bit/s; `nil` where
  /// nothing limits it.
  package let allowedWireBitrate: Int?

  /// - Parameters:
  ///   - roundTrip: smoothed and least, in nanoseconds.
  ///   - allowance: in bit/s; from 511 kbit/s on nothing limits audio.
  package init(
    roundTrip: (smoothed: UInt64, minimum: UInt64)? = nil, allowance: Int? = nil
  ) {
    self.roundTrip = roundTrip.map {
      RedundancyPolicy.RoundTrip(
        smoothed: Self.wholeMilliseconds($0.smoothed),
        minimum: Self.wholeMilliseconds($0.minimum))
    }
    allowedWireBitrate = allowance.flatMap {
      $0 < Self.unlimitedBitrate ? max(1000, $0 / 1000 * 1000) : nil
    }
  }

  package var roundTripMilliseconds: Int? { roundTrip.map { Int($0.smoothed / 1_000_000) } }

  private static func wholeMilliseconds(_ nanoseconds: UInt64) -> UInt64 {
    UInt64(UInt16(clamping: nanoseconds / 1_000_000)) * 1_000_000
  }

  /// Above what copies and frames of 20 ms can take: 1130 bytes a packet.
  private static let unlimitedBitrate = 511_000
}
