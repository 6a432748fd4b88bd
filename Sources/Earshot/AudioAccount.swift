internal import Audio
internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// What the media thread counts beside the two pipelines: what the other side reports, bytes by
/// what they are for, how loud the source is, how long playing takes; and what it tells the
/// jitter buffer of the call around it. Allocates nothing.
struct AudioAccount: Sendable {
  private(set) var remote = RemoteReception()
  private(set) var bytes = ReceivedBytes()
  private(set) var source = SoundLevel()
  /// Sum over samples given out of how long the pull took that gave them, in sample-nanoseconds.
  private(set) var pullNanoseconds = 0.0
  /// Why audio is bad; `nil` while it is not.
  private(set) var cause: QualityChange.Cause?
  private var watch = SurroundingsWatch()
  private var leastRoundTrip: Int?
  private var ticks = 0

  init() {}

  mutating func noteSource(_ samples: [Int16], frameCount: Int, channels: Int) {
    source.note(samples.span, frameCount: frameCount, channels: channels)
  }

  mutating func notePull(began: Instant) {
    let took = SystemClock.now.nanoseconds(since: began)
    pullNanoseconds += Double(took) * Double(AudioFormat.pullSampleCount)
  }

  mutating func note(_ body: Span<UInt8>, _ label: AudioLabel) {
    if let trip = label.roundTrip { leastRoundTrip = Int(trip.minimum) }
    guard label.kind == .frame else { return }
    bytes.note(body, hasCopies: label.hasCopies)
    watch.note(mediaTime: label.mediaTime, arrival: label.arrival)
  }

  mutating func take(_ report: AudioReportFrame) { remote.take(report) }

  /// Once a tick, after playing.
  ///
  /// - Parameter peerHeard: when anything of the other side came last, in nanoseconds.
  /// - Returns: that the quality has become bad, or good again.
  mutating func tick(_ buffer: inout JitterBuffer, peerHeard: UInt64) -> QualityChange? {
    watch.followPackets(&buffer, peerHeard: peerHeard)
    ticks += 1
    if ticks >= Self.ticksBetweenUpdates {
      ticks = 0
      watch.update(&buffer, leastRoundTripMilliseconds: leastRoundTrip)
    }
    guard let change = buffer.quality.pollChange() else { return nil }
    cause = change.cause
    return change
  }

  /// A second.
  private static let ticksBetweenUpdates = 200
}
