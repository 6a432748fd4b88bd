import Cryptography
import Forwarding
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
    let isProven = source == registry[slot].address
    let limit = limits.failuresPerSource
    // Nothing that others send makes the packets of a proven address be ignored.
    if !isProven, limiter.failures.isIgnored(source, connection, limit: limit, now: now) {
      counters.packetsIgnored &+= 1
      return
    }
    guard let (number, range) = open(&bytes, slot, now: now) else {
      if !isProven { limiter.failures.append(source, connection, now: now) }
      return
    }
    let isHighest = registry[slot].window.insert(number)
    registry[slot].heard = UInt16(truncatingIfNeeded: now.second)
    counters.packetsOpened &+= 1
    channels.relays.handlePacket(of: slot, now: now)
    if isProven {
      registry[slot].flags.insert(.isHeard)
      // Whom the client asks is who answers; an old copy of a packet changes nothing.
      if isHighest { registry[slot].ownAddress = marks.local }
    }
    guard registry[slot].isConfirmed || confirm(slot, now: now) else { return }
    if !isProven, isHighest, bytes.count >= AnswerTerms.challenge {
      noteMove(of: slot, to: source, now: now)
    }
    var packet = InboundPacket(
      slot: slot, number: number, byteCount: bytes.count, source: source, isProven: isProven,
      marks: marks, echoByteCount: bytes.count)
    served = slot
    readFrames(bytes.span.extracting(range), of: &packet, now: now)
    served = nil
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
    /// Bytes that its ECHO_REQUESTs may still draw, all together.
    var echoByteCount: Int
  }

  /// The order of docs/protocol/session.md §6: nothing changes unless the tag is right.
  @_lifetime(bytes: copy bytes)
  private mutating func open(
    _ bytes: inout MutableSpan<UInt8>, _ slot: UInt32, now: Instant
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
      return nil
    }
  }

  // MARK: - Frames

  private mutating func readFrames(
    _ frames: Span<UInt8>, of packet: inout InboundPacket, now: Instant
  ) {
    var reader = FrameReader(frames)
    var demand = FeedbackDemand.none
    var reply = PromptReply(slot: packet.slot, connection: registry[packet.slot].local)
    do throws(WireError) {
      while let frame = try reader.next() {
        demand = max(demand, frame.demand)
        guard handle(frame, in: frames, of: &packet, reply: &reply, now: now) else { return }
      }
    } catch {
      counters.framesInvalid &+= 1
      guard addStrike(to: packet.slot, now: now) else { return }
    }
    noteArrival(of: packet, demand: demand, reply, now: now)
    settle(packet.slot, now: now)
  }

  /// `false` when the session has ended.
  private mutating func handle(
    _ frame: Frame, in frames: Span<UInt8>, of packet: inout InboundPacket,
    reply: inout PromptReply, now: Instant
  ) -> Bool {
    let slot = packet.slot
    switch frame {
    case .padding, .pong: return true
    case .ping(let ping):
      counters.pings &+= 1
      let pong = PongFrame(token: ping.token, observed: packet.source)
      reply.pong = pong
      if !packet.isProven { answerWhereAsked(pong, of: packet, now: now) }
      return true
    case .feedback(let feedback):
      takeFeedback(feedback, in: frames, of: slot, now: now)
      return true
    case .credit(let credit):
      withChannel(of: slot, now: now) { $0.handle(credit) }
      return true
    case .message(let message, let range):
      return handle(message, frames.bytes(at: range), of: slot, now: now)
    case .pathChallenge(let challenge):
      // An answer to an address that is not proven must not be longer than what asked for it.
      guard packet.isProven || packet.byteCount >= AnswerTerms.response else { return true }
      answer(challenge, of: packet, in: &reply)
      return true
    case .pathResponse(let response):
      finishMove(of: slot, response, from: packet.source, now: now)
      return true
    case .close: return leave(slot)
    case .probeRequest, .probePacket: return reflect(frame, of: packet, now: now)
    case .echoRequest(let request): return answer(request, of: &packet, now: now)
    // What only a reflector says draws nothing from another one.
    case .probeAnswer, .probeReport, .echo: return true
    default:
      if channels.hub?.handle(frame, in: frames, of: slot, now: now) == true { return true }
      counters.framesInvalid &+= 1  // Nothing that is taken here (docs/protocol/rendezvous.md §1).
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
    let index = openExchange(of: slot, now: now)
    let resting = registry[slot].resting
    do throws(MessageFault) {
      exchanges.with(index) { $0.wake(resting) }
      try exchanges.handle(frame, bytes, of: index, now: now)
    } catch {
      counters.messagesInvalid &+= 1
      close(slot, .protocolViolated, .protocolViolated, now: now)
      return false
    }
    while let index = exchange(of: slot), let hoarder = exchanges.hoarder(beside: index) {
      counters.exchangesGivenUp &+= 1
      close(exchanges[hoarder].slot, .limits, .unresponsive, now: now)
      guard registry.isUsed(slot) else { return false }
    }
    return pollChannel(of: slot, now: now)
  }

  private mutating func takeFeedback(
    _ feedback: FeedbackFrame, in frames: Span<UInt8>, of slot: UInt32, now: Instant
  ) {
    channels.hub?.handle(feedback, in: frames, of: slot, sent: registry[slot].sendNumber, now: now)
    guard let index = exchange(of: slot) else { return }
    exchanges.with(index) { $0.handle(feedback, in: frames, now: now) }
    if exchanges[index].hope == now { exchanges.touch(index) }
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
      case .missed: continue  // Whoever gave it up says it again.
      }
    }
    return true
  }

  /// A whole message; `false` when the session has ended.
  private mutating func handle(_ bytes: [UInt8], of slot: UInt32, now: Instant) -> Bool {
    do throws(WireError) {
      let message = try settings.permitted(try RendezvousMessage(parsing: bytes.span))
      switch message {
      case .lookUp(let lookUp): answer(lookUp, of: slot, now: now)
      case .forward(let forward): pass(on: forward, from: slot, now: now)
      case .token(let renewal): renew(renewal, of: slot, now: now)
      case .audience(let audience):
        try registry.replaceAudience(audience, of: slot)
        LateWords.announce(slot, in: &self)
      case .channel(let request): request.arrive(from: slot, in: &self, now: now)
      case .relayHere, .relayPairs:
        try ChannelService.handle(message, of: slot, in: &self, now: now)
      case .pair(let request): request.answer(slot, in: &self, now: now)
      case .channelData(let data): try data.pass(from: slot, in: &self, now: now)
      case .lookUpResult, .forwarded, .forwardResult, .tokenResult, .relays, .channelNotice,
        .seatsEnded, .pairResult, .nameReceipt:
        throw .invalid("message that only a server sends", at: 0)
      }
      return true
    } catch {
      counters.messagesInvalid &+= 1
      return addStrike(to: slot, now: now)
    }
  }

  /// Notes when a packet came, and what is owed for it: beside what is under way, or at once.
  private mutating func noteArrival(
    of packet: InboundPacket, demand: FeedbackDemand, _ reply: consuming PromptReply, now: Instant
  ) {
    let demand = channels.noteArrival(of: packet, demand, now: now)
    guard let index = exchange(of: packet.slot) else {
      if demand != .none {
        reply.arrival = (packet.number, now, packet.marks.isCongestionExperienced)
      }
      if !reply.isEmpty, !prompts.append(reply) { counters.answersDropped &+= 1 }
      return
    }
    exchanges.with(index) { exchange in
      exchange.pong = reply.pong ?? exchange.pong
      exchange.pathResponse = reply.pathResponse ?? exchange.pathResponse
      exchange.strayResponse = reply.stray ?? exchange.strayResponse
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
