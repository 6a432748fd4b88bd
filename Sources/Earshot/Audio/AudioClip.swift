/// Sound in memory: music to be mixed into a call, or an effect (`Call.startAudioMixing`,
/// `Call.playEffect`).
public struct AudioClip: Sendable, Equatable {
  /// 48 kHz, interleaved.
  public let samples: [Int16]
  /// 1 or 2.
  public let channelCount: Int

  /// `nil` without a sample, with other channels than one or two, or with half a frame at the end.
  public init?(samples: [Int16], channelCount: Int) {
    guard channelCount == 1 || channelCount == 2, !samples.isEmpty,
      samples.count.isMultiple(of: channelCount)
    else { return nil }
    self.samples = samples
    self.channelCount = channelCount
  }

  /// Samples of each channel.
  public var frameCount: Int { samples.count / channelCount }
  /// How long it plays.
  public var duration: Duration { .nanoseconds(Int64(frameCount) * 1_000_000_000 / 48_000) }
}
