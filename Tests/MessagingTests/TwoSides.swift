import Congestion
import Messaging
import Primitives
import Testing
import Wire

func at(_ milliseconds: UInt64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

/// What a link does to packets.
struct LinkConditions {
  var delay: ClosedRange<UInt64> = 20...20  // milliseconds, one way
  var loss = 0.0
  var duplication = 0.0
  var corruption = 0.0
}

/// One end: a channel with real FEEDBACK underneath, and a replay window and a seal played by hand.
struct Side {
  var channel: MessageChannel
  var recorder = FeedbackRecorder()
  var history = SentPacketHistory(capacity: 512)
  var nextNumber: UInt64 = 0
  var seen: Set<UInt64> = []

  var received: [(stream: StreamID, bytes: [UInt8], time: Instant)] = []
  var delivered: [MessageTag: Instant] = [:]
  var failed: [MessageTag: Instant] = [:]
  var missed = 0
  var fault: MessageFault?

  /// What a witness on the wire counts: fragments seen for the first time, and the credit granted.
  var fragmentsSeen: Set<UInt64> = []
  var bytesSent = 0
  var granted: Int
  var packetsWithMessages = 0

  init(_ limits: MessageLimits) {
    channel = MessageChannel(limits: limits)
    granted = Int(limits.initialGrant)
  }

  var nextDeadline: Instant? {
    earliest(channel.nextDeadline, earliest(history.nextDeadline, recorder.nextDeadline))
  }

  mutating func handleTimeout(now: Instant) {
    history.handleTimeout(now: now)
    settle()
    channel.handleTimeout(now: now)
    collect(now: now)
  }

  /// The next packet, if there is something to send.
  mutating func makePacket(now: Instant) -> (number: UInt64, bytes: [UInt8])? {
    var hasMessages = false
    let bytes = [UInt8](capacity: 1175) { output in
      while recorder.isDue(now: now),
        recorder.writeReport(into: &output, room: output.freeCapacity, now: now)
      {
        if let credit = channel.takeCredit(), output.freeCapacity >= CreditFrame.byteCount {
          credit.write(to: &output)
        }
      }
      hasMessages = channel.writeFrames(into: &output, room: output.freeCapacity)
    }
    guard !bytes.isEmpty else { return nil }
    let number = nextNumber
    nextNumber += 1
    history.record(
      SentPacket(
        number: number, sent: now, byteCount: bytes.count + 25, elicitsFeedback: hasMessages,
        hasMessages: hasMessages))
    channel.didSend(number, now: now)
    if hasMessages { packetsWithMessages += 1 }
    witness(bytes)
    return (number, bytes)
  }

  /// Counts what §4 limits.
  private mutating func witness(_ packet: [UInt8]) {
    var reader = FrameReader(packet.span)
    do {
      while let frame = try reader.next() {
        switch frame {
        case .message(let message, let bytes) where !message.isAbandoned:
          let key =
            UInt64(message.stream.rawValue) << 40 | UInt64(message.sequence) << 8
            | UInt64(message.fragmentIndex)
          if fragmentsSeen.insert(key).inserted { bytesSent += bytes.count }
        case .credit(let credit): granted = max(granted, Int(credit.total))
        default: break
        }
      }
    } catch {
      Issue.record("wrote a packet that does not parse: \(error)")
    }
  }

  /// Takes a packet; `isFresh` is false for one that the replay window would have dropped.
  mutating func handle(_ number: UInt64, _ packet: [UInt8], now: Instant) {
    var demand = FeedbackDemand.none
    var reader = FrameReader(packet.span)
    do {
      while let frame = try reader.next() {
        demand = max(demand, frame.demand)
        switch frame {
        case .message(let message, let bytes):
          try channel.handle(message, bytes: packet.span.bytes(at: bytes), now: now)
        case .credit(let credit): channel.handle(credit)
        case .feedback(let feedback): try history.handle(feedback, in: packet.span, now: now)
        default: break
        }
      }
    } catch let broken as MessageFault {
      fault = broken
    } catch {
      Issue.record("refused a packet of ours: \(error)")
    }
    if seen.insert(number).inserted {
      recorder.record(number, at: now, isCongestionExperienced: false, demand: demand)
    }
    settle()
    collect(now: now)
  }

  private mutating func settle() {
    if history.roundTrip.hasSample { channel.updateProbeTimeout(history.roundTrip.probeTimeout) }
    while let outcome = history.poll() {
      guard outcome.packet.hasMessages else { continue }
      switch outcome.fate {
      case .acknowledged: channel.packetAcknowledged(outcome.packet.number)
      case .lost: channel.packetLost(outcome.packet.number)
      case .acknowledgedLate: break
      }
    }
  }

  mutating func collect(now: Instant) {
    while let event = channel.poll() {
      switch event {
      case .received(let stream, let bytes): received.append((stream, bytes, now))
      case .missed(_, let count, _): missed += count
      case .delivered(let tag):
        #expect(delivered[tag] == nil && failed[tag] == nil)
        delivered[tag] = now
      case .failed(let tag):
        #expect(delivered[tag] == nil && failed[tag] == nil)
        failed[tag] = now
      }
    }
  }
}

/// Two sides and the link between them, in simulated time.
struct TwoSides {
  struct Flight {
    var arrival: Instant
    var order: UInt64
    var target: Int
    var number: UInt64
    var bytes: [UInt8]
    var isIntact: Bool
  }

  var sides: [Side]
  var conditions: LinkConditions
  var random: RandomSource
  var now = at(1000)
  private var flights: [Flight] = []
  private var order: UInt64 = 0
  /// Called with every packet before it goes; false drops it.
  var passes: (_ from: Int, _ bytes: [UInt8], _ now: Instant) -> Bool = { _, _, _ in true }
  /// Called after every step.
  var inspect: (TwoSides) -> Void = { _ in }

  init(_ conditions: LinkConditions, limits: MessageLimits = .peer, seed: UInt64) {
    sides = [Side(limits), Side(limits)]
    self.conditions = conditions
    random = RandomSource(seed: seed)
  }

  var isQuiet: Bool {
    flights.isEmpty && sides.allSatisfy { $0.channel.isIdle && $0.recorder.nextDeadline == nil }
  }

  /// Runs until `end`, or until nothing is left to do.
  mutating func run(until end: Instant) {
    transmit()
    while let next = nextEvent(), next <= end {
      now = max(now, next)
      deliverDue()
      for index in 0..<2 { sides[index].handleTimeout(now: now) }
      transmit()
      inspect(self)
    }
    now = max(now, end)
  }

  private func nextEvent() -> Instant? {
    flights.reduce(earliest(sides[0].nextDeadline, sides[1].nextDeadline)) {
      earliest($0, $1.arrival)
    }
  }

  private mutating func deliverDue() {
    let due = flights.filter { $0.arrival <= now }.sorted {
      ($0.arrival, $0.order) < ($1.arrival, $1.order)
    }
    flights.removeAll { $0.arrival <= now }
    for flight in due where flight.isIntact {
      sides[flight.target].handle(flight.number, flight.bytes, now: now)
    }
  }

  private mutating func transmit() {
    for index in 0..<2 {
      while let (number, bytes) = sides[index].makePacket(now: now) {
        guard passes(index, bytes, now) else { continue }
        let copies = random.unit() < conditions.duplication ? 2 : 1
        for _ in 0..<copies where random.unit() >= conditions.loss {
          let delay = UInt64.random(in: conditions.delay, using: &random)
          flights.append(
            Flight(
              arrival: Instant(nanoseconds: now.nanoseconds + delay * 1_000_000), order: order,
              target: 1 - index, number: number, bytes: bytes,
              isIntact: random.unit() >= conditions.corruption))
          order += 1
        }
      }
    }
  }
}
