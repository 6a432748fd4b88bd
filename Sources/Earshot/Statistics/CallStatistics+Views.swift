extension CallStatistics {
  /// What both sides think of the line, and which pictures they send.
  struct Views: Sendable, Equatable {
    var qualityTx = 0
    var qualityRx = 0
    var remoteQualityTx: Int?
    var remoteQualityRx: Int?
    var videoStreamSent = VideoStreamKind.high
    var videoStreamReceived = VideoStreamKind.high
    var lastVideoPacket: Double?
  }

  /// Grade of the own sending, 0...6 (0 unknown, 1 excellent ... 5 very bad, 6 down): by the loss
  /// before any repair, the round trip, the jitter, and where pictures would be better with more by
  /// what the line carries. Every 2 s that of the time since; in the report at the end that of the
  /// whole call, and no better than any six seconds of it running.
  public var qualityTx: Int {
    get { views.qualityTx }
    set { views.qualityTx = newValue }
  }
  /// The same of what is received, 0...6.
  public var qualityRx: Int {
    get { views.qualityRx }
    set { views.qualityRx = newValue }
  }
  /// What the other side thinks of the way that it sends on: 0...6 as `qualityTx`; `nil` before it
  /// has said.
  public var remoteQualityTx: Int? {
    get { views.remoteQualityTx }
    set { views.remoteQualityTx = newValue }
  }
  /// What the other side thinks of the way that it receives on.
  public var remoteQualityRx: Int? {
    get { views.remoteQualityRx }
    set { views.remoteQualityRx = newValue }
  }
  /// Which pictures this side sends: the other side chooses.
  public var videoStreamSent: VideoStreamKind {
    get { views.videoStreamSent }
    set { views.videoStreamSent = newValue }
  }
  /// Which pictures the other side sends, as it says.
  public var videoStreamReceived: VideoStreamKind {
    get { views.videoStreamReceived }
    set { views.videoStreamReceived = newValue }
  }
  /// When a packet of received video came last, in milliseconds since 1970 UTC; `nil` before the
  /// first (`lastPacketReceivedTimestamp` of W3C).
  public var lastVideoPacketReceivedTimestamp: Double? {
    get { views.lastVideoPacket }
    set { views.lastVideoPacket = newValue }
  }
}
