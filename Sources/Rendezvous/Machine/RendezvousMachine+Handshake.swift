import Cryptography
import Primitives
import SecureSession
import Tokens
import Wire

/// INIT in, RESP out (docs/protocol/session.md §2, §3).
extension RendezvousMachine {
  mutating func handleInitiation(_ bytes: Span<UInt8>, from source: SocketAddress, now: Instant) {
    counters.initiations &+= 1
    var reader = ByteReader(bytes)
    do throws(WireError) {
      let packet = try InitPacket(parsing: &reader)
      judge(packet, bytes, from: source, now: now)
    } catch {
      counters.initiationsDropped.add(.malformed)
    }
  }

  /// MAC1 first, then the rate of the source; beyond it, and under load, the address is to be
  /// proven by a cookie, and whoever has one has a rate of its own.
  private mutating func judge(
    _ packet: InitPacket, _ bytes: Span<UInt8>, from source: SocketAddress, now: Instant
  ) {
    guard
      let found = gate.inspect(packet, bytes, from: source, now: now, random: &random)
    else {
      counters.initiationsDropped.add(.wrongMAC)
      return
    }
    guard packet.isOurVersion else { return answerVersion(packet, to: source, now: now) }
    let isUnderLoad = gate.isUnderLoad(now: now)
    if !isUnderLoad || found.isProven,
      limiter.takeInitiation(of: source, isProven: found.isProven, now: now)
    {
      answer(packet, bytes, keyIndex: found.keyIndex, from: source, now: now)
    } else if found.isProven {
      counters.initiationsDropped.add(.sourceRate)
    } else {
      answerCookie(packet, keyIndex: found.keyIndex, to: source, now: now)
    }
    noteLoad(now: now)
  }

  private mutating func answerVersion(
    _ packet: InitPacket, to source: SocketAddress, now: Instant
  ) {
    guard limiter.takeCard(to: source, now: now) else { return }
    var answer: [UInt8] = []
    VersionPacket(initiator: packet.connectionID).write(to: &answer)
    counters.versionsSent &+= 1
    queue(answer, to: source)
  }

  private mutating func answerCookie(
    _ packet: InitPacket, keyIndex: Int, to source: SocketAddress, now: Instant
  ) {
    guard limiter.takeCookie(to: source, now: now),
      let answer = gate.cookieAnswer(
        to: packet, keyIndex: keyIndex, from: source, now: now, random: &random)
    else {
      counters.initiationsDropped.add(.sourceRate)
      return
    }
    counters.cookiesSent &+= 1
    queue(answer, to: source)
  }

  private mutating func answer(
    _ packet: InitPacket, _ bytes: Span<UInt8>, keyIndex: Int, from source: SocketAddress,
    now: Instant
  ) {
    var hash = BLAKE2b(byteCount: 16)
    hash.update(bytes.extracting(InitPacket.mac2Coverage))
    let fingerprint = hash.finalize16()
    if let answer = recentAnswers.find(fingerprint, now: now) {
      counters.initiationsRepeated &+= 1
      return queue(answer, to: source)
    }
    if gate.waiting.contains(fingerprint) {
      counters.initiationsRepeated &+= 1
      return
    }
    let isForUs = packet.purpose == HandshakePurpose.register.rawValue
    guard isForUs, limiter.turns.admit(source, fill: gate.workFill(now: now), now: now),
      gate.takeWork(now: now)
    else {
      counters.initiationsDropped.add(isForUs ? .busy : .wrongPurpose)
      return
    }
    let entry = HandshakeQueue.Entry(
      packet, keyIndex: keyIndex, from: source, to: askedAt, fingerprint: fingerprint, now: now)
    HandshakeQueue.admit(entry, bytes, &self, now: now)
  }

