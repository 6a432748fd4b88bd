import Calling
import Cryptography
import Primitives
import SecureSession
import Wire

/// Making and reading the bytes of signalling (docs/protocol/calling.md §2).
extension CallLink {
  /// The body of a signal; `nil` for what cannot be said in this state.
  ///
  /// - Parameter destination: Which of the peer's programs it is for.
  func body(of signal: CallSignal, to destination: PresenceID) -> [UInt8]? {
    // The callee's program, from either side.
    let program = role == .caller ? destination : programs.own
    switch signal {
    case .invite: return inviteBody
    case .ringing: return ringingBody
    case .accept, .reject: return answerBody.isEmpty ? nil : answerBody
    case .cancel(let reason): return authenticated(.cancel(reason, presence: program))
    case .timeout(let reason): return authenticated(.timeout(reason, presence: program))
    case .receipt(let type): return authenticated(.receipt(of: type, presence: program))
    case .hangUp(let reason, let text): return hangUpBody(reason, text)
    case .unsupported, .confirm, .mediaState: return nil
    }
  }

  private func authenticated(_ content: SignalBody.Content) -> [UInt8]? {
    var body = SignalBody(callID, content)
    let bytes = body.bytesBeforeMAC
    guard let mac = ring?.mac(from: side, over: bytes.span) else { return nil }
    body.mac = mac.bytes
    return body.bytes
  }

  private func hangUpBody(_ reason: CallReason, _ text: ReasonText) -> [UInt8]? {
    var body = SignalBody(callID, .hangUp(reason, text))
    let bytes = body.bytesBeforeMAC
    guard let mac = hangUpMAC(from: side, over: bytes) else { return nil }
    body.mac = mac.bytes
    return body.bytes
  }

  private func hangUpMAC(from side: RingKeys.Side, over bytes: [UInt8]) -> Bytes16? {
    switch hangUpKey {
    case .some(let key): SignallingMAC.make(key: key, from: side, over: bytes.span)
    case .none: nil
    }
  }

  /// Whether the MAC at the end of a received body is the other side's.
  func isAuthentic(_ body: SignalBody) -> Bool {
    let bytes = body.bytesBeforeMAC
    let expected: Bytes16?
    if case .hangUp = body.content {
      expected = hangUpMAC(from: otherSide, over: bytes)
    } else {
      expected = ring?.mac(from: otherSide, over: bytes.span)
    }
    guard let expected, body.mac.count == SignalBody.macByteCount else { return false }
    return Secret.areEqual(expected.bytes.span, body.mac.span)
  }

  // MARK: - INVITE

  /// Makes INVITE: message 1, and the ring keys that come with it.
  func makeInvite(
    identity: borrowing LocalIdentity, offer: CallOffer, created: UInt64, ringTimeout: Duration?,
    random: inout RandomSource
  ) throws(HandshakeError) {
    let secret = SecretKey(random: &random)
    callerNumber = Bytes32(random: &random)
    var payload = InvitePayload(
      callID: callID, createdMilliseconds: created,
      commitment: ShortCode.commitment(to: callerNumber).bytes,
      callKey: Array(copying: secret.span),
      ringConnectionID: localRingID.rawValue,
      ringTimeoutMilliseconds: UInt32(clamping: ringTimeout?.milliseconds ?? 0), offer: offer)
    var bytes = payload.bytes
    defer {
      Secret.wipe(&bytes)
      Secret.wipe(&payload.callKey)
    }
    let initiator = try CallInitiator(
      connectionID: localSessionID, caller: identity, callee: peer, calleeStatic: peerStatic,
      payload: bytes.span, random: &random)
    inviteBody =
      SignalBody(
        callID,
        .invite(connectionID: localSessionID.rawValue, noiseMessage: initiator.message)
      ).bytes
    self.initiator = consume initiator
    handshakeStatic = identity.staticKey.clone()
    ring = RingKeys(secret: secret, side: .caller)
  }

  // MARK: - RINGING

  func makeRinging(
    isPrepared: Bool, candidates: CandidateList, random: inout RandomSource
  ) {
    let details = RingDetails(
      ringConnectionID: localRingID.rawValue, presence: programs.own,
      candidates: isPrepared ? candidates : CandidateList())
    let nonce = random.bytes(SealedRingDetails.nonceByteCount)
    let empty = SealedRingDetails(isPrepared: isPrepared, nonce: nonce, sealed: [])
    let head = empty.associatedData(callID)
    let plain = details.bytes
    do throws(CryptographyError) {
      guard
        let sealed = try ring?.sealDetails(plain.span, head: head.span, nonce: nonce.span)
      else { return }
      let content = SealedRingDetails(isPrepared: isPrepared, nonce: nonce, sealed: sealed)
      ringingBody = authenticated(.ringing(content)) ?? []
    } catch {
      ringingBody = []
    }
  }

