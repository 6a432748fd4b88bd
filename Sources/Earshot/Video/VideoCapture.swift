public import Primitives

/// What is known of a captured video frame besides its bytes.
public struct CapturedVideoFrame: Sendable {
  /// Whether it leaves.
  public var isOutgoing: Bool
  /// The own address.
  public var local: SocketAddress
  /// The other side's address.
  public var remote: SocketAddress
  /// Media time, 24 bits in 10 ms / 256; × 900 / 256 it is the RTP timestamp at 90 kHz.
  public var mediaTime: UInt32
  /// Counts the frames of the stream, as on the wire.
  public var number: UInt16
  /// 0, or higher for what may be left out.
  public var temporalLayer: UInt8
  /// Whether it refers to nothing.
  public var isKeyFrame: Bool
  /// Bytes of a packet's payload at the most: how the frame is cut.
  public var fragmentByteCount: Int
  /// Nanoseconds since 1970 UTC.
  public var wallNanoseconds: UInt64

  package init(
    isOutgoing: Bool, local: SocketAddress, remote: SocketAddress, mediaTime: UInt32,
    number: UInt16, temporalLayer: UInt8, isKeyFrame: Bool, fragmentByteCount: Int,
    wallNanoseconds: UInt64
  ) {
    self.isOutgoing = isOutgoing
    self.local = local
    self.remote = remote
    self.mediaTime = mediaTime
    self.number = number
    self.temporalLayer = temporalLayer
    self.isKeyFrame = isKeyFrame
    self.fragmentByteCount = fragmentByteCount
    self.wallNanoseconds = wallNanoseconds
  }
}

/// What one side asks of the other's video: parts of frames again, or a key frame.
public struct CapturedVideoRequest: Sendable {
  /// Whether this side asks.
  public var isOutgoing: Bool
  /// The own address.
  public var local: SocketAddress
  /// The other side's address.
  public var remote: SocketAddress
  /// A key frame is asked for.
  public var wantsKeyFrame: Bool
  /// Numbers of frames of which something was missing: of one's own frames where the other side
  /// asks, else of the other side's.
  public var frames: [UInt16]
  /// Nanoseconds since 1970 UTC.
  public var wallNanoseconds: UInt64

  package init(
    isOutgoing: Bool, local: SocketAddress, remote: SocketAddress, wantsKeyFrame: Bool,
    frames: [UInt16] = [], wallNanoseconds: UInt64
  ) {
    self.isOutgoing = isOutgoing
    self.local = local
    self.remote = remote
    self.wantsKeyFrame = wantsKeyFrame
    self.frames = frames
    self.wallNanoseconds = wallNanoseconds
  }
}
