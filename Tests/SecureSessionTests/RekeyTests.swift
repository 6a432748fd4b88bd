import Cryptography
import Primitives
import SecureSession
import Testing
import Wire

@Suite struct RekeyTests {
  @Test func `the initiator renews the keys at 120 s, and everything on the wire changes`() throws {
    var pair = try SessionPair(seed: 20)
    let old = (pair.initiator.localConnectionIDs, pair.responder.localConnectionIDs)
    let straggler = try pair.initiator.packet([1], now: pair.now).bytes
    let due = try unwrap(pair.initiator.nextDeadline)
    expect((108...132).contains((due - pair.now).milliseconds / 1000))
    pair.now = due
    let action = pair.initiator.handleTimeout(now: pair.now)
    expect(action == .startRekey)
    try pair.rekey(initiatorStarts: true)

    let epochs = (pair.initiator.epoch, pair.responder.epoch)
    expect(epochs == (1, 0), "the responder waits for the first packet under the new keys")
    let packet = try pair.initiator.packet([2], now: pair.now)
    expect(packet.number == 1 << 32)
    let (opened, _) = try pair.responder.receive(packet.bytes, now: pair.now)
    expect(opened.switchedEpoch && opened.isHighestYet && opened.number == 1 << 32)
    let again = try pair.initiator.packet([3], now: pair.now).bytes
    expect(try !pair.responder.receive(again, now: pair.now).opened.switchedEpoch)

    let new = (pair.initiator.localConnectionIDs[0], pair.responder.localConnectionIDs[0])
    expect(!old.0.contains(new.0) && !old.1.contains(new.1))
    // Old keys open for 5 s, and a straggler is never the highest.
    let before = pair.now + .milliseconds(4999)
    expect(try !pair.responder.receive(straggler, now: before).opened.isHighestYet)
  }

  @Test func `old keys open nothing after 5 s, whether or not the timer has run`() throws {
    for runsTimer in [true, false] {
      var pair = try SessionPair(seed: 21)
      let straggler = try pair.initiator.packet([1], now: pair.now).bytes
      try pair.rekey(initiatorStarts: true)
      let packet = try pair.initiator.packet([2], now: pair.now).bytes
      _ = try pair.responder.receive(packet, now: pair.now)
      let end = pair.now + .seconds(5)
      if runsTimer { while pair.responder.handleTimeout(now: end) != nil {} }
      expect(pair.responder.refusal(of: straggler, now: end) == .unknownConnection)
      if runsTimer { expect(pair.responder.localConnectionIDs.count == 1) }
    }
  }

  @Test func `when both start at once, the first handshake's initiator wins`() throws {
    var pair = try SessionPair(seed: 22)
    let first = try unwrap(pair.start(initiator: true))
    let second = try unwrap(pair.start(initiator: false))
    let dropped = pair.deliver(second, toInitiator: true)
    expect(dropped == .ignored)
    guard case .send(let answer) = pair.deliver(first, toInitiator: false) else {
      Issue.record("the responder did not answer")
      return
    }
    expect(pair.deliver(answer, toInitiator: true) == .sendPacket)
    let packet = try pair.initiator.packet([1], now: pair.now).bytes
    expect(try pair.responder.receive(packet, now: pair.now).opened.switchedEpoch)
    let back = try pair.responder.packet([2], now: pair.now).bytes
    expect(try pair.initiator.receive(back, now: pair.now).frames == [2])
  }

  @Test func `the other side renews the keys at 165 s if the first does not`() throws {
    var pair = try SessionPair(seed: 23)
    pair.now = pair.now + .seconds(165)
    expect(pair.responder.handleTimeout(now: pair.now) == .startRekey)
    try pair.rekey(initiatorStarts: false)
    let packet = try pair.responder.packet([1], now: pair.now).bytes
    expect(try pair.initiator.receive(packet, now: pair.now).opened.switchedEpoch)
    // And the roles of the first handshake stay: the initiator is due first again.
    let due = (pair.initiator.nextDeadline, pair.responder.nextDeadline)
    expect((due.0 ?? .zero) < pair.now + .seconds(133))
    while pair.responder.handleTimeout(now: pair.now + .seconds(6)) != nil {}
    expect(pair.responder.nextDeadline == pair.now + .seconds(165))
  }

