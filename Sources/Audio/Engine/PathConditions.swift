/// What the session knows of the path to the other end, in the precision that a call hands on from
/// its event loop to its media thread: 1 ms and 1 kbit/s.
package struct PathConditions: Equatable, Sendable, BitwiseCopyable {
  /// Times of a packet's way there and its report's way back, in nanoseconds.
  package struct RoundTrip: Equatable, Sendable, BitwiseCopyable {
    package let smoothed: UInt64
    package let minimum: UInt64
  }

  /// `nil` before it was measured.
  package let roundTrip: RoundTrip?
  /// What the rate controller grants this stream, IP and UDP included, in bit/s: 1 kbit/s to
  /// `unlimited`.
  package let allowance: Int

  /// - Parameters:
  ///   - roundTrip: smoothed and least, in nanoseconds.
  ///   - allowance: in bit/s.
  package init(
    roundTrip: (smoothed: UInt64, minimum: UInt64)? = nil, allowance: Int = Self.unlimited
  ) {
    self.roundTrip = roundTrip.map {
      RoundTrip(
        smoothed: Self.wholeMilliseconds($0.smoothed),
        minimum: Self.wholeMilliseconds($0.minimum))
    }
    self.allowance = min(max(allowance / 1000, 1) * 1000, Self.unlimited)
  }

  package var roundTripMilliseconds: Int? { roundTrip.map { Int($0.smoothed / 1_000_000) } }

  private static func wholeMilliseconds(_ nanoseconds: UInt64) -> UInt64 {
    UInt64(UInt16(clamping: nanoseconds / 1_000_000)) * 1_000_000
  }

  /// An allowance that limits nothing, in bit/s: above what copies and frames of 20 ms can take,
  /// 1130 bytes a packet.
  package static let unlimited = 511_000
}
