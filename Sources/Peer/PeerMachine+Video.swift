import Calling
package import Congestion
package import Primitives
package import Video
package import Wire

/// What the encoder is to do with its next picture.
package struct VideoDemand: Equatable, Sendable {
  package var bitsPerSecond: Int
  /// The same without what a queue of the moment takes off: what the picture's size may follow.
  package var steadyBitsPerSecond: Int
  package var needsKeyFrame: Bool
  /// What the picture is to fit into, and how many there may be in a second.
  package var box: PictureSize?
  package var framesPerSecond: Int?

  package init(bitsPerSecond: Int, steadyBitsPerSecond: Int? = nil, needsKeyFrame: Bool) {
    self.bitsPerSecond = bitsPerSecond
    self.steadyBitsPerSecond = steadyBitsPerSecond ?? bitsPerSecond
    self.needsKeyFrame = needsKeyFrame
  }
}

/// Encoded video in and out.
extension PeerMachine {
  /// What is asked of the next picture of `callID`; `nil` while none is to be encoded: the call
  /// carries no video from here, it is muted or fallen back to audio alone, or more than two frames
  /// wait to be sent. Asking takes the wish for a key frame.
  ///
  /// - Parameter ahead: in what time that picture will be here; until then what waits goes on
  ///   leaving. Who asks when a frame was just handed over says the time from picture to picture.
  package mutating func videoDemand(
    of callID: CallID, now: Instant, ahead: Duration = .zero
  ) -> VideoDemand? {
    guard let link = link(callID), let association = link.association else { return nil }
    return link.media.videoDemand(on: association, now: now, ahead: ahead)
  }

  /// Queues one encoded frame; `bytes` comes back with other memory, to be used again.
  ///
  /// - Parameter mediaTime: in 10 ms / 256 of the audio's media time (frames.md §10).
  /// - Returns: its number; `nil` if it is not sent: no video flows, or it needs a frame that was
  ///   left out.
  package mutating func sendVideo(
    _ frame: EncodedFrame, bytes: inout [UInt8], mediaTime: UInt32, on callID: CallID,
    now: Instant
  ) -> UInt16? {
    guard let link = link(callID), let association = link.association else { return nil }
    return link.media.sendVideo(
      frame, bytes: &bytes, mediaTime: mediaTime, on: association, now: now)
  }

  /// The next frame to decode, whose bytes replace those of `output`; `nil` when there is none.
  package mutating func pollVideo(
    of callID: CallID, into output: inout [UInt8], now: Instant
  ) -> AssembledFrame? {
    guard let video = link(callID)?.media.video else { return nil }
    let frame = video.assembler.poll(into: &output, now: now)
    if frame == nil { video.hasToldArrival = false }
    return frame
  }

  /// The decoder could not use a frame: only a key frame helps.
  package mutating func videoDecodeFailed(of callID: CallID, now: Instant) {
    link(callID)?.media.video?.assembler.handleDecodeFailure(now: now)
  }

  /// What audio may take of the line at the moment, IP and UDP included, in bit/s; `nil` while the
  /// call has no session.
  package func audioAllowance(of callID: CallID) -> Int? { link(callID)?.audioAllowance }

  // MARK: - Routing

  /// Frames may wait for `pollVideo`.
  mutating func announceVideo(_ link: CallLink) {
    guard let video = link.media.video, !video.hasToldArrival else { return }
    video.hasToldArrival = true
    publishStep(link, .videoArrived)
  }

  mutating func handleVideoTimeout(_ link: CallLink, now: Instant) {
    guard let video = link.media.video, let association = link.association else { return }
    if let deadline = video.requestDeadline, deadline <= now { announceVideo(link) }
    let changes = link.media.checkVideo(on: association, now: now)
    if let change = changes.publishing {
      publishStep(link, .publishFallback(change))
      sendMediaState(link)
    }
    if let change = changes.subscribing {
      publishStep(link, .subscribeFallback(change, isSmall: video.subscribesSmall))
    }
    sendMediaControl(link, now: now)
    if let rate = video.pollTest(now: now) { sendControl(.videoTest(rate), on: link, now: now) }
  }

