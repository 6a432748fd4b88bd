import Cryptography
package import Primitives
package import Wire

/// New keys for a running session (docs/protocol/session.md §7). The messages are carried by the
/// owner, over reliable stream 0.
extension Session {
  /// What the owner must do after `handleTimeout`.
  package enum TimeoutAction: Equatable, Sendable {
    /// Call `startRekey` and send what it returns.
    case startRekey
    /// The keys are 180 s old (rendezvous: 5400 s): the session is closed.
    case expired
  }

  /// What the owner must do after `receiveRekey`.
  package enum RekeyAction: Equatable, Sendable {
    /// Send this REKEY_2.
    case send([UInt8])
    /// The new keys are in use from now on: send a packet, a PING if nothing is due.
    case sendPacket
    /// A message that does not fit the state, or does not open: nothing has changed.
    case ignored
  }

  /// Does what is due; call until it gives `nil`.
  package mutating func handleTimeout(now: Instant) -> TimeoutAction? {
    while let timer = deadlines.popDue(at: now) {
      switch timer {
      case .erasePrevious:
        previous = nil
        previousConnectionID = .none
      case .hardStop:
        close()
        return .expired
      case .rekey:
        guard next == nil else { continue }
        if previousConnectionID != .none, let erasure = deadlines[.erasePrevious] {
          // A second switch now would drop packets that are still on their way.
          deadlines.set(.rekey, at: erasure)
          continue
        }
        return .startRekey
      }
    }
    return nil
  }

  /// Asks for new keys soon: our packets come from a newly validated address.
  package mutating func requestRekey(now: Instant, random: inout RandomSource) {
    guard limits.rekeys, !isClosed else { return }
    let within = UInt64(SessionLimits.rekeyAfterMove.nanoseconds)
    let due = Instant(nanoseconds: now.nanoseconds &+ random.next() % within)
    deadlines.set(.rekey, at: earliest(due, deadlines[.rekey]) ?? due)
  }

  /// REKEY_1, to be sent over stream 0; `nil` when the session is closed, a rekey of the other side
  /// is being answered, or the last one is less than 5 s ago.
  ///
  /// - Parameter connectionID: A fresh one, not in use by anybody at this end.
  package mutating func startRekey(
    connectionID: ConnectionID, now: Instant, random: inout RandomSource
  ) -> [UInt8]? {
    guard !isClosed, limits.rekeys, next == nil, previousConnectionID == .none else { return nil }
    do throws(HandshakeError) {
      var handshake = try rekeyHandshake(.initiator, initiator: connectionID)
      let noise = try handshake.writeMessage(payload: Span(), random: &random)
      pendingHandshake = consume handshake
      pendingConnectionID = connectionID
      deadlines.set(.rekey, at: now + SessionLimits.rekeyRetry)
      return RekeyMessage(.request, connectionID, noise).bytes
    } catch {
      return nil
    }
  }

  /// Takes a message of stream 0 that begins with 1 or 2.
  ///
  /// - Parameter connectionID: A fresh one, in case that an answer needs it.
  package mutating func receiveRekey(
    _ message: Span<UInt8>, connectionID: ConnectionID, now: Instant, random: inout RandomSource
  ) -> RekeyAction {
    guard !isClosed, limits.rekeys else { return .ignored }
    do throws(WireError) {
      let message = try RekeyMessage(parsing: message)
      switch message.kind {
      case .request:
        return answer(message, connectionID: connectionID, now: now, random: &random)
      case .answer:
        return finish(message, now: now, random: &random)
      }
    } catch {
      return .ignored
    }
  }

  private mutating func answer(
    _ request: RekeyMessage, connectionID: ConnectionID, now: Instant, random: inout RandomSource
  ) -> RekeyAction {
    // Both started at once: the first handshake's initiator wins.
    if pendingConnectionID != .none && parties.role == .initiator { return .ignored }
    if let tried = triedRequest {
      // The same once more, while its answer may still be of use.
      if let answer = tried.answer, next != nil, tried.request == request.bytes {
        return .send(answer)
      }
      guard now >= tried.time + SessionLimits.rekeyPace else { return .ignored }
    }
    triedRequest = TriedRequest(request: request.bytes, time: now)
    do throws(HandshakeError) {
      var handshake = try rekeyHandshake(.responder, initiator: request.connectionID)
      guard try handshake.readMessage(request.noise.span).isEmpty else { return .ignored }
      guard handshake.remoteStatic == parties.remoteStatic else { return .ignored }
      var payload: [UInt8] = []
      connectionID.write(to: &payload)
      let noise = try handshake.writeMessage(payload: payload.span, random: &random)
      guard let split = handshake.split() else { return .ignored }
      next = Epoch(
        SessionKeys(split, role: .responder), local: connectionID, remote: request.connectionID,
        number: current.number + 1, endsAt: now + limits.hardStop)
      nextConnectionID = connectionID
      pendingHandshake = nil
      pendingConnectionID = .none
      scheduleRekey(now: now, random: &random)
      let answer = RekeyMessage(.answer, connectionID, noise).bytes
      triedRequest?.answer = answer
      return .send(answer)
    } catch {
      return .ignored
    }
  }

