import Calling
package import Congestion
package import Connectivity
package import Primitives
import SecureSession
package import Wire

/// A received body of audio, as `PeerMachine.pollAudio` gives it.
package struct ReceivedAudio: BitwiseCopyable, Sendable {
  package var header: AudioBodyHeader
  /// When the kernel took its packet.
  package var arrival: Instant
  package var byteCount: Int
}

/// Encoded audio in and out: before and behind `AudioFrameQueue.swift`, station 5 of the house
/// tour. Nothing here allocates.
extension PeerMachine {
  /// Queues one encoded frame for the packet that leaves with the next drain.
  ///
  /// - Parameter payload: an Opus packet or, with `hasCopies`, a body that `AudioBody` reads.
  /// - Returns: `false` if this call may not send now.
  package mutating func sendAudio(
    _ payload: Span<UInt8>, mediaTime: UInt16, length: AudioMediaFrame.Length, isMarked: Bool,
    hasCopies: Bool = false, on callID: CallID, now: Instant
  ) -> Bool {
    guard let link = link(callID), link.progress.flow == .announced, link.media.mayStart else {
      return false
    }
    return link.media.queueAudio(
      payload,
      AudioMediaFrame(
        length: length, isMarked: isMarked, hasCopies: hasCopies, mediaTime: mediaTime), now: now)
  }

  /// Queues one body of audio, of whatever kind.
  ///
  /// - Returns: `false` if this call may not send now.
  package mutating func sendAudio(
    _ body: Span<UInt8>, _ header: AudioBodyHeader, on callID: CallID, now: Instant
  ) -> Bool {
    guard header.kind == .frame else {
      return sendAudioControl(body, header.kind, on: callID, now: now)
    }
    let frame = header.frame
    return sendAudio(
      body, mediaTime: frame.mediaTime, length: frame.length, isMarked: frame.isMarked,
      hasCopies: frame.hasCopies, on: callID, now: now)
  }

  /// Queues a report or a request about the audio of the other side: it goes with the next frame,
  /// or by itself where none is queued before the next drain.
  package mutating func sendAudioControl(
    _ body: Span<UInt8>, _ kind: AudioKind, on callID: CallID, now: Instant
  ) -> Bool {
    guard let link = link(callID), link.progress.flow == .announced, link.media.mayStart else {
      return false
    }
    return link.media.queueAudioControl(body, kind, now: now)
  }

  /// The round trip to the other end of a call in nanoseconds: smoothed, and the least seen; `nil`
  /// before it was measured.
  package func roundTrip(of callID: CallID) -> (smoothed: UInt64, minimum: UInt64)? {
    link(callID)?.roundTrip
  }

  /// When a packet of the other side was opened last, whatever was in it.
  package func lastHeard(of callID: CallID) -> Instant? { link(callID)?.association?.lastReceived }

  /// Appends the oldest received frame of `callID` to `output`; `nil` when there is none.
  @_lifetime(output: copy output)
  package mutating func pollAudio(
    of callID: CallID, into output: inout OutputSpan<UInt8>
  ) -> ReceivedAudio? {
    link(callID)?.pollAudio(into: &output)
  }

  /// Shows the oldest received body of `callID` to `take`, in place, and then removes it; `nil`
  /// when there is none.
  package mutating func pollAudio<Result>(
    of callID: CallID, _ take: (Span<UInt8>, ReceivedAudio) -> Result
  ) -> Result? {
    link(callID)?.pollAudio(take)
  }

  /// Has audio that comes taken at once, what waits first; `nil` has it wait for `pollAudio`.
  package mutating func setAudioIntake(_ intake: (any AudioIntake)?, of callID: CallID) {
    link(callID)?.setAudioIntake(intake)
  }

  /// Something waits for the pipeline.
  mutating func announceAudio(_ link: CallLink) {
    guard link.progress.inbox == .empty, !link.media.incomingAudio.isEmpty else { return }
    link.progress.inbox = .announced
    publishStep(link, .audioArrived)
  }

  mutating func handleAudioArrival(_ link: CallLink, now: Instant) {
    announceAudio(link)
    guard link.progress.heard == .awaited else { return }
    link.progress.heard = .begun
    announceMedia(link)
    publishStep(link, .firstFrameReceived)
    link.path.agent.setExpectsMedia(true, now: now)
    ledger.handleFirstFrameReceived(link.callID, now: now)
  }

