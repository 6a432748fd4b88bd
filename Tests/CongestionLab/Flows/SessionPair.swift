import Cryptography
import Primitives
import SecureSession
import Wire

/// The two sessions of one call, by the handshake of calls. Their keys hold for as long as any case
/// lasts: the messages that renew them are not the laboratory's.
struct SessionPair: ~Copyable {
  var caller: Session
  var callee: Session

  init(now: (caller: Instant, callee: Instant), random: inout RandomSource) {
    do throws(HandshakeError) {
      self = try Self.establish(now: now, random: &random)
    } catch {
      preconditionFailure("two ends of one process know each other: \(error)")
    }
  }

  private init(caller: consuming Session, callee: consuming Session) {
    self.caller = caller
    self.callee = callee
  }

  private static func establish(
    now: (caller: Instant, callee: Instant), random: inout RandomSource
  ) throws(HandshakeError) -> SessionPair {
    let alice = LocalIdentity(kind: .peer, unixSeconds: 0, random: &random)
    let bob = LocalIdentity(kind: .peer, unixSeconds: 0, random: &random)
    let aliceID = ConnectionID(random: &random)
    let bobID = ConnectionID(random: &random)
    let payload: [UInt8] = []
    let call = try CallInitiator(
      connectionID: aliceID, caller: alice, callee: bob.id, calleeStatic: bob.staticKey.publicKey,
      payload: payload.span, random: &random)
    let ringing = try CallResponder(
      message: call.message.span, connectionID: aliceID, caller: alice.id, callee: bob)
    let accepted = try ringing.accept(payload: payload.span, random: &random)
    let answer = accepted.message
    guard let keys = try call.readAnswer(answer.span).establish() else {
      throw .outOfTurn
    }
    var limits = SessionLimits.peer
    limits.rekeys = false
    limits.hardStop = .seconds(100_000)
    let caller = Session(
      keys, local: aliceID, remote: bobID,
      parties: Session.Parties(
        localID: alice.id, remoteID: bob.id, localStatic: alice.staticKey.clone(),
        remoteStatic: bob.staticKey.publicKey, role: .initiator),
      limits: limits, now: now.caller, random: &random)
    let callee = Session(
      accepted.intoKeys(), local: bobID, remote: aliceID,
      parties: Session.Parties(
        localID: bob.id, remoteID: alice.id, localStatic: bob.staticKey.clone(),
        remoteStatic: alice.staticKey.publicKey, role: .responder),
      limits: limits, now: now.callee, random: &random)
    return SessionPair(caller: caller, callee: callee)
  }
}
