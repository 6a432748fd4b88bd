import Congestion
import Primitives
import Wire

/// What one side of a call wants of video, said when it invites or accepts.
package struct VideoSettings: Equatable, Sendable {
  /// Whether this side begins to send at once; it may begin later as well (`setVideo`).
  package var sends = true
  /// Of encoded video, bit/s.
  package var mostBitsPerSecond = 2_500_000
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

  package init() {}

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
