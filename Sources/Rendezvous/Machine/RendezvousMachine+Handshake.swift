import Cryptography
import Primitives
import SecureSession
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
      counters.initiationsDropped &+= 1
    }
  }

  private mutating func judge(
    _ packet: InitPacket, _ bytes: Span<UInt8>, from source: SocketAddress, now: Instant
  ) {
    let rate = limits.initiationsPerSource
    let wasUnderLoad = gate.isUnderLoad(now: now)
    var isWithinRate = false
    sources.withRecord(of: source, now: now) { record in
      var meter = record.initiations
      isWithinRate = meter.take(rate, now: now)
      record.initiations = meter
    }
    let verdict = gate.judge(
      packet, bytes, from: source, now: now, random: &random, isWithinRate: { isWithinRate })
    switch verdict {
    case .drop: counters.initiationsDropped &+= 1
    case .answerVersion:
      guard mayAnswer(source, now: now) else { return }
      var answer: [UInt8] = []
      VersionPacket(initiator: packet.connectionID).write(to: &answer)
      counters.versionsSent &+= 1
      queue(answer, to: source)
    case .answerCookie(let keyIndex):
      guard mayAnswer(source, now: now),
        let answer = gate.cookieAnswer(
          to: packet, keyIndex: keyIndex, from: source, now: now, random: &random)
      else { return }
      counters.cookiesSent &+= 1
      queue(answer, to: source)
    case .pass(let keyIndex):
      answer(packet, bytes, keyIndex: keyIndex, from: source, now: now)
      if gate.isUnderLoad(now: now) != wasUnderLoad {
        publish(.loadChanged(isUnderLoad: !wasUnderLoad))
      }
    }
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
    guard packet.purpose == HandshakePurpose.register.rawValue,
      registry.count < limits.sessions, mayBegin(from: source), gate.takeWork(now: now)
    else {
      counters.initiationsDropped &+= 1
      return
    }
    do throws(HandshakeError) {
      let answer = try respond(to: packet, bytes, keyIndex: keyIndex, from: source, now: now)
      guard let answer else {
        counters.initiationsDropped &+= 1
        return
      }
      counters.handshakes &+= 1
      recentAnswers.insert(answer, for: fingerprint, now: now)
      if sweepDue == nil { sweepDue = now + Self.sweepPace }
      queue(answer, to: source)
    } catch {
      counters.initiationsDropped &+= 1
    }
  }

  private mutating func mayBegin(from source: SocketAddress) -> Bool {
    registry.count - registry.confirmedCount < limits.unconfirmedSessions
      && registry.sessionCount(of: source) < limits.sessionsPerSource
  }

  /// The key agreement; `nil` when the INIT is refused without an answer.
  private mutating func respond(
    to packet: InitPacket, _ bytes: Span<UInt8>, keyIndex: Int, from source: SocketAddress,
    now: Instant
  ) throws(HandshakeError) -> [UInt8]? {
    let context = HandshakeContext(
      purpose: .register, connectionID: packet.connectionID, responder: settings.identity.id)
    var handshake = try makeHandshake(context, keyIndex: keyIndex)
    let plain = try handshake.readMessage(bytes.extracting(InitPacket.noiseRange))
    guard let payload = believe(plain, provenKey: handshake.remoteStatic, now: now) else {
      return nil
    }
    let id = payload.card.id
    guard mayBegin(id, payload.presence.id, payload.time, now: now) else { return nil }
    let status = admit(payload, from: source, now: now)
    let local = connectionIDs.take { registry.find($0) != nil }
    let response = ResponsePayload(
      responder: local, initiator: packet.connectionID, seenAddress: source,
      terms: terms(status: status, for: local, now: now))
    var plainResponse: [UInt8] = []
    response.write(to: &plainResponse)
    let message = try handshake.writeMessage(payload: plainResponse.span, random: &random)
    var answer = ResponsePacket.unauthenticated(
      purpose: .register, responder: local, initiator: packet.connectionID, noiseMessage: message)
    ResponsePacket.complete(&answer, mac1: mac1(over: answer.span, for: payload.card.staticKey))
    guard status != .notAllowed, status != .tooManyPrograms, let split = handshake.split() else {
      return answer
    }
    insert(
      ClientRecord(
        keys: (
          receive: PacketKeys(sessionKey: split.initiatorToResponder),
          send: PacketKeys(sessionKey: split.responderToInitiator)
        ), local: local,
        remote: packet.connectionID, id: id, presence: payload.presence, address: source,
        initiated: payload.time.compact, now: now),
      payload, status)
    return answer
  }

  private func makeHandshake(
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

  /// The payload of a well-formed INIT whose card is to be believed.
  private func believe(
    _ plain: [UInt8], provenKey: Bytes32?, now: Instant
  ) -> InitPayload? {
    var reader = ByteReader(plain.span)
    do throws(WireError) {
      let payload = try InitPayload(parsing: &reader)
      guard payload.card.staticKey == provenKey else { return nil }
      do throws(CardFault) {
        try payload.card.verify(unixSeconds: settings.unixMilliseconds(now) / 1000)
      } catch {
        return nil
      }
      return payload
    } catch {
      return nil
    }
  }

  /// An identity's rate, and that a program's INIT is newer than the one its session came from.
  private mutating func mayBegin(
    _ id: PeerID, _ presence: PresenceID, _ time: TAI64N, now: Instant
  ) -> Bool {
    if let slot = registry.find(id, presence), registry[slot].initiated >= time.compact {
      return false
    }
    let rate = limits.initiationsPerIdentity
    return identities.take(id, rate, now: now)
  }

  private mutating func admit(
    _ payload: InitPayload, from source: SocketAddress, now: Instant
  ) -> RegistrationStatus {
    let id = payload.card.id
    var status = RegistrationStatus.noNameAskedFor
    do throws(StoreFailure) {
      status = try self.status(of: payload.name, for: id)
    } catch {
      // The session stands, without the name that cannot be looked up now.
      noteStoreFailure(error)
    }
    let granted = status == .nameGranted ? payload.name : nil
    guard settings.admission.allows(id, grantedName: granted) else {
      counters.registrationsRefused &+= 1
      publish(.refused(id, .notAllowed, from: source))
      return .notAllowed
    }
    guard hasRoom(for: payload.presence, of: id, now: now) else {
      counters.registrationsRefused &+= 1
      publish(.refused(id, .tooManyPrograms, from: source))
      return .tooManyPrograms
    }
    return status
  }

  private func terms(
    status: RegistrationStatus, for local: ConnectionID, now: Instant
  ) -> SessionTerms {
    SessionTerms(
      serverTime: settings.unixMilliseconds(now), boot: settings.bootCounter,
      life: UInt32(clamping: limits.sessionLife.milliseconds / 1000),
      period: UInt16(clamping: limits.period.milliseconds / 1000),
      resetToken: resetToken(boot: settings.bootCounter, local), status: status)
  }

  private func mac1(over bytes: Span<UInt8>, for staticKey: Bytes32) -> Bytes16 {
    var hash = BLAKE2b(byteCount: 16, key: InitiationGate.derive("EST1mac1", staticKey).span)
    hash.update(bytes)
    return hash.finalize16()
  }

  private mutating func insert(
    _ record: ClientRecord, _ payload: InitPayload, _ status: RegistrationStatus
  ) {
    let slot = registry.insert(record)
    pending.insert(
      PendingRegistrations.Entry(
        card: payload.card.bytes, serial: payload.card.content.serial,
        name: status == .nameGranted ? payload.name : nil, status: status),
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
