import Cryptography
import Primitives
import SecureSession
import Testing
import Vectors
import Wire

@Suite struct CallHandshakeTests {
  private let payload = Array("call ID, commitment, ck, candidates".utf8)

  @Test func `the callee reads the invitation, and both have the keys when it accepts`() throws {
    var random = RandomSource(seed: 40)
    let alice = testIdentity(seed: 41)
    let bob = testIdentity(seed: 42)
    let id = ConnectionID(rawValue: 7)
    let call = try CallInitiator(
      connectionID: id, caller: alice, callee: bob.id, calleeStatic: bob.staticKey.publicKey,
      payload: payload.span, random: &random)
    expect(call.message.count == 96 + payload.count)
    let ringing = try CallResponder(
      message: call.message.span, connectionID: id, caller: alice.id, callee: bob)
    expect(ringing.payload == payload)
    expect(ringing.callerStatic == alice.staticKey.publicKey)
    let answer = Array("accepted".utf8)
    let accepted = try ringing.accept(payload: answer.span, random: &random)
    let message = accepted.message
    expect(message.count == 48 + answer.count)
    let read = try call.readAnswer(message.span)
    expect(read.payload == answer)
    guard let keys = read.establish() else { throw Missing() }
    let theirs = accepted.intoKeys()
    let isSame = keys.exporter.export(.shortCode) == theirs.exporter.export(.shortCode)
    expect(isSame)
  }

  @Test func `a rejection is read like an acceptance, and leaves the callee without keys`() throws {
    var random = RandomSource(seed: 43)
    let alice = testIdentity(seed: 41)
    let bob = testIdentity(seed: 42)
    let id = ConnectionID(rawValue: 7)
    let call = try CallInitiator(
      connectionID: id, caller: alice, callee: bob.id, calleeStatic: bob.staticKey.publicKey,
      payload: payload.span, random: &random)
    let ringing = try CallResponder(
      message: call.message.span, connectionID: id, caller: alice.id, callee: bob)
    let message: [UInt8] = try ringing.reject(payload: [2, 1].span, random: &random)
    expect(try call.readAnswer(message.span).payload == [2, 1])
  }

  @Test func `a lie about caller, callee or connection makes the message fail`() throws {
    var random = RandomSource(seed: 44)
    let alice = testIdentity(seed: 41)
    let bob = testIdentity(seed: 42)
    let mallory = testIdentity(seed: 45)
    let id = ConnectionID(rawValue: 7)
    let call = try CallInitiator(
      connectionID: id, caller: alice, callee: bob.id, calleeStatic: bob.staticKey.publicKey,
      payload: payload.span, random: &random)
    let message = call.message
    expect(opens(message, ConnectionID(rawValue: 7), from: alice.id, at: bob))
    expect(!opens(message, ConnectionID(rawValue: 8), from: alice.id, at: bob))
    expect(!opens(message, ConnectionID(rawValue: 7), from: mallory.id, at: bob))
    expect(!opens(message, ConnectionID(rawValue: 7), from: alice.id, at: mallory))
    // Bob's S on Mallory's card: what was meant for Mallory does not open at Bob.
    let misbound = try CallInitiator(
      connectionID: id, caller: alice, callee: mallory.id, calleeStatic: bob.staticKey.publicKey,
      payload: payload.span, random: &random)
    expect(!opens(misbound.message, id, from: alice.id, at: bob))
  }

  @Test func `changed or cut anywhere, neither message opens nor harms the call`() throws {
    var random = RandomSource(seed: 46)
    let alice = testIdentity(seed: 41)
    let bob = testIdentity(seed: 42)
    let id = ConnectionID(rawValue: 7)
    let call = try CallInitiator(
      connectionID: id, caller: alice, callee: bob.id, calleeStatic: bob.staticKey.publicKey,
      payload: payload.span, random: &random)
    let message = call.message
    for index in message.indices {
      var changed = message
      // The highest bit of a public key is not part of the number (RFC 7748 §5): flip another.
      changed[index] ^= 1
      expect(!opens(changed, id, from: alice.id, at: bob), "byte \(index)")
      expect(!opens(Array(message.prefix(index)), id, from: alice.id, at: bob))
    }
    let ringing = try CallResponder(
      message: message.span, connectionID: id, caller: alice.id, callee: bob)
    let accepted = try ringing.accept(payload: payload.span, random: &random)
    let answer = accepted.message
    for index in answer.indices {
      var changed = answer
      changed[index] ^= 1
      expect(!reads(call, changed), "byte \(index)")
      expect(!reads(call, Array(answer.prefix(index))))
    }
    expect(reads(call, answer), "the genuine one still opens")
    expect(reads(call, answer), "and again: another program may have answered too")
  }

  @Test func `the key before the present one still opens invitations, the one before that not`()
    throws
  {
    var random = RandomSource(seed: 47)
    let alice = testIdentity(seed: 41)
    var bob = testIdentity(seed: 42)
    let id = ConnectionID(rawValue: 7)
    let call = try CallInitiator(
      connectionID: id, caller: alice, callee: bob.id, calleeStatic: bob.staticKey.publicKey,
      payload: payload.span, random: &random)
    let message = call.message
    let week = LocalIdentity.Kind.peer.rotationPeriod
    var rotated = bob.rotateIfDue(unixSeconds: testDay + week, random: &random)
    expect(rotated)
    expect(opens(message, id, from: alice.id, at: bob))
    rotated = bob.rotateIfDue(unixSeconds: testDay + 2 * week, random: &random)
    expect(rotated)
    expect(!opens(message, id, from: alice.id, at: bob))
  }

  @Test func `a message made for another purpose does not open`() throws {
    var random = RandomSource(seed: 48)
    let alice = testIdentity(seed: 41)
    let bob = testIdentity(seed: 42)
    let id = ConnectionID(rawValue: 7)
    for purpose in [HandshakePurpose.register, .rekey, .direct] {
      let context = HandshakeContext(
        purpose: purpose, connectionID: id, responder: bob.id, initiator: alice.id)
      var handshake = try HandshakeState(
        context, role: .initiator, localStatic: alice.staticKey,
        remoteStatic: bob.staticKey.publicKey)
      let message = try handshake.writeMessage(payload: payload.span, random: &random)
      expect(!opens(message, id, from: alice.id, at: bob))
    }
  }

  @Test func `points of low order fail the handshake`() throws {
    var random = RandomSource(seed: 49)
    let alice = testIdentity(seed: 41)
    let bob = testIdentity(seed: 42)
    var one = Bytes32.zero
    one.storage[0] = 1
    for point in [Bytes32.zero, one] {
      #expect(throws: HandshakeError.notAuthentic) {
        _ = try CallInitiator(
          connectionID: ConnectionID(rawValue: 7), caller: alice, callee: bob.id,
          calleeStatic: point, payload: payload.span, random: &random)
      }
      let forged = point.bytes + Array(repeating: 0, count: 64 + 32)
      expect(!opens(forged, ConnectionID(rawValue: 7), from: alice.id, at: bob))
    }
  }

  private func opens(
    _ message: [UInt8], _ id: ConnectionID, from caller: PeerID, at callee: borrowing LocalIdentity
  ) -> Bool {
    do throws(HandshakeError) {
      _ = try CallResponder(
        message: message.span, connectionID: id, caller: caller, callee: callee)
      return true
    } catch {
      return false
    }
  }

  private func reads(_ call: borrowing CallInitiator, _ answer: [UInt8]) -> Bool {
    do throws(HandshakeError) {
      _ = try call.readAnswer(answer.span)
      return true
    } catch {
      return false
    }
  }
}
