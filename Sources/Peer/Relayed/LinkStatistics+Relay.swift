import Congestion
package import Primitives
import Video
import Wire

/// The numbers of a seat at a relay, as those of a call.
extension LinkStatistics {
  /// Of the way to the relay and back; `nil` without a session.
  package init?(_ machine: borrowing ChannelRelayMachine, now: Instant) {
    guard let association = machine.link.association else { return nil }
    let numbers = association.numbers
    var media = machine.outbox.counters
    let received = machine.inbox.counters
    media.packetsReceived = received.packetsReceived
    media.payloadBytesReceived = received.payloadBytesReceived
    media.firstReceived = received.firstReceived
    media.lastReceived = received.lastReceived
    self.init(
      media: media, quality: numbers.quality,
      roundTrip: RoundTrip(numbers.estimator, numbers.roundTrips), local: .unspecified,
      pathChanges: 0, congestion: association.congestion,
      video: machine.pictures?.media.videoNumbers(now: now),
      failedOpenings: numbers.failedOpenings, replays: numbers.replays, epoch: numbers.epoch,
      arrivals: numbers.arrivals)
  }

  /// Of what has come of a host; `nil` before something has.
  package init?(_ machine: borrowing ChannelRelayMachine, of uid: UInt32) {
    let media = machine.inbox.counters(of: uid)
    let pictures = machine.pictures?.statistics(of: uid)
    guard media != nil || pictures != nil else { return nil }
    self.init(
      media: media ?? MediaCounters(), quality: PathQuality(), local: .unspecified, pathChanges: 0,
      video: pictures.map { VideoNumbers(received: $0) }, failedOpenings: 0, replays: 0, epoch: 0)
  }
}

extension VideoNumbers {
  /// Of pictures that are only received.
  fileprivate init(received: VideoReceiveStatistics) {
    self.init(
      sent: VideoSendStatistics(), received: received, queuedByteCount: 0, paddingByteCount: 0,
      queueDelay: .zero, isPublishing: false, isSmallSent: false, remote: MediaState())
  }
}
