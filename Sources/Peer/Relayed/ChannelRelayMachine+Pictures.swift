import Congestion
package import Primitives
import SecureSession
package import Video
import Wire

/// Pictures by way of a relay (docs/protocol/relay.md §3).
extension ChannelRelayMachine {
  /// What a member sends and wants of pictures.
  package struct PictureSettings: Sendable {
    package var video: VideoSettings
    /// Those of others are wanted.
    package var receives: Bool

    package init(_ video: VideoSettings, receives: Bool) {
      self.video = video
      self.receives = receives
    }
  }

  /// What is asked of the next own picture; `nil` while none is to be encoded. Asking takes the
  /// wish for a key frame.
  ///
  /// - Parameter ahead: In what time that picture will be here.
  package mutating func pictureDemand(now: Instant, ahead: Duration) -> VideoDemand? {
    guard isConnected, let association = link.association else { return nil }
    return pictures?.demand(on: association, now: now, ahead: ahead)
  }

  /// The same of the low stream beside it: `nil` while nobody is to have that.
  package mutating func lowPictureDemand(now: Instant) -> VideoDemand? {
    guard isConnected, let association = link.association else { return nil }
    return pictures?.lowDemand(on: association, now: now)
  }

  /// Seals one encoded picture and queues it; `bytes` comes back with other memory.
  ///
  /// - Returns: `false` if it is not sent.
  package mutating func sendPicture(
    _ frame: EncodedFrame, bytes: inout [UInt8], mediaTime: UInt32, now: Instant
  ) -> Bool {
    guard isConnected, let pictures, let association = link.association else { return false }
    return pictures.send(
      frame, bytes: &bytes, mediaTime: mediaTime, keys: &keys, on: association, now: now)
  }

  /// The next picture of a host, opened; its bytes replace those of `output`.
  package mutating func pollPicture(
    of uid: UInt32, into output: inout [UInt8], now: Instant
  ) -> AssembledFrame? {
    let found = pictures?.poll(of: uid, into: &output, keys: &keys, now: now)
    while let pause = pictures?.popPause() {
      publish(.picturesPaused(uid: pause.uid, isPaused: pause.isPaused))
    }
    guard let found else { return nil }
    if found.isFirst { publish(.firstPicture(uid: uid)) }
    if let stream = found.stream { publish(.pictureStreamChanged(uid: uid, isLow: stream == 1)) }
    return found.frame
  }

  /// The decoder could not use a picture: only a key frame helps.
  package mutating func pictureFailed(of uid: UInt32, now: Instant) {
    pictures?.handleDecodeFailure(of: uid, now: now)
  }

  /// The own pictures are kept back from now on, or go on.
  package mutating func setVideoMuted(_ isMuted: Bool, now: Instant) {
    pictures?.setMuted(isMuted, now: now)
  }

  // MARK: - Parts

  mutating func handlePictureTimeout(now: Instant) {
    guard isConnected, let pictures, let association = link.association else { return }
    if let change = pictures.handleTimeout(on: association, now: now) {
      publish(.publishFallback(change))
    }
    pictures.sayPaused(keys: &keys, now: now)
    if let smoothed = roundTrip?.smoothed {
      pictures.setRoundTrip(.nanoseconds(Int64(clamping: smoothed)))
    }
    for uid in pictures.takeDue(now: now) { publish(.pictureArrived(uid: uid)) }
  }

  /// A fragment of whoever has that source.
  mutating func handlePicture(
    _ frame: VideoMediaFrame, at payload: PacketRange, in bytes: [UInt8], source: UInt8,
    now: Instant
  ) {
    guard let uid = inbox.owner(of: source), let pictures else { return }
    talk.seats.noteSign(of: uid, now: now)
    link.association?.recorder.interval = FeedbackRecorder.usualInterval
    let isNews = pictures.handle(
      frame, bytes.span.bytes(at: payload), of: uid, source: source, now: now)
    if isNews { publish(.pictureArrived(uid: uid)) }
  }

  /// What the relay says of the own pictures, and of what it sends of others'.
  mutating func handlePictureWord(_ frame: Frame, in bytes: [UInt8], now: Instant) {
    switch frame {
    case .videoNack(let request):
      guard let association = link.association else { return }
      pictures?.handle(request, in: bytes.span, on: association, now: now)
    case .channelWants(let rate): pictures?.handleWants(rate, now: now)
    case .channelLow(let low):
      if let view = pictures?.handleLow(low, now: now) { publish(.pictureViewChanged(view)) }
    default: break
    }
  }
}
