import Calling
import Cryptography
import Primitives
import SecureSession
import Wire

/// The two Noise messages of a call, the keys that come with them, and the bytes of its signals
/// (docs/protocol/calling.md §2). Bodies are made once, so that repetitions are the same bytes.
struct CallSignalling: ~Copyable {
  /// How far the two Noise messages have come.
  enum Handshake: ~Copyable {
    /// INVITE has not been made, or not been read.
    case awaited
    /// The caller waits for message 2.
    case invited(CallInitiator)
    /// The callee has read message 1, and has not answered.
    case ringing(CallResponder)
    /// Accepted: the keys wait until the session is made of them.
    case agreed(SessionKeys)
    /// The session has the keys, or there will be none.
    case over
  }

  let callID: CallID
  let role: CallRole
  /// This program.
  let program: PresenceID
  let peerStatic: Bytes32
  /// The connection IDs of the session to be (calling.md §4).
  var sessionIDs = ConnectionIDs()
  private(set) var inviteBody: [UInt8] = []
  private(set) var ringingBody: [UInt8] = []
  var answerBody: [UInt8] = []
  private var handshake = Handshake.awaited
  var ring: RingKeys?
  var hangUpKey: SecretKey?
  /// The own static key of the two Noise messages, which the identity may replace meanwhile: the
  /// caller's that sealed INVITE, the callee's that opened it.
  private var ownStatic: X25519.KeyPair?
  var shortCode = ShortCodeExchange()

  init(_ callID: CallID, _ role: CallRole, program: PresenceID, peerStatic: Bytes32) {
    self.callID = callID
    self.role = role
    self.program = program
    self.peerStatic = peerStatic
  }

  var side: RingKeys.Side { role == .caller ? .caller : .callee }
  private var otherSide: RingKeys.Side { role == .caller ? .callee : .caller }

  /// The caller has not taken an acceptance yet.
  var awaitsAnswer: Bool { handshake.isInvited }

  /// The keys of the session are there, and it has not been made.
  var hasSessionKeys: Bool { handshake.isAgreed }

  /// Whether `eraseKeys` has something left to do.
  var hasStaticKey: Bool { ownStatic != nil }

  /// What the session is made of, once.
  mutating func takeSessionKeys() -> SessionKeys? { handshake.takeKeys() }

  /// The own half of the handshake that the session's keys came from, once.
  mutating func takeStaticKey() -> X25519.KeyPair? { ownStatic.take() }

  /// Once the call is over: what sealed or opened anything of it goes. What authenticates signals
  /// stays for those that are repeated.
  mutating func eraseKeys() {
    _ = handshake.takeKeys()
    ownStatic = nil
    ring?.eraseAllButMAC()
    shortCode.eraseKey()
  }

  // MARK: - Bodies

  /// The body of a signal; `nil` for what cannot be said in this state.
  ///
  /// - Parameters:
  ///   - destination: Which of the peer's programs it is for.
  ///   - complete: Adds the user data of the call's end.
  func body(
    of signal: CallSignal, to destination: PresenceID,
    complete: (SignalBody) -> SignalBody = { $0 }
  ) -> [UInt8]? {
    // The callee's program, from either side.
    let program = role == .caller ? destination : program
    switch signal {
    case .invite: return inviteBody
    case .ringing: return ringingBody
    case .accept, .reject: return answerBody.isEmpty ? nil : answerBody
    case .cancel(let reason):
      return authenticated(.cancel(reason, presence: program), complete)
    case .timeout(let reason): return authenticated(.timeout(reason, presence: program))
    case .receipt(let type): return authenticated(.receipt(of: type, presence: program))
    case .hangUp(let reason, let text): return hangUpBody(reason, text, complete)
    case .unsupported, .confirm, .mediaState: return nil
    }
  }