  @Test func `a new address asks for new keys within a second`() throws {
    var pair = try SessionPair(seed: 24)
    pair.responder.requestRekey(now: pair.now, random: &pair.random)
    let due = try unwrap(pair.responder.nextDeadline)
    expect(due >= pair.now && due <= pair.now + .seconds(1))
    expect(pair.responder.handleTimeout(now: due) == .startRekey)
  }

  @Test func `a second rekey waits until the keys before are erased`() throws {
    var pair = try SessionPair(seed: 29)
    try pair.rekey(initiatorStarts: true)
    let erasure = pair.now + .seconds(5)
    pair.initiator.requestRekey(now: pair.now, random: &pair.random)
    expect(pair.start(initiator: true) == nil)
    while let due = pair.initiator.nextDeadline, due < erasure {
      expect(pair.initiator.handleTimeout(now: due) == nil)
    }
    expect(pair.initiator.handleTimeout(now: erasure) == .startRekey)
    expect(pair.initiator.localConnectionIDs.count == 1)
  }

  @Test func `an unanswered request is made anew, and the session ends at 180 s`() throws {
    var pair = try SessionPair(seed: 25)
    let end = pair.now + .seconds(180)
    var requests = 0
    while let due = pair.initiator.nextDeadline {
      pair.now = due
      switch pair.initiator.handleTimeout(now: due) {
      case .startRekey:
        _ = pair.start(initiator: true)
        requests += 1
      case .expired: expect(pair.now == end)
      case nil: Issue.record("woke for nothing at \(due)")
      }
    }
    expect(pair.initiator.isClosed)
    expect((5...8).contains(requests))
  }

  @Test func `a rekey message changed or cut anywhere changes nothing`() throws {
    var pair = try SessionPair(seed: 26)
    let request = try unwrap(pair.start(initiator: true))
    expect(request.count == 101)
    for index in request.indices {
      var changed = request
      changed[index] ^= 0x40
      expect(pair.deliver(changed, toInitiator: false) == .ignored, "byte \(index)")
      expect(pair.deliver(Array(request.prefix(index)), toInitiator: false) == .ignored)
      pair.now = pair.now + .seconds(1)
    }
    expect(pair.responder.localConnectionIDs.count == 1)
    guard case .send(let answer) = pair.deliver(request, toInitiator: false) else {
      Issue.record("the genuine request was not answered")
      return
    }
    expect(answer.count == 57)
    for index in answer.indices {
      var changed = answer
      changed[index] ^= 0x40
      expect(pair.deliver(changed, toInitiator: true) == .ignored, "byte \(index)")
      expect(pair.deliver(Array(answer.prefix(index)), toInitiator: true) == .ignored)
    }
    expect(pair.initiator.epoch == 0)
    expect(pair.deliver(answer, toInitiator: true) == .sendPacket)
    expect(pair.deliver(answer, toInitiator: true) == .ignored, "the same answer again")
  }

