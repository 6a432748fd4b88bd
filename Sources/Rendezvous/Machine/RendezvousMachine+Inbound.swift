import Cryptography
import Messaging
import Primitives
import Wire

/// Sealed packets: whose they are, what is in them (docs/protocol/session.md §6, frames.md).
extension RendezvousMachine {
  @_lifetime(bytes: copy bytes)
  mutating func handleSealed(
    _ bytes: inout MutableSpan<UInt8>, for connection: ConnectionID, from source: SocketAddress,
    marks: DatagramMarks, now: Instant
  ) {
    guard let slot = registry.find(connection) else {
      counters.unknownConnections &+= 1
      answerUnknown(connection, byteCount: bytes.count, from: source, now: now)
      return
    }
    guard let (number, range) = open(&bytes, slot, from: source, now: now) else { return }
    let isHighest = registry[slot].window.insert(number)
    registry[slot].heard = UInt16(truncatingIfNeeded: now.second)
    counters.packetsOpened &+= 1
    if !registry[slot].isConfirmed { confirm(slot, now: now) }
    let isProven = source == registry[slot].address
    if isProven {
      registry[slot].flags.insert(.isHeard)
      // Whom the client asks is who answers; an old copy of a packet changes nothing.
      if isHighest { registry[slot].ownAddress = marks.local }
    }
    if !isProven, isHighest, bytes.count >= Self.challengeByteCount {
      noteMove(of: slot, to: source, now: now)
    }
    let packet = InboundPacket(
      slot: slot, number: number, byteCount: bytes.count, source: source, isProven: isProven,
      marks: marks)
    readFrames(bytes.span.extracting(range), of: packet, now: now)
  }

  /// What the frames' handling needs to know of their packet.
  struct InboundPacket {
    let slot: UInt32
    let number: UInt32
    let byteCount: Int
    let source: SocketAddress
    /// It came from the address that has been proven.
    let isProven: Bool
    let marks: DatagramMarks
  }

  /// The order of docs/protocol/session.md §6: nothing changes unless the tag is right.
  @_lifetime(bytes: copy bytes)
  private mutating func open(
    _ bytes: inout MutableSpan<UInt8>, _ slot: UInt32, from source: SocketAddress, now: Instant
  ) -> (number: UInt32, frames: Range<Int>)? {
    do throws(CryptographyError) {
      let number = try registry[slot].receiveKeys.unmask(&bytes)
      guard number <= Self.lastNumber, registry[slot].window.isFresh(number) else {
        counters.packetsReplayed &+= 1
        return nil
      }
      return (number, try registry[slot].receiveKeys.open(&bytes, number: number))
    } catch {
      counters.packetsNotOpened &+= 1
      noteFailure(of: source, now: now)
      return nil
    }
  }

  // MARK: - Frames

  private mutating func readFrames(
    _ frames: Span<UInt8>, of packet: InboundPacket, now: Instant
  ) {
    var reader = FrameReader(frames)
    var demand = FeedbackDemand.none
    do throws(WireError) {
      while let frame = try reader.next() {
        demand = max(demand, frame.demand)
        guard handle(frame, in: frames, of: packet, now: now) else { return }
      }
    } catch {
      counters.framesInvalid &+= 1
      guard addStrike(to: packet.slot, now: now) else { return }
    }
    noteArrival(of: packet, demand: demand, now: now)
    settle(packet.slot, now: now)
  }

