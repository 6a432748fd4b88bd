import Primitives
import SecureSession
import Testing
import Trials
import Wire

/// Two sessions that talk for a long simulated time over a line that loses, delays and reorders.
@Suite struct RekeySimulationTests {
  /// 40 lines of 30 simulated minutes each: 20 hours with 120 rekeys and more, 140 000 seals; in
  /// full 10 000 hours.
  /// No packet that arrives within 500 ms may fail to open, whatever the line does to the others.
  @Test func `renews keys under loss and reordering without losing a packet to it`() throws {
    var rekeys: UInt32 = 0
    var seals = 0
    let lines = UInt64(Trials.count(40, full: 20_000))
    for seed in 1...lines {
      var line = try Line(seed: seed)
      try line.run(for: .seconds(1800))
      expect(line.unopened == 0, "seed \(seed)")
      expect(line.repeatedNonces == 0, "seed \(seed)")
      expect(line.repeatedNumbers == 0, "seed \(seed)")
      let epochs = (line.pair.initiator.epoch, line.pair.responder.epoch)
      expect(epochs.0 >= 12 && epochs.1 >= 12, "seed \(seed)")
      rekeys += max(epochs.0, epochs.1)
      seals += line.seals
    }
    expect(seals >= 100_000)
    expect(rekeys >= 480)
    Trials.report("10: \(lines / 2) hours, \(rekeys) rekeys, \(seals) seals: 0 unopened")
  }

  @Test func `both sides starting at once, again and again, always end in the same keys`() throws {
    for seed in UInt64(1)...20 {
      var line = try Line(seed: seed &+ 1000)
      line.startsTogether = true
      try line.run(for: .seconds(600))
      expect(line.unopened == 0 && line.repeatedNonces == 0, "seed \(seed)")
      let gap =
        Int(line.pair.initiator.epoch) - Int(line.pair.responder.epoch)
      expect(abs(gap) <= 1 && line.pair.initiator.epoch > 10, "seed \(seed)")
    }
  }
}

/// The line, and what its ends do with it.
private struct Line: ~Copyable {
  var pair: SessionPair
  var random: RandomSource
  var startsTogether = false
  private(set) var unopened = 0
  private(set) var repeatedNonces = 0
  private(set) var repeatedNumbers = 0
  private(set) var seals = 0

  private struct Flight {
    var arrival: Instant
    var toInitiator: Bool
    var bytes: [UInt8]
  }

  private var flights: [Flight] = []
  /// The first 16 sealed bytes of packets whose frames are all alike: they repeat only where a key
  /// and a nonce do.
  private var ciphertexts: Set<[UInt8]> = []
  private var numbers: [Set<UInt64>] = [[], []]
  /// Control messages under way from the initiator and from the responder; as stream 0 does, the
  /// first is repeated in sealed packets until it has arrived.
  private var controls: [[[UInt8]]] = [[], []]
  private var sentControls = [0, 0]
  private var receivedControls = [0, 0]

  private static let frames = Array(repeating: UInt8(0), count: 32)

  init(seed: UInt64) throws {
    pair = try SessionPair(seed: seed)
    random = RandomSource(seed: seed &* 77)
  }

  mutating func run(for duration: Duration) throws {
    let end = pair.now + duration
    while pair.now < end {
      pair.now = pair.now + .milliseconds(1000)
      land()
      if startsTogether, random.next() % 20 == 0 {
        control(pair.start(initiator: true), fromInitiator: true)
        control(pair.start(initiator: false), fromInitiator: false)
      }
      for isInitiator in [true, false] {
        wake(initiator: isInitiator)
        try talk(initiator: isInitiator)
      }
      if random.next() % 300 == 0 { pair.responder.requestRekey(now: pair.now, random: &random) }
    }
  }

  private mutating func wake(initiator: Bool) {
    while true {
      let action =
        initiator
        ? pair.initiator.handleTimeout(now: pair.now) : pair.responder.handleTimeout(now: pair.now)
      guard let action else { return }
      expect(action == .startRekey)
      control(pair.start(initiator: initiator), fromInitiator: initiator)
    }
  }

  private mutating func control(_ message: [UInt8]?, fromInitiator: Bool) {
    if let message { controls[fromInitiator ? 0 : 1].append(message) }
  }

  private mutating func talk(initiator: Bool) throws {
    let packet = try send(Self.frames, fromInitiator: initiator)
    if !ciphertexts.insert(Array(packet[9..<25])).inserted { repeatedNonces += 1 }
    let side = initiator ? 0 : 1
    if let message = controls[side].first {
      let index = UInt8(truncatingIfNeeded: sentControls[side])
      _ = try send([index] + message, fromInitiator: initiator)
    }
  }

  private mutating func send(_ frames: [UInt8], fromInitiator: Bool) throws -> [UInt8] {
    let packet =
      try fromInitiator
      ? pair.initiator.packet(frames, now: pair.now)
      : pair.responder.packet(frames, now: pair.now)
    seals += 1
    if !numbers[fromInitiator ? 0 : 1].insert(packet.number).inserted { repeatedNumbers += 1 }
    guard random.next() % 5 != 0 else { return packet.bytes }  // 20 % lost
    let delay = Duration.milliseconds(Int(random.next() % 500))
    flights.append(
      Flight(arrival: pair.now + delay, toInitiator: !fromInitiator, bytes: packet.bytes))
    return packet.bytes
  }

  private mutating func land() {
    let due = flights.filter { $0.arrival <= pair.now }.sorted { $0.arrival < $1.arrival }
    flights.removeAll { $0.arrival <= pair.now }
    for flight in due {
      do throws(SessionError) {
        let frames =
          try flight.toInitiator
          ? pair.initiator.receive(flight.bytes, now: pair.now).frames
          : pair.responder.receive(flight.bytes, now: pair.now).frames
        if frames.count != Self.frames.count { landControl(frames, flight.toInitiator) }
      } catch {
        unopened += 1
      }
    }
  }

  private mutating func landControl(_ frames: [UInt8], _ toInitiator: Bool) {
    let sender = toInitiator ? 1 : 0
    guard frames[0] == UInt8(truncatingIfNeeded: receivedControls[sender]) else { return }
    receivedControls[sender] += 1
    sentControls[sender] += 1
    controls[sender].removeFirst()
    if case .send(let answer) = pair.deliver(Array(frames.dropFirst()), toInitiator: toInitiator) {
      control(answer, fromInitiator: toInitiator)
    }
  }
}
