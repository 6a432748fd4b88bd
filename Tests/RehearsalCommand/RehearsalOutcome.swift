/// What a rehearsed call says of itself; times in seconds from the begin of the line's course.
struct RehearsalOutcome: Codable, Equatable {
  struct Fallback: Codable, Equatable {
    var at: Double
    var isOn: Bool
    var reason: String
  }

  /// Every half second: what the `stats` lines of the real programs say.
  struct Sample: Codable, Equatable {
    var at: Double
    /// At the callee, since the call began.
    var samplesHeard: UInt64
    var samplesConcealed: UInt64
    /// The same of VP8, in bytes: each part once, without headers.
    var videoBytesReceived: UInt64
    /// At the caller, since the call began.
    var videoPacketsSent: UInt64
    /// At the caller, bit/s on the line.
    var estimate: Double
    /// What the caller's sound is encoded with, bit/s.
    var audioBitrate: Int
    /// The same, milliseconds a frame.
    var frameMilliseconds: Int
    /// The same, copies of each frame for what is lost.
    var audioCopies: Int
  }

  var zero: UInt64 = 0
  var fallbacks: [Fallback] = []
  /// When a key frame was whole at the callee.
  var keyFrames: [Double] = []
  var framesReceived = 0
  /// What the caller says at the end of how long its packets waited, 95th percentile, milliseconds.
  var queueDelayP95: Double?
  var samples: [Sample] = []
}