  mutating func finish(_ handshake: consuming OpenHandshake, now: Instant) {
    let (source, fingerprint) = (handshake.source, handshake.fingerprint)
    askedAt = handshake.askedAt
    do throws(HandshakeError) {
      guard let answer = try respond(to: handshake, now: now) else {
        return counters.initiationsDropped.add(.notBelieved)
      }
      counters.handshakes &+= 1
      recentAnswers.insert(answer, for: fingerprint, now: now)
      if sweepClock.due == nil { sweepClock.due = now + Self.sweepPace }
      queue(answer, to: source)
    } catch {
      counters.initiationsDropped.add(.notBelieved)
    }
  }

  /// The key agreement; `nil` when the INIT is refused without an answer.
  private mutating func respond(
    to handshake: consuming OpenHandshake, now: Instant
  ) throws(HandshakeError) -> [UInt8]? {
    let (payload, source) = (handshake.payload, handshake.source)
    let (connection, askedAt) = (handshake.connection, handshake.askedAt)
    guard let ruling = rule(on: payload, handshake.early, from: source, now: now)
    else { return nil }
    let local = connectionIDs.makeID { registry.find($0) != nil }
    let response = ResponsePayload(
      responder: local, initiator: connection, seenAddress: source,
      terms: terms(ruling, payload, for: local, now: now))
    var plainResponse: [UInt8] = []
    response.write(to: &plainResponse)
    var state = handshake.state
    let message = try state.writeMessage(payload: plainResponse.span, random: &random)
    var answer = ResponsePacket.unauthenticated(
      purpose: .register, responder: local, initiator: connection, noiseMessage: message)
    ResponsePacket.complete(&answer, mac1: answer.span.mac1(for: payload.card.staticKey))
    guard !ruling.status.isRefusal, let split = state.split() else { return answer }
    insert(
      ClientRecord(
        keys: (
          receive: PacketKeys(sessionKey: split.initiatorToResponder),
          send: PacketKeys(sessionKey: split.responderToInitiator)
        ), local: local,
        remote: connection, id: payload.card.id, presence: payload.presence,
        address: source, askedAt: askedAt,
        initiated: payload.time.compact, abilities: payload.abilities, now: now),
      payload, ruling, now: now)
    return answer
  }

  func makeHandshake(
    _ context: HandshakeContext, keyIndex: Int
  ) throws(HandshakeError) -> HandshakeState {
    if keyIndex == 0 {
      return try HandshakeState(context, role: .responder, localStatic: settings.identity.staticKey)
    }
    switch settings.identity.previousStaticKey {
    case .some(let previous):
      return try HandshakeState(context, role: .responder, localStatic: previous)
    case .none: throw .missingKey
    }
  }

  // MARK: - Who may register

  /// What RESP says of a registration.
  private struct Ruling {
    var status: RegistrationStatus
    var knownSerial: UInt64 = 0
    var tokenFault: TokenFault?
    /// What the access token grants, where one is needed.
    var grant: TokenGrant?
  }

  /// `nil` when the INIT is to be dropped.
  private mutating func rule(
    on payload: InitPayload, _ early: EarlyRuling, from source: SocketAddress, now: Instant
  ) -> Ruling? {
    let id = payload.card.id
    do throws(CardFault) {
      try early.verify(payload.card, unixSeconds: settings.unixSeconds(now))
    } catch {
      // Silence would tell somebody with a wrong clock that there is no server.
      guard error == .notYetValid || error == .expired else { return nil }
      return refuse(id, .wrongClock, .wrongClock, from: source, now: now)
    }
    guard mayBegin(id, payload.presence.id, payload.time, now: now) else { return nil }
    var status = RegistrationStatus.noNameAskedFor
    do throws(StoreFailure) {
      let serial = try store.serial(of: id) ?? 0
      if try store.hasSuperseded(payload.card) || payload.card.content.serial < serial {
        var ruling = refuse(id, .superseded, .superseded, from: source, now: now)
        ruling.knownSerial = serial
        return ruling
      }
      status = try self.status(of: payload.name, for: id, from: source, now: now)
    } catch {
      // The session stands, without the name that cannot be looked up now.
      noteStoreFailure(error)
    }
    if status == .nameGranted, let name = payload.name, settings.admission.keeps(name, from: id) {
      status = .nameTaken
    }
    return rule(on: payload, early, status, from: source, now: now)
  }