  private mutating func finish(
    _ answer: RekeyMessage, now: Instant, random: inout RandomSource
  ) -> RekeyAction {
    guard let pending = pendingHandshake.take() else { return .ignored }
    // On a copy: the connection ID in clear may be wrong although the Noise message opens.
    var trial = pending.clone()
    do throws(HandshakeError) {
      let payload = try trial.readMessage(answer.noise.span)
      var expected: [UInt8] = []
      answer.connectionID.write(to: &expected)
      guard payload == expected else { throw .malformed }
    } catch {
      pendingHandshake = consume pending
      return .ignored
    }
    guard let split = trial.split() else { return .ignored }
    next = Epoch(
      SessionKeys(split, role: .initiator), local: pendingConnectionID,
      remote: answer.connectionID, number: current.number + 1, endsAt: now + limits.hardStop)
    pendingConnectionID = .none
    promoteNext(now: now)
    scheduleRekey(now: now, random: &random)
    return .sendPacket
  }

  /// *next* becomes *current*, and *current* opens for 5 s more.
  mutating func promoteNext(now: Instant) {
    guard var promoted = next.take() else { return }
    swap(&current, &promoted)
    previousConnectionID = promoted.stream.local
    previous = consume promoted
    nextConnectionID = .none
    deadlines.set(.erasePrevious, at: now + SessionLimits.previousLife)
    deadlines.set(.hardStop, at: current.endsAt)
  }

  /// The first handshake's initiator asks at 120 s ± 10 %, the other side at 165 s.
  mutating func scheduleRekey(now: Instant, random: inout RandomSource) {
    guard limits.rekeys else { return }
    if parties.role == .responder {
      deadlines.set(.rekey, at: now + limits.responderRekey)
    } else {
      let age = Double(limits.initiatorRekey.nanoseconds)
      deadlines.set(.rekey, at: now + .nanoseconds(Int64(age * (0.9 + 0.2 * random.unit()))))
    }
  }

  /// Both static keys are those of the first handshake; the psk ties the new keys to the old ones.
  private func rekeyHandshake(
    _ role: HandshakeState.Role, initiator connectionID: ConnectionID
  ) throws(HandshakeError) -> HandshakeState {
    let isInitiator = role == .initiator
    let context = HandshakeContext(
      purpose: .rekey, connectionID: connectionID,
      responder: isInitiator ? parties.remoteID : parties.localID,
      initiator: isInitiator ? parties.localID : parties.remoteID)
    return try HandshakeState(
      context, role: role, localStatic: parties.localStatic,
      remoteStatic: isInitiator ? parties.remoteStatic : nil,
      presharedKey: export(.rekeyPSK))
  }
}

/// A REKEY_1 that cost operations on the curve, whatever came of it.
struct TriedRequest {
  let request: [UInt8]
  let time: Instant
  /// REKEY_2, where it was answered.
  var answer: [UInt8]?
}

/// REKEY_1 and REKEY_2 (docs/protocol/session.md §7): kind 1, connection ID 4, Noise message.
package struct RekeyMessage {
  package enum Kind: UInt8, Sendable {
    case request = 1
    case answer = 2

    var noiseByteCount: Int { self == .request ? 96 : 52 }
  }

  package let kind: Kind
  package let connectionID: ConnectionID
  package let noise: [UInt8]

  init(_ kind: Kind, _ connectionID: ConnectionID, _ noise: [UInt8]) {
    self.kind = kind
    self.connectionID = connectionID
    self.noise = noise
  }

  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    guard let kind = Kind(rawValue: try reader.readUInt8("rekey message")) else {
      throw .invalid("rekey message", at: 0)
    }
    self.kind = kind
    connectionID = try ConnectionID(parsing: &reader, "connection ID")
    guard connectionID != .none else { throw .invalid("connection ID", at: 1) }
    noise = try reader.readBytes(kind.noiseByteCount, "Noise message")
    try reader.expectEnd("rekey message")
  }

  package var bytes: [UInt8] {
    var bytes = [kind.rawValue]
    connectionID.write(to: &bytes)
    return bytes + noise
  }
}