  @Test func `whoever has both static keys, but not the session's, cannot renew its keys`() throws {
    var pair = try SessionPair(seed: 27)
    let alice = testIdentity(seed: 27 * 2 + 1)
    let bob = testIdentity(seed: 27 * 2 + 2)
    for psk in UInt64(0)..<20 {
      var random = RandomSource(seed: psk)
      let id = ConnectionID(random: &random)
      let context = HandshakeContext(
        purpose: .rekey, connectionID: id, responder: bob.id, initiator: alice.id)
      var thief = try HandshakeState(
        context, role: .initiator, localStatic: alice.staticKey,
        remoteStatic: bob.staticKey.publicKey,
        presharedKey: psk == 0 ? SecretKey() : SecretKey(random: &random))
      let nothing: [UInt8] = []
      var forged: [UInt8] = [1]
      id.write(to: &forged)
      forged += try thief.writeMessage(payload: nothing.span, random: &random)
      // The psk comes in message 2: the request is answered, but nobody can use the answer.
      pair.now = pair.now + .seconds(1)
      if case .send(let answer) = pair.deliver(forged, toInitiator: false) {
        #expect(throws: HandshakeError.notAuthentic) {
          try thief.readMessage(Array(answer.dropFirst(5)).span)
        }
      }
    }
    // The session in use goes on.
    let packet = try pair.initiator.packet([1], now: pair.now).bytes
    expect(try pair.responder.receive(packet, now: pair.now).frames == [1])
    pair.now = pair.now + .seconds(1)
    try pair.rekey(initiatorStarts: true)
    let renewed = try pair.initiator.packet([2], now: pair.now).bytes
    expect(try pair.responder.receive(renewed, now: pair.now).opened.switchedEpoch)
  }

  /// Each handshake is five operations on the curve, on the loop of all calls.
  @Test func `a thousand requests in a second make one handshake`() throws {
    for isSame in [true, false] {
      var pair = try SessionPair(seed: 30)
      let request = try unwrap(pair.start(initiator: true))
      guard case .send(let answer) = pair.deliver(request, toInitiator: false) else {
        Issue.record("the first request was not answered")
        return
      }
      var answers: Set<[UInt8]> = [answer]
      for _ in 0..<999 {
        pair.now = pair.now + .milliseconds(1)
        let next = isSame ? request : try unwrap(pair.start(initiator: true))
        if case .send(let again) = pair.deliver(next, toInitiator: false) { answers.insert(again) }
      }
      expect(answers == [answer], "\(answers.count) answers")
      guard isSame else { continue }
      // The one that is repeated is as good as the first was.
      expect(pair.deliver(answer, toInitiator: true) == .sendPacket)
      let packet = try pair.initiator.packet([1], now: pair.now).bytes
      expect(try pair.responder.receive(packet, now: pair.now).opened.switchedEpoch)
    }
  }

  /// What does not open costs operations too.
  @Test func `a request that does not open takes the place of one for a second`() throws {
    var pair = try SessionPair(seed: 31)
    let request = try unwrap(pair.start(initiator: true))
    var changed = request
    changed[100] ^= 1
    expect(pair.deliver(changed, toInitiator: false) == .ignored)
    pair.now = pair.now + .milliseconds(999)
    expect(pair.deliver(request, toInitiator: false) == .ignored)
    pair.now = pair.now + .milliseconds(1)
    expect(pair.deliver(request, toInitiator: false) != .ignored)
  }

  @Test func `sessions with a rendezvous are not rekeyed`() throws {
    var pair = try SessionPair(seed: 28, limits: .rendezvous)
    expect(pair.start(initiator: true) == nil)
    expect(pair.initiator.nextDeadline == pair.now + .seconds(5400))
  }
}

extension SessionPair {
  /// REKEY_1 of one side.
  mutating func start(initiator: Bool) -> [UInt8]? {
    let id = ConnectionID(random: &random)
    return initiator
      ? self.initiator.startRekey(connectionID: id, now: now, random: &random)
      : responder.startRekey(connectionID: id, now: now, random: &random)
  }

  mutating func deliver(_ message: [UInt8], toInitiator: Bool) -> Session.RekeyAction {
    let id = ConnectionID(random: &random)
    return toInitiator
      ? initiator.receiveRekey(message.span, connectionID: id, now: now, random: &random)
      : responder.receiveRekey(message.span, connectionID: id, now: now, random: &random)
  }

  /// A whole rekey without loss, up to the point where its initiator has switched.
  mutating func rekey(initiatorStarts: Bool) throws {
    guard let request = start(initiator: initiatorStarts),
      case .send(let answer) = deliver(request, toInitiator: !initiatorStarts),
      case .sendPacket = deliver(answer, toInitiator: initiatorStarts)
    else { throw Missing() }
  }
}