  private func authenticated(
    _ content: SignalBody.Content, _ complete: (SignalBody) -> SignalBody = { $0 }
  ) -> [UInt8]? {
    var body = complete(SignalBody(callID, content))
    let bytes = body.bytesBeforeMAC
    guard let mac = ring?.mac(from: side, over: bytes.span) else { return nil }
    body.mac = mac.bytes
    return body.bytes
  }

  private func hangUpBody(
    _ reason: CallReason, _ text: ReasonText, _ complete: (SignalBody) -> SignalBody
  ) -> [UInt8]? {
    var body = complete(SignalBody(callID, .hangUp(reason, text)))
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
  ///
  /// - Parameter ringID: The own connection ID of path checks.
  mutating func makeInvite(
    to peer: PeerID, ringID: ConnectionID, identity: borrowing LocalIdentity, offer: CallOffer,
    created: UInt64, ringTimeout: Duration?, random: inout RandomSource
  ) throws(HandshakeError) {
    let secret = SecretKey(random: &random)
    let promise = shortCode.promise(random: &random)
    var payload = InvitePayload(
      callID: callID, createdMilliseconds: created, commitment: promise.bytes,
      callKey: Array(copying: secret.span), ringConnectionID: ringID.rawValue,
      ringTimeoutMilliseconds: UInt32(clamping: ringTimeout?.milliseconds ?? 0), offer: offer)
    var bytes = payload.bytes
    defer {
      Secret.wipe(&bytes)
      Secret.wipe(&payload.callKey)
    }
    let initiator = try CallInitiator(
      connectionID: sessionIDs.local, caller: identity, callee: peer, calleeStatic: peerStatic,
      payload: bytes.span, random: &random)
    inviteBody =
      SignalBody(
        callID,
        .invite(connectionID: sessionIDs.local.rawValue, noiseMessage: initiator.message)
      ).bytes
    handshake = .invited(initiator)
    ownStatic = identity.staticKey.clone()
    ring = RingKeys(secret: secret, side: .caller)
  }

  /// The callee has read INVITE.
  mutating func handleInvite(
    _ responder: consuming CallResponder, secret: borrowing SecretKey, commitment: Bytes32,
    sessionID: ConnectionID
  ) {
    handshake = .ringing(responder)
    ring = RingKeys(secret: secret, side: .callee)
    shortCode.commitment = commitment
    sessionIDs.remote = sessionID
  }

  // MARK: - RINGING

  /// - Parameter ringID: The own connection ID of path checks.
  mutating func makeRinging(
    isPrepared: Bool, ringID: ConnectionID, candidates: CandidateList, random: inout RandomSource
  ) {
    let details = RingDetails(
      ringConnectionID: ringID.rawValue, presence: program,
      candidates: isPrepared ? candidates : CandidateList())
    let nonce = random.bytes(SealedRingDetails.nonceByteCount)
    var content = SealedRingDetails(
      isPrepared: isPrepared, abilities: .moreWords, nonce: nonce, sealed: [])
    let head = content.associatedData(callID)
    let plain = details.bytes
    do throws(CryptographyError) {
      guard
        let sealed = try ring?.sealDetails(plain.span, head: head.span, nonce: nonce.span)
      else { return }
      content.sealed = sealed
      ringingBody = authenticated(.ringing(content)) ?? []
    } catch {
      ringingBody = []
    }
  }

  /// RINGING's details; `nil` if they do not open.
  func readRinging(_ sealed: SealedRingDetails) -> RingDetails? {
    let head = sealed.associatedData(callID)
    do {
      guard
        let plain = try ring?.openDetails(
          sealed.sealed.span, head: head.span, nonce: sealed.nonce.span)
      else { return nil }
      var reader = ByteReader(plain.span)
      return try RingDetails(parsing: &reader)
    } catch {
      return nil
    }
  }

  // MARK: - ACCEPT and REJECT

  /// The callee's message 2 that accepts; from here on it has the session's keys.
  mutating func makeAccept(
    offer: CallOffer, random: inout RandomSource
  ) throws(HandshakeError) {
    guard let responder = handshake.takeResponder() else { throw .outOfTurn }
    shortCode.calleeNumber = Bytes16(random: &random)
    let payload = AnswerPayload(
      callID: callID, verdict: .accepted(connectionID: sessionIDs.local.rawValue),
      presence: program, contribution: shortCode.calleeNumber.bytes, offer: offer)
    let bytes = payload.bytes
    ownStatic = responder.calleeStatic.clone()
    let acceptance = try responder.accept(payload: bytes.span, random: &random)
    answerBody = SignalBody(callID, .accept(noiseMessage: acceptance.message)).bytes
    handshake = .agreed(acceptance.intoKeys())
  }

  mutating func makeReject(
    _ reason: CallReason, _ text: ReasonText, card: [UInt8], userExtension: String? = nil,
    random: inout RandomSource
  ) throws(HandshakeError) {
    guard let responder = handshake.takeResponder() else { throw .outOfTurn }
    let payload = AnswerPayload(
      callID: callID, verdict: .rejected(reason, text), presence: program,
      contribution: random.bytes(16),
      offer: CallOffer(card: card, userExtension: userExtension))
    let bytes = payload.bytes
    let message = try responder.reject(payload: bytes.span, random: &random)
    answerBody = SignalBody(callID, .reject(noiseMessage: message)).bytes
  }

  /// The caller reads message 2 of one of the callee's programs; `nil` if it does not open or is
  /// not about this call. An acceptance that was taken is recognised by its bytes afterwards.
  ///
  /// - Parameter accepts: Whether an acceptance is taken: the first one, of a call that is open.
  mutating func readAnswer(
    _ message: [UInt8], isAccept: Bool, body: [UInt8], accepts: Bool
  ) -> AnswerPayload? {
    guard let read = handshake.open(message), let answer = parse(read.payload),
      answer.callID == callID, answer.isAcceptance == isAccept
    else { return nil }
    if case .accepted(let connectionID) = answer.verdict, accepts {
      answerBody = body
      sessionIDs.remote = ConnectionID(rawValue: connectionID)
      shortCode.calleeNumber = Bytes16(answer.contribution) ?? shortCode.calleeNumber
      handshake = Handshake(read.establish())
    }
    return answer
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

extension CallSignalling.Handshake {
  /// - Parameter keys: `nil` = message 2 has brought none.
  init(_ keys: consuming SessionKeys?) {
    switch consume keys {
    case .some(let keys): self = .agreed(keys)
    case .none: self = .over
    }
  }

  mutating func takeResponder() -> CallResponder? {
    switch consume self {
    case .ringing(let responder):
      self = .over
      return responder
    case .invited(let initiator): self = .invited(initiator)
    case .agreed(let keys): self = .agreed(keys)
    case .awaited: self = .awaited
    case .over: self = .over
    }
    return nil
  }

  mutating func takeKeys() -> SessionKeys? {
    switch consume self {
    case .agreed(let keys):
      self = .over
      return keys
    case .invited(let initiator): self = .invited(initiator)
    case .ringing(let responder): self = .ringing(responder)
    case .awaited: self = .awaited
    case .over: self = .over
    }
    return nil
  }

  /// A message 2; `nil` if it does not open, or none is awaited.
  func open(_ message: [UInt8]) -> CallAnswer? {
    switch self {
    case .invited(let initiator):
      do throws(HandshakeError) {
        return try initiator.readAnswer(message.span)
      } catch {
        return nil
      }
    default: return nil
    }
  }

  var isInvited: Bool {
    switch self {
    case .invited: true
    default: false
    }
  }

  var isAgreed: Bool {
    switch self {
    case .agreed: true
    default: false
    }
  }
}

extension AnswerPayload {
  fileprivate var isAcceptance: Bool { if case .accepted = verdict { true } else { false } }
}

/// The two connection IDs of one association.
struct ConnectionIDs {
  /// By which packets come to this side.
  var local = ConnectionID.none
  var remote = ConnectionID.none
}
