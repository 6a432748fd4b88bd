import Cryptography
import Primitives
import Testing
import Trials
import Wire

@testable import SecureSession

/// Key compromise impersonation (Noise rev. 34 §7.7): a thief of the callee's device key claims to
/// be somebody else *to the callee*. It makes the phone ring. It never has the keys of the call.
@Suite struct StolenKeyTests {
  @Test func `a thief of the callee's key rings as somebody else, and no packet of it opens`()
    throws
  {
    let tries = Trials.count(200, full: 10_000)
    var rung = 0
    var answersRead = 0
    var packetsTaken = 0
    var packetsTried = 0
    for seed in 0..<UInt64(tries) {
      // Far from the seeds of identities: one seed for both would give the thief the caller's key.
      var random = RandomSource(seed: seed | 1 << 40)
      let alice = testIdentity(seed: 2 * seed)
      let bob = testIdentity(seed: 2 * seed + 1)
      let thief = try Thief(of: bob, claiming: alice.id, alice.staticKey.publicKey, &random)
      let ringing = try CallResponder(
        message: thief.message.span, connectionID: thief.connectionID, caller: alice.id,
        callee: bob)
      let isTakenForAlice =
        ringing.callerStatic == alice.staticKey.publicKey && ringing.payload == Thief.payload
      rung += isTakenForAlice ? 1 : 0
      let accepted = try ringing.accept(payload: [1, 2, 3].span, random: &random)
      let answer = accepted.message
      var session = Self.session(accepted.intoKeys(), of: bob, with: alice, &random)
      for guess in thief.guesses(after: answer, random: &random) {
        let outcome = try thief.finish(answer, guess: guess)
        answersRead += outcome.readsAnswer ? 1 : 0
        for packet in outcome.packets {
          packetsTried += 1
          packetsTaken += session.refusal(of: packet, now: .zero) == nil ? 1 : 0
        }
      }
      expect(!session.isClosed, "the genuine caller could still have been there")
    }
    expect(rung == tries, "the attack goes as far as IK lets it: \(rung) of \(tries)")
    expect(answersRead == 0 && packetsTaken == 0 && packetsTried == tries * 14)
    Trials.report(
      "5: \(tries) calls by a thief of the callee's key: \(rung) rang, \(answersRead) answers "
        + "read, \(packetsTaken) of \(packetsTried) packets taken")
  }

  @Test func `whoever has the claimed caller's key as well is taken`() throws {
    // The forger above does everything right but for the one secret.
    var random = RandomSource(seed: 77)
    let alice = testIdentity(seed: 1)
    let bob = testIdentity(seed: 2)
    let thief = try Thief(of: bob, claiming: alice.id, alice.staticKey.publicKey, &random)
    let ringing = try CallResponder(
      message: thief.message.span, connectionID: thief.connectionID, caller: alice.id, callee: bob)
    let accepted = try ringing.accept(payload: [1, 2, 3].span, random: &random)
    let answer = accepted.message
    var session = Self.session(accepted.intoKeys(), of: bob, with: alice, &random)
    let calleeEphemeral = try unwrap(Bytes32(Array(answer.prefix(32))))
    let secret = Thief.agreement(alice.staticKey.privateKey, calleeEphemeral)
    let outcome = try thief.finish(answer, guess: secret)
    expect(outcome.readsAnswer)
    let packet = try unwrap(outcome.packets.first)
    expect(session.refusal(of: packet, now: .zero) == nil)
  }

  /// The callee's end of the call that it has accepted.
  private static func session(
    _ keys: consuming SessionKeys, of callee: borrowing LocalIdentity,
    with caller: borrowing LocalIdentity, _ random: inout RandomSource
  ) -> Session {
    Session(
      keys, local: ConnectionID(rawValue: 8), remote: ConnectionID(rawValue: 7),
      parties: Session.Parties(
        localID: callee.id, remoteID: caller.id, localStatic: callee.staticKey.clone(),
        remoteStatic: caller.staticKey.publicKey, role: .responder),
      now: .zero, random: &random)
  }
}

/// A caller that has the callee's static key, and of the caller it claims to be the public one.
private struct Thief: ~Copyable {
  static let payload = Array("it is me, alice".utf8)

