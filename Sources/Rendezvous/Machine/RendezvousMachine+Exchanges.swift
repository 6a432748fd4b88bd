import LastMile
import Messaging
import Primitives
import Wire

/// From rest to busy and back (docs/protocol/rendezvous.md §3).
extension RendezvousMachine {
  /// The exchange of a client that has one.
  @inline(__always)
  func exchange(of slot: UInt32) -> UInt32? {
    let stored = registry[slot].exchange
    return stored == 0 ? nil : stored &- 1
  }

  /// The exchange of a client, made if there is none. When there are too many, the one that came
  /// forward longest ago is given up.
  mutating func openExchange(of slot: UInt32, now: Instant) -> UInt32 {
    if let index = exchange(of: slot) { return index }
    let source = registry[slot].address
    while let index = exchanges.excess(for: source, except: served, now: now) {
      giveUp(index, now: now)
    }
    let index = exchanges.insert(Exchange(slot: slot), from: source)
    registry[slot].exchange = index &+ 1
    return index
  }

  /// Ends an exchange whose client does not acknowledge. The session goes on if it can: what was
  /// under way is lost.
  mutating func giveUp(_ index: UInt32, now: Instant) {
    let slot = exchanges[index].slot
    counters.exchangesGivenUp &+= 1
    counters.forwardsUndelivered &+= UInt64(exchanges[index].forwards.count)
    guard let resting = exchanges[index].givenUp(registry[slot].resting) else {
      return close(slot, .limits, .unresponsive, now: now)
    }
    registry[slot].resting = resting
    registry[slot].exchange = 0
    exchanges.remove(index)
  }

  @inline(__always)
  mutating func withExchange(
    of slot: UInt32, now: Instant, _ body: (inout Exchange) -> Void
  ) {
    exchanges.with(openExchange(of: slot, now: now), body)
  }

  @inline(__always)
  mutating func withOpenExchange(of slot: UInt32, _ body: (inout Exchange) -> Void) {
    guard let index = exchange(of: slot) else { return }
    exchanges.with(index, body)
  }

  mutating func withChannel(
    of slot: UInt32, now: Instant, _ body: (inout MessageChannel) -> Void
  ) {
    let resting = registry[slot].resting
    withExchange(of: slot, now: now) { exchange in
      exchange.wake(resting)
      body(&exchange.channel)
    }
  }

  /// After every input: queues the client if it is owed something, sets its alarm, or lets it rest.
  ///
  /// - Parameter mayQueue: False after a packet could not be written, so that nothing spins.
  mutating func settle(_ slot: UInt32, mayQueue: Bool = true, now: Instant) {
    guard pollChannel(of: slot, now: now), let index = exchange(of: slot) else { return }
    let known = registry[slot].resting
    // One access in place: reading the exchange property by property would copy it.
    let step = exchanges.with(index) { exchange -> SettleStep in
      if mayQueue, exchange.hasPacketToSend { return .send }
      return exchange.rest(known).map { .rest($0) } ?? .wait
    }
    switch step {
    case .send: enqueue(slot)
    case .wait: exchanges.setAlarm(index)
    case .rest(let resting):
      registry[slot].resting = resting
      registry[slot].exchange = 0
      exchanges.remove(index)
    }
  }

  private enum SettleStep {
    case send, wait
    case rest(RestingState)
  }

  /// Puts a client among those that have something to send.
  mutating func enqueue(_ slot: UInt32) {
    guard !registry[slot].flags.contains(.isQueued), ready.append(slot) else { return }
    registry[slot].flags.insert(.isQueued)
  }

  /// Sends a message to a client; `nil` when it cannot be queued.
  mutating func send(
    _ bytes: [UInt8], to slot: UInt32, life: Duration, now: Instant
  ) -> MessageTag? {
    let index = openExchange(of: slot, now: now)
    let resting = registry[slot].resting
    let tag = exchanges.with(index) { exchange -> MessageTag? in
      exchange.wake(resting)
      do throws(MessageError) {
        let tag = try exchange.channel.send(
          bytes, on: .rendezvous, life: life, isUrgent: RendezvousMessage.isUrgent(bytes),
          now: now)
        exchange.noteMessage(now: now)
        return tag
      } catch {
        return nil
      }
    }
    enqueue(slot)
    return tag
  }

  // MARK: - Moving

  /// A packet that opened came from another address than the proven one: challenge it, once for
  /// each packet from there and not more often than every 100 ms.
  mutating func noteMove(of slot: UInt32, to source: SocketAddress, now: Instant) {
    guard !source.isUnsendable else { return }
    // Nothing that was asked for at the old address may go on to a host that moved away.
    reflector.stop(slot)
    let token = random.next()
    let path = DatagramPath(source, local: askedAt)
    withExchange(of: slot, now: now) { exchange in
      if exchange.move?.path.remote == source {
        exchange.move?.noteArrival(now: now)
      } else {
        exchange.move = AddressMove(to: path, token: token, now: now)
      }
    }
  }

  /// PONG goes with the challenge, so that a client that has moved knows its new address within one
  /// round trip; never in more bytes than PING had, because nothing is proven there.
  mutating func answerWhereAsked(_ pong: PongFrame, of packet: InboundPacket, now: Instant) {
    guard packet.byteCount >= AnswerTerms.tellingChallenge else { return }
    withExchange(of: packet.slot, now: now) { exchange in
      guard let move = exchange.move, move.path.remote == packet.source, move.isChallengeDue
      else { return }
      exchange.move?.pong = pong
    }
  }

  /// The answer to a challenge: from now on the client is there.
  mutating func finishMove(
    of slot: UInt32, _ response: PathResponseFrame, from source: SocketAddress, now: Instant
  ) {
    guard let index = exchange(of: slot), let move = exchanges[index].move,
      move.token == response.token, move.path.remote == source, move.sentCount > 0
    else { return }
    exchanges.with(index) { $0.move = nil }
    let old = registry[slot].address
    limiter.removeSession(of: old)
    limiter.addSession(of: source)
    registry.move(slot, to: move.path)
    counters.moves &+= 1
    publish(.moved(registry[slot].id, from: old, to: source))
  }

  /// Owes a PATH_RESPONSE. It goes with everything else to the proven address; to another one in
  /// a packet of its own.
  func answer(
    _ challenge: PathChallengeFrame, of packet: InboundPacket, in reply: inout PromptReply
  ) {
    let response = PathResponseFrame(token: challenge.token, observed: packet.source)
    if packet.isProven {
      reply.pathResponse = response
    } else if !packet.source.isUnsendable {
      reply.stray = (response, DatagramPath(packet.source, local: packet.marks.local))
    }
  }
}