  /// The rest of it: who may register, whether there is room, and which names are its own.
  private mutating func rule(
    on payload: InitPayload, _ early: EarlyRuling, _ status: RegistrationStatus,
    from source: SocketAddress, now: Instant
  ) -> Ruling? {
    let id = payload.card.id
    var ruling = Ruling(status: status)
    guard settings.admission.allows(id)
    else { return refuse(id, .notAllowed, .notAllowed, from: source, now: now) }
    // Last of what costs: one signature, of whoever may register as far as all else goes.
    let token = channels.rule(on: early.token(payload, settings, now: now))
    switch token {
    case .notRequired: break
    case .granted(let grant): ruling.grant = grant
    case .noSeat: return refuse(id, .full, .serverFull, from: source, now: now)
    case .refused(nil): return refuse(id, .tokenNeeded, .tokenNeeded, from: source, now: now)
    case .refused(.some(let fault)):
      ruling = refuse(id, .tokenRefused, .tokenRefused, from: source, now: now)
      ruling.tokenFault = fault
      return ruling
    }
    if status == .nameGranted, let name = payload.name, !token.allows(name) {
      ruling.status = .nameTaken
    }
    guard hasRoom(for: payload.presence, of: id, ruling.grant?.seat, now: now) else {
      return refuse(id, .tooManyPrograms, .tooManyPrograms, from: source, now: now)
    }
    if let refusal = makeRoom(for: id, payload.presence, source, now: now) {
      return refuse(id, .full, refusal, from: source, now: now)
    }
    return isNameOwn(payload, ruling.status, now: now)
      ? ruling : refuse(id, .nameOnCard, .nameOnCard, from: source, now: now)
  }

  /// Whether the name on the card is one of the identity, or will be by this INIT. While the store
  /// fails any is: then the card is not kept, and the session has no name.
  private mutating func isNameOwn(
    _ payload: InitPayload, _ status: RegistrationStatus, now: Instant
  ) -> Bool {
    let id = payload.card.id
    guard let name = payload.card.content.name else { return true }
    if status == .nameGranted, name == payload.name { return true }
    do throws(StoreFailure) {
      return try store.verdict(on: name, for: id, now: settings.unixSeconds(now)) == .owned
        && !settings.admission.keeps(name, from: id)
    } catch {
      noteStoreFailure(error)
      return true
    }
  }

  private mutating func refuse(
    _ id: PeerID, _ status: RegistrationStatus, _ refusal: ServerEvent.Refusal,
    from source: SocketAddress, now: Instant
  ) -> Ruling {
    counters.registrationsRefused.add(refusal)
    publishRefusal(.refused(id, refusal, from: source), now: now)
    return Ruling(status: status)
  }

  /// An identity's rate, and that a program's INIT is newer than the one its session came from.
  private mutating func mayBegin(
    _ id: PeerID, _ presence: PresenceID, _ time: TAI64N, now: Instant
  ) -> Bool {
    if let slot = registry.find(id, presence), registry[slot].initiated >= time.compact {
      return false
    }
    let rate = limits.initiationsPerIdentity
    return limiter.identities.admit(id, rate, now: now)
  }

  /// Why there is no room for one more session, if there is none. Unconfirmed sessions make room,
  /// and so do those that the new one takes the place of.
  private mutating func makeRoom(
    for id: PeerID, _ presence: Presence, _ source: SocketAddress, now: Instant
  ) -> ServerEvent.Refusal? {
    while let slot = unconfirmed.excess(for: source, limits) { forgetUnconfirmed(slot) }
    while registry.count >= limits.sessions {
      guard let slot = unconfirmed.oldest else { return .serverFull }
      forgetUnconfirmed(slot)
    }
    let mayCome =
      limiter.hasRoom(for: 1, of: source, registry) || registry.find(id, presence.id) != nil
      || !registry.crowded(
        by: presence.kind, of: id, at: source, period: limits.period, now: now
      ).isEmpty
    return mayCome ? nil : .sourceFull
  }

