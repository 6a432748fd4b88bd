import Cryptography
import Forwarding
import Primitives
import SecureSession
import Wire

/// From answered handshake to registration (docs/protocol/rendezvous.md §2), and what is said to
/// those who have no session.
extension RendezvousMachine {
  /// What becomes of the wish for a name, before anything is written.
  func status(
    of name: PeerName?, for id: PeerID, from source: SocketAddress, now: Instant
  ) throws(StoreFailure) -> RegistrationStatus {
    guard let name else { return .noNameAskedFor }
    let verdict = try store.verdict(on: name, for: id, now: settings.unixSeconds(now))
    if verdict == .granted {
      try storeWork.batch.expectWritable()
      if let slot = pending.holder(of: name), registry[slot].id != id { return .nameTaken }
      guard limiter.allowsNewName(of: source, now: now) else { return .noMoreNames }
    }
    return RegistrationStatus(verdict)
  }

  /// The first packet under a new session: it is its program's only one from now on, and what it
  /// asked for is written down. `false` when the session has ended.
  mutating func confirm(_ slot: UInt32, now: Instant) -> Bool {
    let id = registry[slot].id
    makeRoom(for: slot, now: now)
    registry.confirm(slot)
    unconfirmed.remove(slot)
    if let seatless = channels.hub?.confirm(slot) {
      close(seatless, .tokenExpired, .tokenExpired, now: now)
      if seatless == slot { return false }
    }
    counters.registrations &+= 1
    LateWords.announce(slot, in: &self)
    guard let entry = pending.remove(slot) else {
      offerRelays(to: slot, now: now)
      return true
    }
    defer { store.shared?.registrations.close(id) }
    var status = entry.status
    if let name = entry.name { registry.setName(name, of: slot, awaitsReceipt: entry.wantsReceipt) }
    storeWork.batch.append(entry, of: slot, in: registry, for: store)
    do throws(StoreFailure) {
      status = try write(entry, of: slot, now: now)
    } catch {
      noteStoreFailure(error)
      store.shared?.noteOwed(id)
    }
    if status == .nameTaken || status == .noMoreNames { counters.namesRefused &+= 1 }
    publish(
      .registered(
        id, name: status == .nameGranted ? entry.name : nil, status: status,
        from: registry[slot].address))
    // What RESP promised does not hold any more: the client learns it from the RESP to its next
    // INIT.
    guard status == entry.status else {
      close(slot, .limits, .promiseBroken, now: now)
      return false
    }
    offerRelays(to: slot, now: now)
    return true
  }

  /// RELAYS, where there are TURN servers and the client knows what they are. Goes to an address
  /// that is proven by the first packet under the session's keys.
  private mutating func offerRelays(to slot: UInt32, now: Instant) {
    guard registry[slot].flags.contains(.wantsRelays), let relays = settings.relays else { return }
    let offer = relays.offer(unixSeconds: settings.unixSeconds(now), random: &random)
    counters.relayOffers &+= 1
    _ = send(RendezvousMessage.relays(offer).bytes, to: slot, life: AnswerTerms.life, now: now)
  }

  /// Writes down what a registration asked for; its true status.
  private mutating func write(
    _ entry: PendingRegistrations.Entry, of slot: UInt32, now: Instant
  ) throws(StoreFailure) -> RegistrationStatus {
    let (id, source) = (registry[slot].id, registry[slot].address)
    let seconds = settings.unixSeconds(now)
    noteWrite(now: now)
    try revoke(by: entry.card, of: slot, now: now)
    var status = entry.status
    if let name = entry.name {
      status = try bind(name, to: id, from: source, seconds, now: now)
    }
    // No card with a name that was not granted is handed out by LOOKUP.
    let isOwn =
      try entry.claimedName.map { name throws(StoreFailure) in
        try store.verdict(on: name, for: id, now: seconds) == .owned
      } ?? true
    let isKnown = try store.serial(of: id) != nil
    guard isOwn,
      isKnown || status == .nameGranted || limiter.takeNewCard(of: source, &counters, now: now)
    else { return status }
    let isQuiet = registry.hasAudience(slot)
    try storeWork.batch.keep(entry, of: id, seen: seconds, isQuiet: isQuiet, in: store)
    return status
  }

  private mutating func bind(
    _ name: PeerName, to id: PeerID, from source: SocketAddress, _ seconds: UInt64, now: Instant
  ) throws(StoreFailure) -> RegistrationStatus {
    if try store.verdict(on: name, for: id, now: seconds) == .granted {
      guard limiter.takeNewName(of: source, now: now) else { return .noMoreNames }
      // A name that was promised must not be lost with the process: no waiting for others.
      storeWork.commitDue = now
    }
    let status = RegistrationStatus(try store.bind(name, to: id, now: seconds))
    if status == .nameGranted { counters.namesGranted &+= 1 }
    return status
  }

