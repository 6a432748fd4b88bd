internal import Peer
internal import Primitives
internal import Reactor
internal import Video
internal import Wire

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

extension Endpoint {
  func captureVideo(
    _ frame: EncodedFrame, _ number: UInt16, _ mediaTime: UInt32, _ bytes: [UInt8],
    of callID: Wire.CallID,
    _ machine: borrowing PeerMachine, to capture: any MediaCapture
  ) {
    guard let remote = machine.statistics(of: callID)?.remote else { return }
    capture.capture(
      CapturedVideoFrame(
        isOutgoing: true, local: localAddress(toward: remote), remote: remote,
        mediaTime: mediaTime, number: number, temporalLayer: frame.temporalLayer,
        isKeyFrame: frame.isKeyFrame,
        fragmentByteCount: VideoMediaFrame.payloadByteCounts.upperBound,
        wallNanoseconds: SystemClock.wallNanoseconds), payload: bytes)
  }

  func captureVideo(
    _ frame: AssembledFrame, _ bytes: [UInt8], of callID: Wire.CallID,
    _ machine: borrowing PeerMachine, to capture: any MediaCapture
  ) {
    guard let remote = machine.statistics(of: callID)?.remote else { return }
    let age = SystemClock.now.nanoseconds(since: frame.completed)
    capture.capture(
      CapturedVideoFrame(
        isOutgoing: false, local: localAddress(toward: remote), remote: remote,
        mediaTime: frame.mediaTime, number: frame.number, temporalLayer: frame.temporalLayer,
        isKeyFrame: frame.isKeyFrame,
        fragmentByteCount: VideoMediaFrame.payloadByteCounts.upperBound,
        wallNanoseconds: SystemClock.wallNanoseconds &- age), payload: bytes)
  }

  /// What was asked for since the last picture.
  func captureRequests(
    _ callID: Wire.CallID, _ record: CallRecord, _ machine: inout PeerMachine,
    to capture: any MediaCapture
  ) {
    guard let requests = machine.takeVideoRequests(of: callID) else { return }
    let captured = record.capturedKeyFrameRequests
    record.capturedKeyFrameRequests = (requests.keyFramesAsked, requests.keyFramesWanted)
    let isAsked = requests.keyFramesAsked > captured.theirs
    let isWanted = requests.keyFramesWanted > captured.own
    let isWanting = isWanted || !requests.framesWanted.isEmpty
    guard isAsked || isWanting || !requests.frames.isEmpty,
      let remote = machine.statistics(of: callID)?.remote
    else { return }
    var request = CapturedVideoRequest(
      isOutgoing: false, local: localAddress(toward: remote), remote: remote,
      wantsKeyFrame: isAsked, frames: requests.frames,
      wallNanoseconds: SystemClock.wallNanoseconds)
    if isAsked || !requests.frames.isEmpty { capture.capture(request) }
    guard isWanting else { return }
    request.isOutgoing = true
    request.wantsKeyFrame = isWanted
    request.frames = requests.framesWanted
    capture.capture(request)
  }
}