  /// The other side no longer wants video, or wants it again.
  mutating func handleMediaWanted(_ wanted: MediaState, _ link: CallLink, now: Instant) {
    let hasVideo = link.media.video?.handleWanted(wanted)
    sendMediaState(link)
    if hasVideo == true { publishStep(link, .remoteWants(wanted)) }
  }

  /// What the media have to say there, once there is a session.
  func sendMediaControl(_ link: CallLink, now: Instant) {
    guard link.association != nil else { return }
    for control in link.media.takeControl() { sendControl(control, on: link, now: now) }
  }

  /// Says what is sent from now on, if the other side does not know it.
  mutating func sendMediaState(_ link: CallLink) {
    do throws(CallRefusal) {
      try ledger.setMedia(link.callID, link.media.state)
    } catch {
      // The call is over: there is nobody to tell.
    }
  }
}

/// What both sides have asked each other for.
package struct VideoRequests: Sendable {
  /// Numbers of own frames of which the other side lacked something, at most 32.
  package var frames: [UInt16]
  /// Numbers of the other side's frames of which something was asked for here, at most 32.
  package var framesWanted: [UInt16]
  /// Requests for a key frame since the call began: the other side's, and this one's.
  package var keyFramesAsked: Int
  package var keyFramesWanted: Int
}

// MARK: - Numbers

/// What is known of the path that media goes out on.
package struct CongestionNumbers: Sendable {
  /// Rates in bit/s on the line, IP and UDP included.
  package var estimate: Double
  package var acknowledgedRate: Double
  /// The greatest delivery rate since the estimate began.
  package var maximumDeliveryRate: Double
  package var audioRate: Double
  package var pacingRate: Double
  /// What other calls at the same time leave this one; infinite while it is alone.
  package var share: Double
  /// In microseconds: standing now, and the percentiles of all packets of the call.
  package var queueDelay: Double
  package var queueDelayP50: Double?
  package var queueDelayP95: Double?
  package var state: BandwidthEstimator.State
  package var reason: BandwidthEstimator.Reason
  package var bytesInFlight: Int

  /// The estimate as far as it is more than a hope: half as much again as was carried, at most.
  package var believedRate: Double { min(estimate, maximumDeliveryRate * 1.5) }
}

/// Both halves of a call's video.
package struct VideoNumbers: Sendable {
  package var sent: VideoSendStatistics
  package var received: VideoReceiveStatistics
  /// In bytes, and for how long the oldest waits.
  package var queuedByteCount: Int
  /// Of padding, as sealed: to see what the path carries, and how long packets may be.
  package var paddingByteCount: Int
  package var queueDelay: Duration
  package var isPublishing: Bool
  package var isSmallSent: Bool
  /// What the other side says that it sends.
  package var remote: MediaState
}

extension Association {
  /// Of the way out; `nil` where no media goes.
  var congestion: CongestionNumbers? {
    guard let uplink else { return nil }
    let delays = uplink.queueDelays
    let percentile = { (share: Double) in delays.percentile(share).map { Double($0) / 1_000 } }
    return CongestionNumbers(
      estimate: uplink.estimator.estimate, acknowledgedRate: uplink.estimator.acknowledgedRate,
      maximumDeliveryRate: uplink.estimator.maximumDeliveryRate, audioRate: uplink.audioRate,
      pacingRate: uplink.gate.rate,
      share: uplink.share, queueDelay: uplink.estimator.standingDelay,
      queueDelayP50: percentile(0.5),
      queueDelayP95: percentile(0.95), state: uplink.estimator.state,
      reason: uplink.estimator.reason, bytesInFlight: history.bytesInFlight)
  }
}
