import Audio
import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// One end's audio as the pipeline of a program runs it: the shipped encoder, policy, receiver and
/// jitter buffer, on the shipped machine.
private struct AudioEnd: ~Copyable {
  private var sender: AudioSender
  private(set) var receiver: AudioReceiver
  private var policy: RedundancyPolicy
  private let asksAgain: Bool
  private var mediaTime: UInt16 = 0
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

/// What the line loses, copies and repetitions bring back, through the machines that ship.
@Suite struct RepairTests {
  /// What Bob heard of Alice in twenty seconds.
  private struct Heard {
    var concealed = 0.0
    var copies: UInt64 = 0
    var repetitions: UInt64 = 0
    var overhead = 0.0
  }

  private static func talk(
    seed: UInt64, copies: Bool, asksAgain: Bool, _ change: (inout LinkConditions) -> Void
  ) throws -> Heard {
    let pair = TwoPeers(seed: seed, roundTrip: .milliseconds(40), change: change)
    let call = try pair.connect()
    pair.alice.isSilent = true
    pair.bob.isSilent = true
    pair.world.mediaInterval = .seconds(3600)
    pair.world.run(.milliseconds(100))
    // Or the simulated people would take the frames out of their machines.
    for peer in [pair.alice, pair.bob] { peer.host.observe = { _, _ in } }
    var alice = try AudioEnd.make(copies: copies, asksAgain: asksAgain)
    var bob = try AudioEnd.make(copies: copies, asksAgain: asksAgain)
    for _ in 0..<1000 {
      pair.world.run(.milliseconds(20))
      try pair.alice.host.command(now: pair.world.now) { machine, now in
        try alice.tick(&machine, call, now: now)
      }
      try pair.bob.host.command(now: pair.world.now) { machine, now in
        try bob.tick(&machine, call, now: now)
      }
    }
    var heard = Heard()
    heard.concealed = bob.receiver.buffer.statistics.concealedFraction
    heard.copies = bob.receiver.framesRepairedByCopies
    heard.repetitions = bob.receiver.framesRepairedByRetransmissions
    if let media = pair.alice.statistics(of: call)?.media {
      heard.overhead =
        Double(media.wireBytesSent - media.payloadBytesSent) / Double(media.packetsSent)
    }
    #expect(pair.isConnected(call), "\(pair.story)")
    return heard
  }

  /// About 10 % from end to end: each of the two access lines loses half.
  private static func random(_ line: inout LinkConditions) { line.loss = .random(0.05) }

  @Test func `a clean line costs 28 bytes a packet and no frame`() throws {
    let heard = try Self.talk(seed: 1, copies: true, asksAgain: true) { _ in }
    #expect(heard.concealed < 0.005)
    #expect(heard.overhead == 28)
    #expect(heard.copies == 0 && heard.repetitions == 0)
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `copies repair random loss`(seed: UInt64) throws {
    let bare = try Self.talk(seed: seed, copies: false, asksAgain: false, Self.random)
    let heard = try Self.talk(seed: seed, copies: true, asksAgain: true, Self.random)
    #expect(bare.concealed > 0.06, "\(bare)")
    #expect(heard.concealed < 0.01, "\(heard)")
    #expect(heard.copies > 50, "\(heard)")
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `copies that are spread, and repetitions, repair runs of losses`(seed: UInt64) throws {
    func bursts(_ line: inout LinkConditions) {
      line.loss = .bursts(.bursts(losing: 0.05, ofLength: 3))
    }
    let bare = try Self.talk(seed: seed, copies: false, asksAgain: false, bursts)
    let heard = try Self.talk(seed: seed, copies: true, asksAgain: true, bursts)
    #expect(bare.concealed > 0.05, "\(bare)")
    #expect(heard.concealed < bare.concealed / 3, "\(heard)")
    #expect(heard.copies + heard.repetitions > 40, "\(heard)")
  }
}