  /// Where a registration brings another device key in place of one that was given up, whoever
  /// registered with the old one has a session no more.
  private mutating func revoke(
    by bytes: [UInt8], of slot: UInt32, now: Instant
  ) throws(StoreFailure) {
    let id = registry[slot].id
    guard let former = try store.content(of: id), let card = ContactCard.Content(ofCard: bytes),
      card.supersedes(former)
    else { return }
    for other in registry.all(of: id) where other != slot {
      close(other, .replaced, .replaced, now: now)
    }
    store.shared?.announceSuperseded(id, unixSeconds: settings.unixSeconds(now))
  }

  /// The first packet never came.
  mutating func forgetUnconfirmed(_ slot: UInt32) {
    counters.unconfirmedForgotten &+= 1
    remove(slot, .silent)
  }

  // MARK: - Outside sessions

  /// Says who this is, or which nodes its root has signed.
  mutating func introduce(_ bytes: Span<UInt8>, to source: SocketAddress, now: Instant) {
    guard let answer = settings.introduction(to: bytes) else { return counters.foreign &+= 1 }
    guard limiter.takeCard(to: source, now: now) else { return }
    if answer.first == PacketType.nodes.rawValue {
      counters.nodesSent &+= 1
    } else {
      counters.cardsSent &+= 1
    }
    queue(answer, to: source)
  }

  /// A packet of a former life of this server gets a RESET, so that its sender comes back at once
  /// (docs/protocol/session.md §8).
  mutating func answerUnknown(
    _ connection: ConnectionID, byteCount: Int, from source: SocketAddress, now: Instant
  ) {
    guard byteCount > ResetPacket.byteCount,
      let boot = settings.formerBoot(of: connection)
    else { return }
    guard limiter.takeReset(to: source, now: now) else { return }
    var answer: [UInt8] = []
    ResetPacket(
      answered: connection, token: settings.resetToken(boot: boot, connection),
      padding: Bytes16(random: &random)
    ).write(to: &answer)
    counters.resetsSent &+= 1
    queue(answer, to: source)
  }

  /// Answers the datagram under way.
  mutating func queue(_ bytes: [UInt8], to destination: SocketAddress) {
    if !answers.append(
      Answer(bytes: bytes, path: DatagramPath(destination, local: askedAt)))
    {
      counters.answersDropped &+= 1
    }
  }
}

/// CARD and NODES (docs/protocol/session.md §4).
extension ServerSettings {
  /// What a well-formed CARD_REQUEST or NODES_REQUEST draws; `nil` for anything else, and where the
  /// server has no list of that root.
  func introduction(to bytes: Span<UInt8>) -> [UInt8]? {
    var reader = ByteReader(bytes)
    var answer: [UInt8] = []
    do throws(WireError) {
      guard bytes[0] == PacketType.nodesRequest.rawValue else {
        let request = try CardRequestPacket(parsing: &reader)
        CardPacket(nonce: request.nonce, card: card).write(to: &answer)
        return answer
      }
      let request = try NodesRequestPacket(parsing: &reader)
      guard let nodes, nodes.root == request.root else { return nil }
      NodesPacket(nonce: request.nonce, list: nodes).write(to: &answer)
      return answer
    } catch {
      return nil
    }
  }
}

extension RegistrationStatus {
  init(_ verdict: NameVerdict) {
    switch verdict {
    case .owned, .granted, .regained: self = .nameGranted
    case .taken: self = .nameTaken
    case .tooMany: self = .noMoreNames
    }
  }
}

/// RESET (docs/protocol/session.md §8).
extension ServerSettings {
  /// The latest boot before this one whose connection IDs begin as this one does.
  func formerBoot(of connection: ConnectionID) -> UInt64? {
    let distance = (bootCounter &- UInt64(connection.rawValue >> 28)) & 15
    guard distance != 0, distance < bootCounter else { return nil }
    return bootCounter - distance
  }

  func resetToken(boot: UInt64, _ connection: ConnectionID) -> Bytes16 {
    var message: [UInt8] = []
    message.append(littleEndian: boot)
    connection.write(to: &message)
    var hash = BLAKE2b(byteCount: 16, key: resetKey.span)
    hash.update(message.span)
    return hash.finalize16()
  }
}
