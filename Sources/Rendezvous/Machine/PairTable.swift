import Forwarding
import Primitives
import Wire

/// The relays that forward for pairs, and tickets for ends of calls (docs/protocol/relay.md §6).
struct PairTable {
  private struct Entry {
    let slot: UInt32
    let id: PeerID
    let address: SocketAddress
    let secret: PairSecret
  }

  /// A relay has one entry.
  private var entries: [Entry] = []

  /// - Throws: Where nothing can be sent there.
  mutating func insert(
    _ offer: PairOffer, of slot: UInt32, _ client: ClientRecord
  ) throws(WireError) {
    let address = RelayTable.address(offer.address, of: client)
    guard !address.isUnsendable else { throw .invalid("relay", at: 0) }
    remove(slot)
    entries.removeAll { $0.id == client.id }
    entries.append(
      Entry(slot: slot, id: client.id, address: address, secret: PairSecret(offer.secret)))
  }

  /// The operator has named others.
  mutating func keep(_ ids: Set<PeerID>) { entries.removeAll { !ids.contains($0.id) } }

  mutating func remove(_ slot: UInt32) { entries.removeAll { $0.slot == slot } }

  /// The sessions of relays.
  var slots: [UInt32] { entries.map(\.slot) }

  /// A ticket for one end: both get the same pair at the same relay; `nil` = there is no relay.
  ///
  /// - Parameters:
  ///   - silent: Sessions of relays that have not been heard of: only where no other relay is.
  ///   - until: In ms since 1970 UTC.
  func ticket(
    for request: PairRequest, to client: PeerID, silent: [UInt32], until: UInt64
  ) -> PairTicket? {
    var best: (entry: Entry, pair: Bytes16)?
    let heard = entries.filter { !silent.contains($0.slot) }
    for entry in heard.isEmpty ? entries : heard {
      let pair = entry.secret.pair(of: client, request.peer, request)
      guard best.map({ $0.pair.bytes.lexicographicallyPrecedes(pair.bytes) }) ?? true else {
        continue
      }
      best = (entry, pair)
    }
    guard let (entry, pair) = best else { return nil }
    let side = PairSide(of: client, beside: request.peer)
    return PairTicket(
      address: entry.address, pair: pair, until: until, side: side,
      key: entry.secret.key(of: pair, side, until: until))
  }
}

extension ClientRegistry {
  /// Those of relays' sessions in which nothing has come for a while: the relay may be dead, and
  /// its session stands for minutes.
  func silentRelays(of slots: [UInt32], now: Instant) -> [UInt32] {
    slots.filter { slot in
      UInt16(truncatingIfNeeded: now.second) &- self[slot].heard > Self.relaySilence
    }
  }

  /// In s. A relay says each 5 s that it runs.
  private static var relaySilence: UInt16 { 12 }
}

extension PairRequest {
  /// Answers a client, by what the two have written to each other.
  func answer(_ slot: UInt32, in machine: inout RendezvousMachine, now: Instant) {
    let client = machine.registry[slot].id
    let isAllowed =
      machine.registry[slot].lookUps.admit(
        machine.limits.lookUpsPerClient, nowMilliseconds: now.millisecond)
      && machine.limiter.takeLookUp(of: machine.registry[slot].address, now: now)
    let answer: PairResult.Answer
    if !isAllowed {
      answer = .tooMany
    } else if machine.settings.relayIDs.isEmpty {
      // It does not ask again in this call.
      answer = .noRelay
    } else if client == peer || !machine.limiter.credits.haveWritten(client, peer, now: now) {
      answer = .notKnown
    } else {
      let until =
        machine.settings.unixMilliseconds(now)
        &+ UInt64(clamping: machine.settings.pairTicketLife.milliseconds)
      let pairs = machine.channels.pairs
      let ticket = pairs.ticket(
        for: self, to: client, silent: machine.registry.silentRelays(of: pairs.slots, now: now),
        until: until)
      answer = ticket.map { .granted($0) } ?? .noRelay
    }
    let result = RendezvousMessage.pairResult(PairResult(call: call, program: program, answer))
    if machine.send(result.bytes, to: slot, life: AnswerTerms.life, now: now) == nil {
      machine.counters.answersDropped &+= 1
    }
  }
}
