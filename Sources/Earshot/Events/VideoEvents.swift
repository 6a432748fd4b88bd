/// A change between video with audio, and audio alone.
public struct FallbackChange: Sendable, Equatable {
  /// Whose doing it is.
  public enum Direction: String, Sendable, Equatable {
    /// What this side sends: its uplink does not hold it.
    case publish
    /// What this side asks of the other: the downlink does not hold it.
    case subscribe
  }

  /// What brought it about.
  public enum Reason: String, Sendable, Equatable {
    /// The estimate does not hold audio and the smallest video.
    case rate
    /// Of the packets too many are lost.
    case loss
    /// The queue is far too long.
    case delay
    /// Nothing is reported.
    case silence
    /// Video was shown to fit again.
    case recovered
  }

  /// Whose doing it is.
  public var direction: Direction
  /// Audio alone from now on, or video again.
  public var isAudioOnly: Bool
  /// The video is the other side's low pictures from now on (`VideoStreamKind`).
  public var isLowStream = false
  /// What brought it about.
  public var reason: Reason
  /// The estimate that it was decided on, in bit/s.
  public var estimateBps: Double
  /// What that was held against, in bit/s.
  public var neededBps: Double
  /// The share of packets lost, 0...1.
  public var loss: Double
  /// When, in milliseconds since the call's zero point.
  public var atMs: Int

  package init(
    _ direction: Direction, isAudioOnly: Bool, reason: Reason, estimateBps: Double,
    neededBps: Double, loss: Double, atMs: Int
  ) {
    self.direction = direction
    self.isAudioOnly = isAudioOnly
    self.reason = reason
    self.estimateBps = estimateBps
    self.neededBps = neededBps
    self.loss = loss
    self.atMs = atMs
  }
}