  private func terms(
    _ ruling: Ruling, _ payload: InitPayload, for local: ConnectionID, now: Instant
  ) -> SessionTerms {
    SessionTerms(
      serverTime: settings.unixMilliseconds(now), boot: settings.bootCounter,
      life: UInt32(clamping: limits.sessionLife.milliseconds / 1000),
      period: UInt16(clamping: limits.period.milliseconds / 1000),
      resetToken: settings.resetToken(boot: settings.bootCounter, local), status: ruling.status,
      knownSerial: ruling.knownSerial, tokenFault: ruling.tokenFault,
      tokenLife: ruling.grant?.wireLife ?? 0,
      isForAudience: payload.abilities.contains(.audience) && !ruling.status.isRefusal,
      hasPairs: settings.hasPairs(for: payload.abilities) && !ruling.status.isRefusal,
      hasChannelData: settings.hasChannelData(for: payload.abilities)
        && !ruling.status.isRefusal,
      hasUnsentCounts: settings.hasUnsentCounts(for: payload.abilities)
        && !ruling.status.isRefusal)
  }

  private mutating func insert(
    _ record: ClientRecord, _ payload: InitPayload, _ ruling: Ruling, now: Instant
  ) {
    let (slot, status) = (registry.insert(record), ruling.status)
    if payload.abilities.contains(.audience) { registry.setAudience(Audience(), of: slot) }
    if let grant = ruling.grant { tokens.set(slot, at: now + grant.life) }
    channels.reserve(slot, by: ruling.grant, payload, from: record.address)
    unconfirmed.insert(slot, from: record.address)
    limiter.addSession(of: record.address)
    // Cookies before the table is full, whatever the pace of those who fill it.
    if unconfirmed.count * 4 > limits.unconfirmedSessions { gate.noteLoad(now: now) }
    pending.insert(
      PendingRegistrations.Entry(
        card: payload.card.bytes, serial: payload.card.content.serial,
        claimedName: payload.card.content.name,
        name: status == .nameGranted ? payload.name : nil, status: status,
        wantsReceipt: store.shared != nil && payload.abilities.contains(.receipts)),
      for: slot)
  }
}

extension PacketKeys {
  /// The keys of one direction from its key of Split (docs/protocol/session.md §5).
  init(sessionKey key: borrowing SecretKey) {
    self.init(aead: key.derive("EST1keys", 1), header: key.derive("EST1keys", 2))
  }
}

extension TAI64N {
  /// Sorts as the label does, in 64 bits: seconds mod 2^34 (544 years), then nanoseconds.
  var compact: UInt64 {
    var bytes: [UInt8] = []
    write(to: &bytes)
    var seconds: UInt64 = 0
    var nanoseconds: UInt64 = 0
    for byte in bytes.prefix(8) { seconds = seconds << 8 | UInt64(byte) }
    for byte in bytes.dropFirst(8) { nanoseconds = nanoseconds << 8 | UInt64(byte) }
    return (seconds & 0x3_FFFF_FFFF) << 30 | nanoseconds
  }
}

extension InitPayload {
  /// The payload of a well-formed INIT whose card is for the key of the handshake.
  init?(_ plain: [UInt8], provenKey: Bytes32?) {
    var reader = ByteReader(plain.span)
    do throws(WireError) {
      try self.init(parsing: &reader)
    } catch {
      return nil
    }
    guard card.staticKey == provenKey else { return nil }
  }
}

extension Span<UInt8> {
  /// MAC1 of a packet for whoever has the static key (docs/protocol/session.md §2).
  fileprivate func mac1(for staticKey: Bytes32) -> Bytes16 {
    var hash = BLAKE2b(byteCount: 16, key: InitiationGate.derive("EST1mac1", staticKey).span)
    hash.update(self)
    return hash.finalize16()
  }
}
