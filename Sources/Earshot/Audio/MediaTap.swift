internal import Audio
internal import Peer
internal import Primitives
internal import Reactor
internal import Video
internal import Wire

/// Shows the decrypted media of one call to whoever captures it (`Endpoint.captureMedia`).
struct MediaTap {
  let capture: any MediaCapture
  let local: SocketAddress
  let remote: SocketAddress

  /// - Parameters:
  ///   - body: of an AUDIO frame.
  ///   - age: how long ago it came, in nanoseconds; `nil` for what is sent.
  func show(_ body: Span<UInt8>, _ frame: AudioMediaFrame, age: UInt64?) {
    let payload = Self.primary(of: body, hasCopies: frame.hasCopies)
    guard !payload.isEmpty else { return }
    capture.capture(
      CapturedFrame(
        isOutgoing: age == nil, local: local, remote: remote, mediaTime: frame.mediaTime,
        isMarked: frame.isMarked, wallNanoseconds: SystemClock.wallNanoseconds &- (age ?? 0)),
      payload: payload)
  }

  /// The frame's own Opus packet, without copies: what RTP would carry.
  private static func primary(of body: Span<UInt8>, hasCopies: Bool) -> [UInt8] {
    var bytes: [UInt8] = []
    do throws(WireError) {
      let range = try AudioBody(body, hasCopies: hasCopies).primary
      bytes.reserveCapacity(range.count)
      for index in range.range { bytes.append(body[index]) }
    } catch {
      return []  // Checked when its packet was read, and counted there.
    }
    return bytes
  }

  /// An own video frame that leaves.
  func show(_ frame: EncodedFrame, _ number: UInt16, _ mediaTime: UInt32, _ bytes: [UInt8]) {
    capture.capture(
      CapturedVideoFrame(
        isOutgoing: true, local: local, remote: remote, mediaTime: mediaTime, number: number,
        temporalLayer: frame.temporalLayer, isKeyFrame: frame.isKeyFrame,
        fragmentByteCount: VideoMediaFrame.payloadByteCounts.upperBound,
        wallNanoseconds: SystemClock.wallNanoseconds), payload: bytes)
  }

  /// A video frame that has come.
  func show(_ frame: AssembledFrame, _ bytes: [UInt8]) {
    let age = SystemClock.now.nanoseconds(since: frame.completed)
    capture.capture(
      CapturedVideoFrame(
        isOutgoing: false, local: local, remote: remote, mediaTime: frame.mediaTime,
        number: frame.number, temporalLayer: frame.temporalLayer, isKeyFrame: frame.isKeyFrame,
        fragmentByteCount: VideoMediaFrame.payloadByteCounts.upperBound,
        wallNanoseconds: SystemClock.wallNanoseconds &- age), payload: bytes)
  }

  /// What of video was asked for since the last picture.
  func showRequests(_ callID: Wire.CallID, _ record: CallRecord, _ machine: inout PeerMachine) {
    guard let requests = machine.media(of: callID)?.takeVideoRequests() else { return }
    let captured = record.told.keyFrameRequests
    record.told.keyFrameRequests = (requests.keyFramesAsked, requests.keyFramesWanted)
    let isAsked = requests.keyFramesAsked > captured.theirs
    let isWanted = requests.keyFramesWanted > captured.own
    var request = CapturedVideoRequest(
      isOutgoing: false, local: local, remote: remote, wantsKeyFrame: isAsked,
      frames: requests.frames, wallNanoseconds: SystemClock.wallNanoseconds)
    if isAsked || !requests.frames.isEmpty { capture.capture(request) }
    guard isWanted || !requests.framesWanted.isEmpty else { return }
    request.isOutgoing = true
    request.wantsKeyFrame = isWanted
    request.frames = requests.framesWanted
    capture.capture(request)
  }
}

extension Endpoint {
  /// `nil` while nobody captures, or the call has no path.
  func tap(_ callID: Wire.CallID, _ machine: borrowing PeerMachine) -> MediaTap? {
    guard let capture, let remote = machine.statistics(of: callID)?.remote else { return nil }
    return MediaTap(capture: capture, local: localAddress(toward: remote), remote: remote)
  }
}
