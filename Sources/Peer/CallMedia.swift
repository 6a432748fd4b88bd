package import Congestion
package import Primitives
import Video
package import Wire

/// The media of one call: what is sent, in which order and when, and what has come
/// (docs/congestion.md).
///
/// Knows no path and no rules of calling: its owner gives it the session and the time, and takes
/// the packets. In a call `CallLink` is the owner; the congestion laboratory puts the packets on a
/// modelled link. A class, because its parts are large and change in place.
package final class CallMedia {
  /// The rules let media flow.
  package var mayStart = false
  var outgoingAudio: AudioFrameQueue
  var incomingAudio: IncomingAudio
  package internal(set) var counters = MediaCounters()
  var unsent = UnsentFrames()
  package var isAudioMuted = false
  /// Of audio and video, what the application has switched off; the other side is told.
  package var switchedOff = MediaState()
  /// Its part of an uplink that it shares with other calls, against theirs.
  package var uplinkWeight = 1.0
  /// Its number in the endpoint's `UplinkBudget`, while two calls or more have media.
  var budgetNumber: Int?
  /// Where both or one of the sides have video.
  package var video: VideoLink?
  /// Its numbers, when it is over.
  private(set) var lastVideo: VideoNumbers?

  /// - Parameters:
  ///   - audioToSend: Frames of audio that wait at most to be sent.
  ///   - receivedAudio: Frames of audio that wait at most for the pipeline.
  package init(audioToSend: Int, receivedAudio: Int) {
    outgoingAudio = AudioFrameQueue(capacity: audioToSend)
    incomingAudio = IncomingAudio(capacity: receivedAudio)
  }

  /// The session stands: from now on its packets tell what the path carries.
  ///
  /// - Parameter hasVideo: Both sides can have video.
  package func open(on association: Association, hasVideo: Bool) {
    if !hasVideo { video = nil }
    association.begin(Uplink(EstimatorLimits(video?.settings)))
    association.uplink?.setElastic(video?.isPublishing ?? false)
    association.recorder.interval =
      hasVideo ? FeedbackRecorder.usualInterval : FeedbackRecorder.audioInterval
  }

  /// The call is over.
  func close(now: Instant) {
    mayStart = false
    outgoingAudio.removeAll()
    incomingAudio.close()
    lastVideo = videoNumbers(now: now)
    video = nil
  }

  /// What a frame of media brought.
  package enum Arrival: Sendable {
    case audio, audioControl, video, videoRequest
  }

  /// Takes a frame that carries media or asks for some.
  ///
  /// - Returns: `nil` if it does neither.
  package func handle(
    _ frame: Frame, in packet: Span<UInt8>, on association: Association, now: Instant
  ) -> Arrival? {
    switch frame {
    case .audio(let audio, let body):
      handleAudio(audio, packet.bytes(at: body), on: association, now: now)
      return .audio
    case .audioReport(let body), .audioRequest(let body):
      handleAudioControl(frame, packet.bytes(at: body), on: association, now: now)
      return .audioControl
    case .video, .videoNack:
      let isPicture = handleVideo(frame, in: packet, on: association, now: now)
      return isPicture ? .video : .videoRequest
    default: return nil
    }
  }

  /// Writes the next packet in the order of the classes: audio, reports and messages, video, bulk,
  /// padding.
  ///
  /// - Returns: its class; `nil` while nothing may leave.
  @_lifetime(packet: copy packet)
  package func writePacket(
    into packet: inout OutputSpan<UInt8>, on association: Association,
    random: inout RandomSource, now: Instant
  ) -> SendClass? {
    if writeAudio(into: &packet, on: association, now: now) { return .audio }
    if association.writePacket(into: &packet, random: &random, now: now) { return .feedback }
    if let sendClass = writeVideo(into: &packet, on: association, now: now) { return sendClass }
    if mayStart, association.writeBulk(into: &packet, now: now) { return .bulk }
    return writePadding(into: &packet, on: association, now: now)
  }

  /// What the other side is to be told that is sent.
  var state: MediaState {
    let audio: MediaState = isAudioMuted ? [] : .audio
    return audio.union(video?.state ?? []).union(switchedOff)
  }

  /// What is to be said of them on call control.
  func takeControl() -> [CallControlMessage] { video?.takeControl() ?? [] }

  /// Settings of video may have changed what the path is used for.
  func limitUplink(of association: Association?) {
    guard let video, association?.hasUplink == true else { return }
    association?.uplink?.limit(to: EstimatorLimits(video.settings))
  }

  /// Whether this side sends video from now on.
  package func setVideo(sends: Bool) {
    guard let video else { return }
    video.isEnabled = sends
    if !sends { video.sender.discardWaiting() }
  }

  /// Whether this side wants the other's video, because the user says so.
  package func setWantsVideo(_ isWanted: Bool, now: Instant) {
    guard let video, video.wish.isRefused == isWanted else { return }
    video.wish.isRefused = !isWanted
    // What is on its way is not decoded: only a key frame helps.
    if isWanted { video.assembler.handleDecodeFailure(now: now) }
  }

  /// What was asked for since this was last called.
  package func takeVideoRequests() -> VideoRequests? {
    guard let video else { return nil }
    return VideoRequests(
      frames: video.sender.takeRequestedFrames(),
      framesWanted: video.assembler.takeRequestedFrames(),
      keyFramesAsked: video.sender.statistics.pliCount,
      keyFramesWanted: video.assembler.statistics.pliCount)
  }

  func videoNumbers(now: Instant) -> VideoNumbers? {
    guard let video else { return nil }
    return VideoNumbers(
      sent: video.sender.statistics, received: video.assembler.statistics,
      queuedByteCount: video.sender.queuedByteCount,
      paddingByteCount: video.fill.paddingByteCount,
      queueDelay: video.sender.queueDelay(now: now), isPublishing: video.isPublishing,
      isSmallSent: video.isSmallSent, remote: video.remote)
  }
}
