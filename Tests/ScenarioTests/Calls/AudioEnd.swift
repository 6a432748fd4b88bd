import Audio
import Calling
import Peer
import Primitives
import Wire

/// One end's audio as the pipeline of a program runs it: the shipped encoder, policy, receiver and
/// jitter buffer, on the shipped machine.
struct AudioEnd: ~Copyable {
  private var sender: AudioSender
  private(set) var receiver: AudioReceiver
  private var policy: RedundancyPolicy
  /// What the other side has reported.
  private(set) var remote = RemoteReception()
  private let asksAgain: Bool
  private var mediaTime: UInt16 = 0
  /// When its first frame was made, in its host's time.
  private(set) var began: Instant?
  private var packet: [UInt8] = []
  private var sound = [Int16](repeating: 0, count: 480)
  private let voice: [Int16]

  static func make(copies: Bool, asksAgain: Bool) throws -> AudioEnd {
    var limits = RedundancyPolicy.Limits()
    limits.makesCopies = copies
    var sender = try AudioSender(OpusEncoder.Settings(complexity: 0))
    let receiver = try AudioReceiver(channels: 1)
    let policy = RedundancyPolicy(limits)
    try sender.follow(policy.plan)
    return AudioEnd(sender, receiver, policy, asksAgain: asksAgain)
  }

  private init(
    _ sender: consuming AudioSender, _ receiver: consuming AudioReceiver,
    _ policy: RedundancyPolicy, asksAgain: Bool
  ) {
    self.sender = sender
    self.receiver = receiver
    self.policy = policy
    self.asksAgain = asksAgain
    // A buzz with a pitch: what it sounds like does not matter here.
    voice = (0..<960).map { Int16(($0 % 240) * 60 - 7200) }
  }

  /// Twenty milliseconds.
  mutating func tick(_ machine: inout PeerMachine, _ call: CallID, now: Instant) throws {
    try takeArrivals(&machine, call, now: now)
    if let request = receiver.pollRequest(now: now) {
      Self.fill(&packet) { request.writeBody(to: &$0) }
      _ = machine.sendAudioControl(packet.span, .request, on: call, now: now)
    }
    if let report = receiver.pollReport(now: now) {
      Self.fill(&packet) { report.writeBody(to: &$0) }
      _ = machine.sendAudioControl(packet.span, .report, on: call, now: now)
    }
    if began == nil { began = now }
    for _ in 0..<4 { Self.pull(&receiver, &sound, now) }
    let hasCopies = try Self.encode(voice, mediaTime, with: &sender, into: &packet)
    _ = machine.sendAudio(
      packet.span, mediaTime: mediaTime, length: .milliseconds20, isMarked: mediaTime == 0,
      hasCopies: hasCopies, on: call, now: now)
    mediaTime &+= 2
  }

  private mutating func takeArrivals(
    _ machine: inout PeerMachine, _ call: CallID, now: Instant
  ) throws {
    let trip = machine.roundTrip(of: call)
    receiver.roundTripMilliseconds = asksAgain ? trip.map { Int($0.smoothed / 1_000_000) } : nil
    while true {
      var received: ReceivedAudio?
      Self.fill(&packet) { received = machine.pollAudio(of: call, into: &$0) }
      guard let received else { return }
      switch received.kind {
      case .frame:
        let frame = AudioMediaFrame(
          length: received.length, isMarked: received.isMarked, hasCopies: received.hasCopies,
          mediaTime: received.mediaTime)
        Self.give(packet, frame, received.arrival, to: &receiver)
      case .report:
        let report = try AudioReportFrame(body: packet.span)
        remote.take(report)
        let roundTrip = trip.map {
          RedundancyPolicy.RoundTrip(smoothed: $0.smoothed, minimum: $0.minimum)
        }
        _ = policy.handle(report, roundTrip: roundTrip, now: now)
        try sender.follow(policy.plan)
      case .request: sender.handle(try AudioRequestFrame(body: packet.span))
      }
    }
  }

  private static func give(
    _ body: [UInt8], _ frame: AudioMediaFrame, _ arrival: Instant, to receiver: inout AudioReceiver
  ) {
    receiver.receive(body.span, frame, arrival: arrival)
  }

  private static func fill(_ packet: inout [UInt8], _ write: (inout OutputSpan<UInt8>) -> Void) {
    packet.removeAll(keepingCapacity: true)
    packet.append(addingCapacity: 1300) { write(&$0) }
  }

  private static func pull(
    _ receiver: inout AudioReceiver, _ sound: inout [Int16], _ now: Instant
  ) {
    var span = sound.mutableSpan
    _ = receiver.buffer.pull(into: &span, now: now)
  }

  private static func encode(
    _ voice: [Int16], _ mediaTime: UInt16, with sender: inout AudioSender,
    into packet: inout [UInt8]
  ) throws -> Bool {
    packet.removeAll(keepingCapacity: true)
    var hasCopies = false
    try packet.append(addingCapacity: 1300) { (output) throws(OpusError) in
      hasCopies = try sender.encode(voice.span, mediaTime: mediaTime, into: &output)
    }
    return hasCopies
  }
}