  let connectionID: ConnectionID
  let message: [UInt8]
  private let symmetric: SymmetricState
  private let ephemeral: SecretKey
  private let stolen: X25519.KeyPair
  private let callerStatic: Bytes32

  /// Message 1 of IKpsk2: e, es, s, ss. With the responder's key, ss needs none of the initiator's.
  init(
    of callee: borrowing LocalIdentity, claiming caller: PeerID, _ callerStatic: Bytes32,
    _ random: inout RandomSource
  ) throws {
    let id = ConnectionID(rawValue: 7)
    let context = HandshakeContext(
      purpose: .call, connectionID: id, responder: callee.id, initiator: caller)
    let secret = SecretKey(random: &random)
    let calleeStatic = callee.staticKey.publicKey
    var state = SymmetricState(protocolName: HandshakePattern.ikPSK2.protocolName)
    state.mixHash(context.prologue.span)
    state.mixHash(calleeStatic.span)
    let point = X25519.publicKey(of: secret)
    var bytes = point.bytes
    state.mixHash(point.span)
    state.mixKey(point.span)
    state.mixKey(Self.agreement(secret, calleeStatic).span)
    try state.sealAndHash(callerStatic.span, appendingTo: &bytes)
    state.mixKey(Self.agreement(callee.staticKey.privateKey, callerStatic).span)
    try state.sealAndHash(Self.payload.span, appendingTo: &bytes)
    connectionID = id
    message = bytes
    symmetric = state
    ephemeral = secret
    stolen = callee.staticKey.clone()
    self.callerStatic = callerStatic
  }

  /// What the thief could put in the place of `se`, the agreement of the caller's static key with
  /// the callee's ephemeral one: every agreement of a secret it has with a point it has seen.
  func guesses(after answer: [UInt8], random: inout RandomSource) -> [[UInt8]] {
    let calleeEphemeral = Bytes32(Array(answer.prefix(32))) ?? .zero
    let own = X25519.publicKey(of: ephemeral)
    return [
      [UInt8](repeating: 0, count: 32), random.bytes(32),
      Self.agreement(stolen.privateKey, calleeEphemeral),
      Self.agreement(stolen.privateKey, callerStatic), Self.agreement(stolen.privateKey, own),
      Self.agreement(ephemeral, calleeEphemeral), Self.agreement(ephemeral, callerStatic),
    ]
  }

  static func agreement(_ key: borrowing SecretKey, _ point: Bytes32) -> [UInt8] {
    do throws(CryptographyError) {
      let secret = try X25519.agree(key, with: point)
      return (0..<32).map { secret.span[$0] }
    } catch {
      return []
    }
  }

  /// Message 2: e, ee, se, psk, with `guess` for se. Packets sealed under the keys that follow,
  /// in both directions' keys: the thief may have mistaken its role.
  func finish(
    _ answer: [UInt8], guess: [UInt8]
  ) throws -> (readsAnswer: Bool, packets: [[UInt8]]) {
    var trial = symmetric.clone()
    let point = Bytes32(Array(answer.prefix(32))) ?? .zero
    trial.mixHash(point.span)
    trial.mixKey(point.span)
    trial.mixKey(Self.agreement(ephemeral, point).span)
    trial.mixKey(guess.span)
    trial.mixKeyAndHash(SecretKey().span)
    var reading = trial.clone()
    let readsAnswer = Self.opens(&reading, Array(answer.dropFirst(32)))
    // The keys do not depend on the hash: it goes on whether or not the answer opened.
    let split = trial.split()
    let forward = PacketCipher(sessionKey: split.initiatorToResponder)
    let backward = PacketCipher(sessionKey: split.responderToInitiator)
    return (readsAnswer, [Self.packet(forward), Self.packet(backward)])
  }

  private static func opens(_ state: inout SymmetricState, _ sealed: [UInt8]) -> Bool {
    do throws(HandshakeError) {
      _ = try state.openAndHash(sealed.span)
      return true
    } catch {
      return false
    }
  }

  private static func packet(_ cipher: borrowing PacketCipher) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(addingCapacity: 1200) { packet in
      Session.beginPacket(&packet)
      packet.append(bytes: [UInt8](repeating: 1, count: 40))
      do throws(CryptographyError) {
        try cipher.seal(&packet, connectionID: 8, number: 0)
      } catch {
        Issue.record("\(error)")
      }
    }
    return bytes
  }
}
