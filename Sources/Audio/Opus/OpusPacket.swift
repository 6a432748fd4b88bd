internal import COpus

/// What an Opus packet says of itself before it is decoded (RFC 6716 §3).
package struct OpusPacket: Equatable, Sendable, BitwiseCopyable {
  /// Samples a channel at 48 kHz, 120...5760.
  package let sampleCount: Int
  /// Whether the packet was coded in stereo.
  package let isStereo: Bool
  /// Whether it was coded beyond 8 kHz: super-wideband or fullband (RFC 6716 §3.1, table 2).
  package let hasUpperBand: Bool
  /// Whether it carries a low-rate copy of the frame before it (RFC 6716 §4.2.4).
  package let carriesForwardErrorCorrection: Bool

  /// Reads the packet's own framing; `nil` for bytes that are not an Opus packet.
  package init?(_ payload: Span<UInt8>) {
    guard !payload.isEmpty, payload.count <= AudioFormat.maxPayloadByteCount else { return nil }
    let contents = payload[0]
    let isStereo = contents & 0x04 != 0
    let parsed = unsafe payload.withUnsafeBufferPointer { bytes -> (count: Int32, flag: Bool) in
      guard let start = bytes.baseAddress else { return (0, false) }
      let length = Int32(bytes.count)
      let count = unsafe opus_packet_get_nb_samples(
        start, length, Int32(AudioFormat.sampleRateHz))
      guard count > 0, count <= AudioFormat.maxPacketSampleCount else { return (0, false) }
      var sizes = InlineArray<48, Int16>(repeating: 0)
      var offset: Int32 = 0
      var sizesSpan = sizes.mutableSpan
      let frames = unsafe sizesSpan.withUnsafeMutableBufferPointer { sizes -> Int32 in
        guard let first = sizes.baseAddress else { return 0 }
        return unsafe opus_packet_parse(start, length, nil, nil, first, &offset)
      }
      guard frames > 0 else { return (0, false) }
      guard contents & 0x80 == 0, sizes[0] > 1, Int(offset) < bytes.count else {
        return (count, false)
      }
      let first = unsafe bytes[Int(offset)]
      return (count, Self.announcesCopy(first, silkFrames: Self.silkFrames(contents), isStereo))
    }
    guard parsed.count > 0 else { return nil }
    sampleCount = Int(parsed.count)
    self.isStereo = isStereo
    let configuration = contents >> 3
    hasUpperBand = (12..<16).contains(configuration) || configuration >= 24
    carriesForwardErrorCorrection = parsed.flag
  }

  /// How many 20 ms SILK frames one Opus frame holds, from the configuration in the first byte
  /// (RFC 6716 §3.1 table 2; a 10 ms frame holds one of 10 ms).
  private static func silkFrames(_ contents: UInt8) -> Int {
    let configuration = contents >> 3
    guard configuration < 12 else { return 1 }  // hybrid: 10 or 20 ms
    switch configuration & 3 {
    case 2: return 2
    case 3: return 3
    default: return 1
    }
  }

  /// The header of a SILK frame is, for each channel, one activity bit a frame and then the bit
  /// that announces the copy (RFC 6716 §4.2.3); all of them have probability 1/2, so they stand
  /// uncoded at the top of the first byte.
  private static func announcesCopy(_ first: UInt8, silkFrames: Int, _ isStereo: Bool) -> Bool {
    let middle = UInt8(0x80) >> UInt8(silkFrames)
    let side = UInt8(0x80) >> UInt8(2 * silkFrames + 1)
    return first & middle != 0 || (isStereo && first & side != 0)
  }
}
