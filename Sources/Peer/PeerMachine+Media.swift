import Calling
package import Congestion
package import Connectivity
package import Primitives
import SecureSession
package import Wire

/// A received audio frame, as `PeerMachine.pollAudio` gives it.
package struct ReceivedAudio: BitwiseCopyable, Sendable {
  package var mediaTime: UInt16
  package var length: AudioMediaFrame.Length
  package var isMarked: Bool
  /// When the kernel took its packet.
  package var arrival: Instant
  package var byteCount: Int
}

/// Encoded audio in and out. Station 6 of the house tour; next is `AudioFrameQueue.swift`, and from
/// there `CallLink+Outbound.swift`. Nothing here allocates.
extension PeerMachine {
  /// Queues one encoded frame for the packet that leaves with the next drain.
  ///
  /// - Returns: `false` if this call may not send now.
  package mutating func sendAudio(
    _ payload: Span<UInt8>, mediaTime: UInt16, length: AudioMediaFrame.Length, isMarked: Bool,
    on callID: CallID, now: Instant
  ) -> Bool {
    guard let link = link(callID), link.hasToldMedia, link.mayStartMedia else { return false }
    return link.outgoingAudio.push(
      payload,
      AudioFrameQueue.Entry(
        mediaTime: mediaTime, lengthCode: length.rawValue, isMarked: isMarked, time: now))
  }

  /// Appends the oldest received frame of `callID` to `output`; `nil` when there is none.
  @_lifetime(output: copy output)
  package mutating func pollAudio(
    of callID: CallID, into output: inout OutputSpan<UInt8>
  ) -> ReceivedAudio? {
    guard let link = link(callID) else { return nil }
    guard let entry = link.incomingAudio.pop(into: &output) else {
      link.hasToldAudio = false
      return nil
    }
    return ReceivedAudio(
      mediaTime: entry.mediaTime,
      length: AudioMediaFrame.Length(rawValue: entry.lengthCode) ?? .milliseconds20,
      isMarked: entry.isMarked, arrival: entry.time, byteCount: entry.byteCount)
  }

  mutating func noteAudio(_ link: CallLink, now: Instant) {
    if !link.hasToldAudio {
      link.hasToldAudio = true
      tell(link, .audioArrived)
    }
    guard !link.hasHeardAudio else { return }
    link.hasHeardAudio = true
    tell(link, .firstFrameReceived)
    link.agent.setExpectsMedia(true, now: now)
    ledger.handleFirstFrameReceived(link.callID, now: now)
  }

  mutating func noteFirstSent(_ link: CallLink, now: Instant) {
    link.hasToldFirstSent = true
    tell(link, .firstFrameSent)
    ledger.handleFirstFrameSent(link.callID, now: now)
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
  }

  package var media: MediaCounters
  package var quality: PathQuality
  package var roundTrip: RoundTrip?
  package var pathKind: PathKind?
  package var remote: SocketAddress?
  package var pathChanges: Int
  package var failedOpenings: UInt64
  package var epoch: UInt32
}

extension PeerMachine {
  package func statistics(of callID: CallID) -> LinkStatistics? {
    guard let link = link(callID), let numbers = link.association?.numbers else { return nil }
    let estimator = numbers.estimator
    var roundTrip: LinkStatistics.RoundTrip?
    if estimator.hasSample, let p50 = numbers.roundTrips.percentile(0.5),
      let p95 = numbers.roundTrips.percentile(0.95)
    {
      roundTrip = LinkStatistics.RoundTrip(
        minimum: estimator.minimum, smoothed: estimator.smoothed, p50: p50, p95: p95)
    }
    return LinkStatistics(
      media: link.counters, quality: numbers.quality, roundTrip: roundTrip,
      pathKind: link.agent.kind, remote: link.agent.selected, pathChanges: link.agent.changes,
      failedOpenings: numbers.failedOpenings, epoch: numbers.epoch)
  }
}