  mutating func handleFirstFrameSent(_ link: CallLink, now: Instant) {
    link.progress.sent = .begun
    publishStep(link, .firstFrameSent)
    ledger.handleFirstFrameSent(link.callID, now: now)
  }
}

extension CallLink {
  /// In nanoseconds: smoothed, and the least seen; `nil` before it was measured.
  var roundTrip: (smoothed: UInt64, minimum: UInt64)? { association?.roundTrip }

  var audioAllowance: Int? { association.flatMap { media.audioAllowance(on: $0) } }

  func setAudioIntake(_ intake: (any AudioIntake)?) {
    guard let association else { return }
    media.incomingAudio.setIntake(intake, on: association, allowance: audioAllowance)
    if intake != nil { progress.inbox = .empty }
  }

  @_lifetime(output: copy output)
  func pollAudio(into output: inout OutputSpan<UInt8>) -> ReceivedAudio? {
    let audio = media.incomingAudio.pop(into: &output)
    if audio == nil { progress.inbox = .empty }
    return audio
  }

  func pollAudio<Result>(_ take: (Span<UInt8>, ReceivedAudio) -> Result) -> Result? {
    let result = media.pollAudio(take)
    if result == nil { progress.inbox = .empty }
    return result
  }

  /// Where the other side of the call may be, of all its programs.
  var remoteAddresses: [SocketAddress] {
    path.remoteCandidates.map(\.address)
      + path.programs.branches.flatMap { $0.candidates.map(\.address) }
  }
}

// MARK: - Numbers

/// What the network side of a call measured; the same counters that the tests assert.
package struct LinkStatistics: Sendable {
  package struct RoundTrip: Sendable, Equatable {
    /// In nanoseconds, as the others.
    package var minimum: UInt64
    package var smoothed: UInt64
    package var p50: UInt64
    package var p95: UInt64
    /// Of all samples.
    package var sum: UInt64 = 0
    package var count: UInt64 = 0
  }

  package var media: MediaCounters
  package var quality: PathQuality
  package var roundTrip: RoundTrip?
  package var pathKind: PathKind?
  package var remote: SocketAddress?
  /// The own address that media leaves from.
  package var local: LocalAddressID
  package var pathChanges: Int
  /// `nil` before the session stands.
  package var congestion: CongestionNumbers?
  package var video: VideoNumbers?
  /// Packets that did not open: altered, or somebody else's.
  package var failedOpenings: UInt64
  /// Packets that had come before.
  package var replays: UInt64
  package var epoch: UInt32
  /// Packets that came, of any kind, and the number of the newest.
  package var arrivals = ArrivalCount()
}

extension PeerMachine {
  package func statistics(of callID: CallID) -> LinkStatistics? {
    link(callID)?.statistics(now: latest)
  }
}

extension CallLink {
  /// `nil` before the session stands, and when it is gone.
  func statistics(now: Instant) -> LinkStatistics? {
    guard let numbers = association?.numbers else { return nil }
    return LinkStatistics(
      media: media.counters, quality: numbers.quality,
      roundTrip: LinkStatistics.RoundTrip(numbers.estimator, numbers.roundTrips),
      pathKind: path.agent.kind,
      remote: path.agent.selected ?? path.agent.provisional?.path.remote,
      local: path.agent.selectedPath?.local ?? .unspecified, pathChanges: path.agent.changes,
      congestion: association?.congestion,
      video: media.videoNumbers(now: now) ?? media.lastVideo,
      failedOpenings: numbers.failedOpenings, replays: numbers.replays, epoch: numbers.epoch,
      arrivals: numbers.arrivals)
  }
}

extension LinkStatistics.RoundTrip {
  /// `nil` before it was measured.
  init?(_ estimator: RoundTripEstimator, _ samples: DurationHistogram) {
    guard estimator.hasSample, let p50 = samples.percentile(0.5),
      let p95 = samples.percentile(0.95)
    else { return nil }
    self.init(
      minimum: estimator.minimum, smoothed: estimator.smoothed, p50: p50, p95: p95,
      sum: samples.sum, count: samples.count)
  }
}
