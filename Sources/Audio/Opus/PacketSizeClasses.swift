/// The three lengths that packets of one bitrate are padded to, so that a length says little about
/// what is spoken (RFC 6562 §3; docs/decisions/0011).
///
/// 4/5, 1 and 5/4 of what the bitrate gives a frame. An encoder of variable bitrate that aims at
/// `encoderBitsPerSecond` fills them so that speech comes to the bitrate asked for, within 1 %.
package struct PacketSizeClasses: Equatable, Sendable {
  package let small: Int
  package let middle: Int
  package let large: Int
  private let bitsPerSecond: Int

  /// - Parameters:
  ///   - bitsPerSecond: of payload, padding included.
  ///   - frameLength: what one packet holds.
  package init(bitsPerSecond: Int, frameLength: FrameLength) {
    let bits = min(max(bitsPerSecond, 0), 1_000_000) * frameLength.milliseconds
    middle = min(max(bits / 8000, 3), Self.longest)
    small = max(middle * 4 / 5, 2)
    large = min(middle * 5 / 4, Self.longest)
    self.bitsPerSecond = bits / frameLength.milliseconds
  }

  /// What to ask of the encoder, in bit/s: 28/32 of the bitrate where nothing is left over, as the
  /// rest is padding, and up to 32/32 after pauses.
  ///
  /// - Parameter unused: bytes that the packets so far left of the bitrate.
  package func encoderBitsPerSecond(unused: Int) -> Int {
    let share = min(max(unused, 0), mostUnused)
    return bitsPerSecond * 28 / 32 + bitsPerSecond * 4 / 32 * share / max(mostUnused, 1)
  }

  /// What a call begins with of `mostUnused`, so that a narrow line is not met with more than the
  /// bitrate.
  package var firstUnused: Int { mostUnused / 4 }

  /// How far the packets of a call may run ahead of the bitrate, in bytes: 32 of the large ones.
  package var mostUnused: Int { 32 * (large - middle) }

  /// The least of the three that holds `byteCount`; `byteCount` itself when none does.
  package func length(for byteCount: Int) -> Int {
    if byteCount <= small { return small }
    if byteCount <= middle { return middle }
    return max(byteCount, large)
  }

  /// What one DATA packet holds beside its 28 bytes (docs/protocol/frames.md §1, §5).
  private static let longest = 1172
}