  /// Reads RINGING's details; gives the program that rings, `nil` if they do not open.
  func readRinging(
    _ sealed: SealedRingDetails, random: inout RandomSource, now: Instant
  ) -> PresenceID? {
    let head = sealed.associatedData(callID)
    do {
      guard
        let plain = try ring?.openDetails(
          sealed.sealed.span, head: head.span, nonce: sealed.nonce.span)
      else { return nil }
      var reader = ByteReader(plain.span)
      let details = try RingDetails(parsing: &reader)
      adopt(details, random: &random, now: now)
      return details.presence
    } catch {
      return nil
    }
  }

  /// Path checks can be sealed as soon as both ring connection IDs are known; once a call.
  ///
  /// - Parameter program: The callee's.
  func openRingSession(with program: PresenceID) {
    guard ringSession == nil, remoteRingID != .none,
      let checks = ring?.pathChecks(
        local: localRingID, remote: remoteRingID, presence: program)
    else { return }
    ringSession = consume checks
  }

  // MARK: - ACCEPT and REJECT

  /// The callee's message 2 that accepts; from here on it has the session's keys.
  func makeAccept(
    offer: CallOffer, random: inout RandomSource
  ) throws(HandshakeError) {
    guard let responder = self.responder.take() else { throw .outOfTurn }
    calleeNumber = Bytes16(random: &random)
    let payload = AnswerPayload(
      callID: callID, verdict: .accepted(connectionID: localSessionID.rawValue),
      presence: programs.own, contribution: calleeNumber.bytes, offer: offer)
    let bytes = payload.bytes
    handshakeStatic = responder.calleeStatic.clone()
    let acceptance = try responder.accept(payload: bytes.span, random: &random)
    answerBody = SignalBody(callID, .accept(noiseMessage: acceptance.message)).bytes
    sessionKeys = acceptance.intoKeys()
  }

  func makeReject(
    _ reason: CallReason, _ text: ReasonText, card: [UInt8], random: inout RandomSource
  ) throws(HandshakeError) {
    guard let responder = self.responder.take() else { throw .outOfTurn }
    let payload = AnswerPayload(
      callID: callID, verdict: .rejected(reason, text), presence: programs.own,
      contribution: random.bytes(16), offer: CallOffer(card: card))
    let bytes = payload.bytes
    let message = try responder.reject(payload: bytes.span, random: &random)
    answerBody = SignalBody(callID, .reject(noiseMessage: message)).bytes
  }

  /// The caller reads message 2 of one of the callee's programs; `nil` if it does not open or is
  /// not about this call. An acceptance that was taken is recognised by its bytes afterwards.
  ///
  /// - Parameter takes: Whether an acceptance is taken: the first one, of a call that is open.
  func readAnswer(
    _ message: [UInt8], isAccept: Bool, body: [UInt8], takes: Bool, random: inout RandomSource
  ) -> (signal: CallSignal, presence: PresenceID)? {
    if initiator == nil {
      return isAccept && body == answerBody ? (.accept, programs.remote) : nil
    }
    guard let read = open(message), let answer = parse(read.payload), answer.callID == callID
    else { return nil }
    switch answer.verdict {
    case .accepted(let connectionID) where isAccept:
      if takes {
        initiator = nil
        answerBody = body
        take(answer, connectionID, random: &random)
        sessionKeys = read.establish()
      }
      return (.accept, answer.presence)
    case .rejected(let reason, let text) where !isAccept:
      if takes { remoteUserExtension = answer.offer.userExtension }
      return (.reject(reason, text), answer.presence)
    case .accepted, .rejected: return nil
    }
  }

  private func take(
    _ answer: AnswerPayload, _ connectionID: UInt32, random: inout RandomSource
  ) {
    settleBranches(on: answer.presence, random: &random)
    remoteSessionID = ConnectionID(rawValue: connectionID)
    calleeNumber = Bytes16(answer.contribution) ?? calleeNumber
    if !answer.offer.candidates.candidates.isEmpty {
      remoteCandidates = answer.offer.candidates.candidates
    }
    remoteUserExtension = answer.offer.userExtension
    remoteMedia = answer.offer.media
    roaming.theirAbsence = answer.offer.rejoinSeconds
  }

  private func open(_ message: [UInt8]) -> CallAnswer? {
    do throws(HandshakeError) {
      return try initiator?.readAnswer(message.span)
    } catch {
      return nil
    }
  }

  private func parse(_ plain: [UInt8]) -> AnswerPayload? {
    var reader = ByteReader(plain.span)
    do throws(WireError) {
      return try AnswerPayload(parsing: &reader)
    } catch {
      return nil
    }
  }
}