  /// `false` when the session has ended.
  private mutating func handle(
    _ frame: Frame, in frames: Span<UInt8>, of packet: InboundPacket, now: Instant
  ) -> Bool {
    let slot = packet.slot
    switch frame {
    case .padding, .pong: return true
    case .ping(let ping):
      counters.pings &+= 1
      withExchange(of: slot) {
        $0.pong = PongFrame(token: ping.token, observed: packet.source)
      }
      return true
    case .feedback(let feedback):
      withOpenExchange(of: slot) { $0.handle(feedback, in: frames, now: now) }
      return true
    case .credit(let credit):
      withChannel(of: slot) { $0.handle(credit) }
      return true
    case .message(let message, let range):
      return handle(message, frames.bytes(at: range), of: slot, now: now)
    case .pathChallenge(let challenge):
      // An answer to an address that is not proven must not be longer than what asked for it.
      guard packet.isProven || packet.byteCount >= Self.responseByteCount else { return true }
      answer(challenge, of: packet)
      return true
    case .pathResponse(let response):
      finishMove(of: slot, response, from: packet.source, now: now)
      return true
    case .close: return leave(slot)
    case .probeRequest, .probePacket: return reflect(frame, of: packet, now: now)
    // What only a reflector says draws nothing from another one.
    case .probeAnswer, .probeReport: return true
    case .signal, .audio, .audioReport, .audioRequest, .video, .videoNack, .skipped:
      // Nothing that a rendezvous takes (docs/protocol/rendezvous.md §1).
      counters.framesInvalid &+= 1
      return addStrike(to: slot, now: now)
    }
  }

  /// The client said good-bye; the session has ended.
  private mutating func leave(_ slot: UInt32) -> Bool {
    remove(slot, .closed)
    return false
  }

  /// A message's fragment; `false` when the session has ended.
  private mutating func handle(
    _ frame: MessageFrame, _ bytes: Span<UInt8>, of slot: UInt32, now: Instant
  ) -> Bool {
    guard exchanges.reassemblyByteCount < limits.reassemblyByteCount else {
      counters.exchangesRefused &+= 1
      return true  // Dropped and not reported as handled: the client repeats it.
    }
    guard let index = openExchange(of: slot) else { return true }
    let resting = registry[slot].resting
    do throws(MessageFault) {
      exchanges.with(index) { $0.wake(resting) }
      try exchanges.handle(frame, bytes, of: index, now: now)
    } catch {
      counters.messagesInvalid &+= 1
      close(slot, .protocolViolated, .protocolViolated, now: now)
      return false
    }
    return pollChannel(of: slot, now: now)
  }

  /// Takes what the channel has to say; `false` when the session has ended.
  mutating func pollChannel(of slot: UInt32, now: Instant) -> Bool {
    while let index = exchange(of: slot), let event = exchanges.poll(index) {
      switch event {
      case .received(_, let bytes):
        guard handle(bytes, of: slot, now: now) else { return false }
      case .delivered(let tag):
        exchanges.with(index) { exchange in exchange.forwards.removeAll { $0.tag == tag } }
      case .failed(let tag):
        let count = exchanges[index].forwards.count
        exchanges.with(index) { exchange in exchange.forwards.removeAll { $0.tag == tag } }
        if exchanges[index].forwards.count < count { counters.forwardsUndelivered &+= 1 }
      }
    }
    return true
  }

  /// A whole message; `false` when the session has ended.
  private mutating func handle(_ bytes: [UInt8], of slot: UInt32, now: Instant) -> Bool {
    do throws(WireError) {
      switch try RendezvousMessage(parsing: bytes.span) {
      case .lookUp(let lookUp): answer(lookUp, of: slot, now: now)
      case .forward(let forward): pass(on: forward, from: slot, now: now)
      case .lookUpResult, .forwarded, .forwardResult:
        throw .invalid("message that only a server sends", at: 0)
      }
      return true
    } catch {
      counters.messagesInvalid &+= 1
      return addStrike(to: slot, now: now)
    }
  }

  /// Notes when a packet came, if anything in it wants to be reported.
  private mutating func noteArrival(
    of packet: InboundPacket, demand: FeedbackDemand, now: Instant
  ) {
    // A packet that asks for nothing is worth remembering only beside ones that do.
    let index = demand == .none ? exchange(of: packet.slot) : openExchange(of: packet.slot)
    guard let index else { return }
    exchanges.with(index) { exchange in
      exchange.arrivals.record(
        packet.number, at: now, isCongestionExperienced: packet.marks.isCongestionExperienced,
        demand: demand)
    }
  }

  /// `false` when that was one too many, and the session has ended (docs/protocol/frames.md).
  private mutating func addStrike(to slot: UInt32, now: Instant) -> Bool {
    registry[slot].strikes &+= 1
    guard registry[slot].strikes >= limits.strikes else { return true }
    close(slot, .protocolViolated, .protocolViolated, now: now)
    return false
  }
}
