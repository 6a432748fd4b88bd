internal import Wire

/// What an engine counts beside its sender and its receiver: what the other side reports, bytes by
/// what they are for, how loud the source is, how long playing takes; and what it tells the jitter
/// buffer of the call around it. Allocates nothing.
package struct AudioAccount: Sendable {
  package private(set) var remote = RemoteReception()
  package private(set) var bytes = ReceivedBytes()
  package private(set) var source = SoundLevel()
  /// Sum over samples given out of how long the pull took that gave them, in sample-nanoseconds.
  package private(set) var pullNanoseconds = 0.0
  /// Why audio is bad; `nil` while it is not.
  package private(set) var cause: QualityChange.Cause?
  private var context = CallContext()
  private var leastRoundTripMilliseconds: Int?
  private var pulls = 0

  package init() {}

  mutating func noteSource(_ samples: Span<Int16>, frameCount: Int, channels: Int) {
    source.addSamples(samples, frameCount: frameCount, channels: channels)
  }

  mutating func notePull(nanoseconds: UInt64) {
    pullNanoseconds += Double(nanoseconds) * Double(AudioFormat.pullSampleCount)
  }

  mutating func notePath(_ conditions: PathConditions) {
    guard let trip = conditions.roundTrip else { return }
    leastRoundTripMilliseconds = Int(trip.minimum / 1_000_000)
  }

  /// Takes the body of one AUDIO frame and its arrival, in nanoseconds.
  mutating func noteFrame(_ body: Span<UInt8>, _ frame: AudioMediaFrame, arrival: UInt64) {
    bytes.addBody(body, hasCopies: frame.hasCopies)
    context.recordFrame(mediaTime: frame.mediaTime, arrival: arrival)
  }

  mutating func noteReport(_ report: AudioReportFrame) { remote.handleReport(report) }

  mutating func noteCause(of change: QualityChange) { cause = change.cause }

  /// Once a pull, after it.
  ///
  /// - Parameter peerHeard: when anything of the other side came last, in nanoseconds.
  mutating func informBuffer(_ buffer: inout JitterBuffer, peerHeard: UInt64) {
    context.followPackets(&buffer, peerHeard: peerHeard)
    pulls += 1
    guard pulls >= Self.pullsBetweenUpdates else { return }
    pulls = 0
    context.update(&buffer, leastRoundTripMilliseconds: leastRoundTripMilliseconds)
  }

  /// A second.
  private static let pullsBetweenUpdates = 200
}
