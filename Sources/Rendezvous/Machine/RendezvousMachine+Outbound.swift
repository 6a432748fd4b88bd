import Forwarding
import LastMile
package import Primitives
import Wire

/// What goes out: answers outside sessions, farewells, then whoever is owed something.
extension RendezvousMachine {
  @_lifetime(packet: copy packet)
  package mutating func pollTransmit(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    StoreWork.commitDue(in: &self, now: now)
    guard let destination = writeNext(into: &packet, now: now) else {
      gate.waiting.beginTurn()
      return nil
    }
    counters.datagramsSent &+= 1
    counters.bytesSent &+= UInt64(packet.count)
    return destination
  }

  @_lifetime(packet: copy packet)
  private mutating func writeNext(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    if let answer = answers.popFirst() {
      packet.append(bytes: answer.bytes)
      return answer.path
    }
    if let farewell = farewells.popDue(now: now) {
      packet.append(bytes: farewell.bytes)
      return farewell.path
    }
    if let destination = writePrompt(into: &packet, now: now) { return destination }
    while let slot = channels.hub?.write(into: &packet, othersWait: !ready.isEmpty, now: now) {
      if registry[slot].isHeard, let number = registry.seal(&packet, for: slot) {
        channels.hub?.noteSent(number, to: slot, byteCount: packet.count, now: now)
        return registry[slot].path
      }
      packet.removeAll()
    }
    while let slot = ready.popFirst() {
      registry[slot].flags.remove(.isQueued)
      guard registry.isUsed(slot), let index = exchange(of: slot) else { continue }
      if let destination = write(to: slot, index, into: &packet, now: now) {
        settle(slot, now: now)
        return destination
      }
      if registry.isUsed(slot) { settle(slot, mayQueue: false, now: now) }
    }
    if let destination = writeReflection(into: &packet, now: now) { return destination }
    return writeGoingAway(into: &packet, now: now)
  }

  /// What is owed at once to a client that has no exchange.
  @_lifetime(packet: copy packet)
  private mutating func writePrompt(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    while let reply = prompts.popFirst() {
      let slot = reply.slot
      guard registry.isUsed(slot), registry[slot].local == reply.connection,
        registry[slot].sendNumber <= Self.lastNumber
      else { continue }
      packet.append(zeros: SealedPacket.headerByteCount)
      let start = packet.count
      var destination = registry[slot].path
      if let stray = reply.stray {
        destination = stray.to
        stray.frame.write(to: &packet)
      } else if registry[slot].isHeard {
        reply.writeFrames(into: &packet, now: now)
      }
      if packet.count > start, registry.seal(&packet, for: slot) != nil { return destination }
      packet.removeAll()
    }
    return nil
  }

  /// One packet for a client: to a new address what must go there, else all that fits.
  @_lifetime(packet: copy packet)
  private mutating func write(
    to slot: UInt32, _ index: UInt32, into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    guard registry[slot].sendNumber <= Self.lastNumber else {
      remove(slot, .expired)
      return nil
    }
    packet.append(zeros: SealedPacket.headerByteCount)
    let start = packet.count
    var destination = registry[slot].path
    let isHeard = registry[slot].isHeard
    var hasMessages = false
    exchanges.with(index) { exchange in
      if let move = exchange.move, move.isChallengeDue {
        destination = move.path
        PathChallengeFrame(token: move.token).write(to: &packet)
        exchange.move?.pong.take()?.write(to: &packet)
        exchange.move?.noteChallenge(now: now)
      } else if let stray = exchange.strayResponse.take() {
        destination = stray.to
        stray.frame.write(to: &packet)
      } else if isHeard {
        hasMessages = exchange.writeFrames(into: &packet, now: now)
      }
    }
    guard packet.count > start else {
      packet.removeAll()
      return nil
    }
    guard let number = registry.seal(&packet, for: slot) else { return nil }
    if hasMessages { exchanges.with(index) { $0.didSend(number, now: now) } }
    return destination
  }

  // MARK: - Closing

  /// Ends a session in order: CLOSE goes three times (docs/protocol/session.md §8), sealed now,
  /// so that nothing of the session need be kept.
  mutating func close(
    _ slot: UInt32, _ code: CloseCode, _ departure: ServerEvent.Departure, now: Instant
  ) {
    if registry[slot].isConfirmed, registry[slot].isHeard {
      let path = registry[slot].path
      for round in 0..<Farewells.roundCount {
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: AnswerTerms.close) { packet in
          _ = writeClose(code, to: slot, into: &packet)
        }
        guard !bytes.isEmpty else { break }
        farewells.append(Farewell(bytes: bytes, path: path), round, now: now)
      }
    }
    remove(slot, departure)
  }

  @_lifetime(packet: copy packet)
  private mutating func writeClose(
    _ code: CloseCode, to slot: UInt32, into packet: inout OutputSpan<UInt8>
  ) -> Bool {
    guard registry[slot].sendNumber <= Self.lastNumber else { return false }
    packet.append(zeros: SealedPacket.headerByteCount)
    let text: [UInt8] = []
    CloseFrame(code: code).write(text.span, to: &packet)
    return registry.seal(&packet, for: slot) != nil
  }

  /// The next client's CLOSE while the server is going away.
  @_lifetime(packet: copy packet)
  private mutating func writeGoingAway(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    goingAway?.noteTime(busyCount: exchanges.count, now: now)
    while let slot = goingAway?.nextSlot(of: registry.slotLimit, now: now) {
      if goingAway?.isPatient == true, exchange(of: slot) != nil { continue }
      guard registry.isUsed(slot), registry[slot].isConfirmed, registry[slot].isHeard,
        writeClose(.goingAway, to: slot, into: &packet)
      else { continue }
      defer { if goingAway?.isForgetting == true { remove(slot, .goingAway) } }
      return registry[slot].path
    }
    return nil
  }
}
