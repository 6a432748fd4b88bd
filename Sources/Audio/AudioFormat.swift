/// What every part of the audio path takes for granted: 48 kHz, and steps of 10 ms.
///
/// Audio time on the wire counts these steps in 16 bits (docs/protocol/frames.md §5); inside, time
/// is a 64-bit count of samples, so that it neither wraps nor rounds.
package enum AudioFormat {
  /// Samples a second and channel.
  package static let sampleRateHz = 48_000
  /// Samples a channel in one step of 10 ms.
  package static let stepSampleCount = 480
  /// Nanoseconds in one step.
  package static let stepNanoseconds: Int64 = 10_000_000
  /// Samples a channel that one pull from the jitter buffer gives: 5 ms. What is late is late by
  /// whole pulls.
  package static let pullSampleCount = 240
  /// Nanoseconds in one pull.
  package static let pullNanoseconds: Int64 = 5_000_000
  /// The least peak, of 16 bits, of what is no silence: −54 dBFS. Noise that is made up while
  /// nothing comes stays below it.
  package static let audible = 64
  /// The largest Opus frame (RFC 6716 §3.2.1), hence the largest payload we carry.
  package static let maxPayloadByteCount = 1275
  /// The longest Opus packet, 120 ms (RFC 6716 §3.2.5 R5), in samples a channel.
  package static let maxPacketSampleCount = 5760

  /// How long `samples` samples a channel last, in nanoseconds.
  package static func nanoseconds(samples: Int64) -> Int64 {
    // 10⁹ / 48 000 = 62 500 / 3.
    samples &* 62_500 / 3
  }

  /// How many samples a channel fit into `nanoseconds`, rounded towards zero.
  package static func samples(nanoseconds: Int64) -> Int64 { nanoseconds &* 3 / 62_500 }
}

/// How much audio one packet carries.
package enum FrameLength: Int, CaseIterable, Sendable, BitwiseCopyable {
  case milliseconds10 = 10
  case milliseconds20 = 20
  case milliseconds40 = 40
  case milliseconds60 = 60

  package var milliseconds: Int { rawValue }
  /// Samples a channel.
  package var sampleCount: Int { rawValue * AudioFormat.sampleRateHz / 1000 }
  /// How far the audio time on the wire advances from one packet to the next.
  package var stepCount: UInt16 { UInt16(rawValue / 10) }
}
