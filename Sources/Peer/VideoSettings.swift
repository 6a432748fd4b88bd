import Congestion
import Primitives
package import Video
package import Wire

/// What one side of a call wants of video, said when it invites or accepts.
package struct VideoSettings: Equatable, Sendable {
  /// Whether this side begins to send at once; it may begin later as well (`setVideo`).
  package var sends = true
  /// Of encoded video, bit/s.
  package var mostBitsPerSecond = 2_500_000
  /// The same in a call of two whose user says nothing, bit/s: what 1920×1080 at 30 is worth.
  package static let usualMost = 8_000_000
  /// The least that is worth sending, bit/s: 160×120 at 8 pictures a second.
  package var leastBitsPerSecond = 60_000
  /// Of encoded audio, bit/s, and the length of its frames in milliseconds.
  package var audioBitsPerSecond = 32_000
  package var audioFrameMilliseconds = 20
  /// Whether video is left out where the path cannot carry it beside the audio.
  package var fallsBack = true
  /// Whether frames get parity where asking again takes too long.
  package var protects = true
  /// What a test of the line has found a moment ago, bit/s.
  package var priorRate: Double?
  /// What is asked of the other side where the path does not carry its video; `nil` = audio alone
  /// if `fallsBack`.
  package var subscribeFallback: SubscribeFallback?
  /// What the own pictures are made to fit into, and how many there may be in a second.
  package var box: PictureSize?
  package var framesPerSecond: Int?
  /// What the other side may have in place of the usual pictures; `nil` = nothing.
  package var small: SmallVideo? { didSet { isSmallTold = isSmallTold && small == oldValue } }
  /// Other calls' pictures give way first.
  package var hasPriority = false
  private var isSmallTold = true

  package init() {}

  /// What gives way where the path here does not carry the other side's video.
  package enum SubscribeFallback: Sendable, Equatable {
    case disabled
    /// Small pictures in place of the usual ones.
    case smallVideo
    /// The same, then none.
    case audioOnly
  }

  var subscribes: SubscribeFallback { subscribeFallback ?? (fallsBack ? .audioOnly : .disabled) }

  /// The offer of small pictures, where the other side does not know it: `.some(nil)` = none.
  mutating func takeSmallToTell() -> SmallVideo?? {
    guard !isSmallTold else { return nil }
    isSmallTold = true
    return .some(small)
  }

  /// Audio with its headers on the line, bit/s.
  var audioLineRate: Double {
    Double(audioBitsPerSecond) + 8_000 / Double(max(audioFrameMilliseconds, 10)) * Self.overhead
  }

  /// Packets of video carry at least this share of payload.
  private static let payloadShare = 300.0 / 363
  /// IP and UDP, DATA header and tag, and the AUDIO frame's own.
  private static let overhead = 28.0 + 25 + 3

  var fallbackLimits: FallbackLimits {
    FallbackLimits(
      audio: audioLineRate, leastVideo: Double(leastBitsPerSecond) / Self.payloadShare)
  }

  /// A sender that falls back by itself comes first: it knows sooner. So do the calls beside one
  /// that has priority.
  var subscribeLimits: FallbackLimits {
    var limits = fallbackLimits
    let times: Int64 = hasPriority ? 3 : 1
    limits.rateTime = .seconds(3 * times)
    limits.lossTime = .seconds(4 * times)
    limits.delayTime = .seconds(2 * times)
    return limits
  }
}

extension EstimatorLimits {
  /// For a call with these settings; `nil` is audio alone.
  ///
  /// - Parameter audio: What audio takes of the line without redundancy, bit/s.
  init(_ video: VideoSettings?) {
    self.init()
    // Audio alone has use for four times its rate, with all the copies there are, in stereo.
    most = 600_000
    guard let video else { return }
    // A picture leaves at no more than this: with a tenth more than pictures take on average, one
    // of 8 kB took 23 ms, where the path had room.
    most = max(most, (Double(video.mostBitsPerSecond) * 1.1 + 4 * video.audioLineRate) * 1.6)
    prior = video.priorRate
  }
}
