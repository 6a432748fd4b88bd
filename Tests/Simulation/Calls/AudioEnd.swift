package import Audio
package import Peer
package import Primitives
package import Wire

/// One end's audio on the shipped machine, in simulated time: the shipped engine, driven as the
/// media thread of a program drives it. What is heard goes nowhere.
package struct AudioEnd: ~Copyable {
  package private(set) var engine: AudioEngine
  private let source: (inout MutableSpan<Int16>) -> Void
  private var heard = [Int16](repeating: 0, count: AudioFormat.pullSampleCount)
  private var body: [UInt8] = []
  /// Ticks that the last visit has made already.
  private var ticksAhead = 0

  /// - Parameter source: fills what it is given with the next samples, mono.
  package init(
    _ settings: AudioEngine.Settings,
    source: @escaping (inout MutableSpan<Int16>) -> Void = AudioEnd.buzz
  ) throws(OpusError) {
    engine = try AudioEngine(settings)
    self.source = source
    body.reserveCapacity(Self.room)
  }

  /// Five milliseconds, both ways, and ahead what the engine is certain of.
  package mutating func tick(
    _ machine: inout PeerMachine, _ call: CallID, now: Instant
  ) throws(OpusError) {
    guard ticksAhead == 0 else {
      ticksAhead -= 1
      return
    }
    try takeArrivals(&machine, call, now)
    engine.tick(now: now)
    Self.pull(from: &engine, into: &heard, now)
    let wanted = engine.wantedSampleCount
    if wanted > 0 { try capture(wanted) }
    ticksAhead = engine.certainTickCount(hasSource: true)
    for tick in 0..<ticksAhead {
      let ahead = now + .milliseconds(Int64(5 * (tick + 1)))
      engine.tick(now: ahead)
      Self.pull(from: &engine, into: &heard, ahead)
    }
    while let header = pollTransmit() {
      _ = machine.sendAudio(body.span, header, on: call, now: now)
    }
  }

  private mutating func takeArrivals(
    _ machine: inout PeerMachine, _ call: CallID, _ now: Instant
  ) throws(OpusError) {
    let conditions = PathConditions(
      roundTrip: machine.roundTrip(of: call),
      allowance: machine.audioAllowance(of: call) ?? PathConditions.unlimited)
    while true {
      var received: ReceivedAudio?
      body.removeAll(keepingCapacity: true)
      body.append(addingCapacity: Self.room) { received = machine.pollAudio(of: call, into: &$0) }
      guard let received else { return }
      try Self.give(body, received, conditions, to: &engine, now)
    }
  }

  private static func give(
    _ body: [UInt8], _ received: ReceivedAudio, _ conditions: PathConditions,
    to engine: inout AudioEngine, _ now: Instant
  ) throws(OpusError) {
    try engine.receive(
      body.span, received.header, arrival: received.arrival, conditions, now: now)
  }

  private mutating func capture(_ count: Int) throws(OpusError) {
    var samples = [Int16](repeating: 0, count: count)
    var room = samples.mutableSpan
    source(&room)
    try engine.capture(samples.span, channels: 1)
  }

  private mutating func pollTransmit() -> AudioBodyHeader? {
    var header: AudioBodyHeader?
    body.removeAll(keepingCapacity: true)
    body.append(addingCapacity: Self.room) { header = engine.pollTransmit(into: &$0) }
    return header
  }

  private static func pull(
    from engine: inout AudioEngine, into samples: inout [Int16], _ now: Instant
  ) {
    var span = samples.mutableSpan
    _ = engine.pull(into: &span, now: now)
  }

  /// A buzz of 200 Hz: where only the frames count and not their sound.
  package static func buzz(_ samples: inout MutableSpan<Int16>) {
    for index in samples.indices { samples[index] = Int16((index % 240) * 60 - 7200) }
  }

  private static let room = 1300
}
