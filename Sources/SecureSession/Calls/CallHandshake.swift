package import Cryptography
package import Primitives
package import Wire

/// The caller's side of the two Noise messages of a call (docs/protocol/calling.md §1, §2): it has
/// sent message 1 and waits for message 2.
package struct CallInitiator: ~Copyable {
  package let connectionID: ConnectionID
  /// Noise message 1, for INVITE.
  package let message: [UInt8]
  private var handshake: HandshakeState

  /// - Parameters:
  ///   - connectionID: Ours, of the session to be; it goes into the prologue and into INVITE.
  ///   - calleeStatic: S from the callee's card, which has been verified.
  ///   - payload: The plain payload of message 1.
  package init(
    connectionID: ConnectionID, caller: borrowing LocalIdentity, callee: PeerID,
    calleeStatic: Bytes32, payload: Span<UInt8>, random: inout RandomSource
  ) throws(HandshakeError) {
    let context = HandshakeContext(
      purpose: .call, connectionID: connectionID, responder: callee, initiator: caller.id)
    var handshake = try HandshakeState(
      context, role: .initiator, localStatic: caller.staticKey, remoteStatic: calleeStatic)
    message = try handshake.writeMessage(payload: payload, random: &random)
    self.handshake = handshake
    self.connectionID = connectionID
  }

  /// Reads message 2. Several programs of the callee may each send one, so this state stays as it
  /// is: a rejection of one of them must leave the acceptance of another readable.
  package borrowing func readAnswer(_ message: Span<UInt8>) throws(HandshakeError) -> CallAnswer {
    var trial = handshake.clone()
    let payload = try trial.readMessage(message)
    return CallAnswer(payload: payload, handshake: trial)
  }
}

/// A message 2 that opened.
package struct CallAnswer: ~Copyable {
  /// Its plain payload, accepted or rejected.
  package let payload: [UInt8]
  private let handshake: HandshakeState

  init(payload: [UInt8], handshake: consuming HandshakeState) {
    self.payload = payload
    self.handshake = handshake
  }

  /// The keys of the call. Not for a rejected one.
  package consuming func establish() -> SessionKeys? {
    guard let split = handshake.split() else { return nil }
    return SessionKeys(split, role: .initiator)
  }
}

/// The callee's side: it has read message 1, and rings.
///
/// There is no key here that could seal media: those exist only after `accept`, which consumes
/// this value.
package struct CallResponder: ~Copyable {
  /// The plain payload of message 1. It holds `ck`: wipe it when it has been read.
  package private(set) var payload: [UInt8]
  /// Overwrites the payload: nobody needs it any more.
  package mutating func wipePayload() { Secret.wipe(&payload) }

  /// The caller's static key: its card's S must be this.
  package let callerStatic: Bytes32
  /// The static key of ours that opened it: the present one, the one before, or the next.
  package let calleeStatic: X25519.KeyPair
  private var handshake: HandshakeState

  /// Opens message 1 with our present static key, the one before, or the next.
  ///
  /// - Parameters:
  ///   - caller: As the rendezvous says; a lie makes the message fail.
  ///   - connectionID: The caller's, from INVITE.
  package init(
    message: Span<UInt8>, connectionID: ConnectionID, caller: PeerID,
    callee: borrowing LocalIdentity
  ) throws(HandshakeError) {
    let context = HandshakeContext(
      purpose: .call, connectionID: connectionID, responder: callee.id, initiator: caller)
    let opened = try OpenedInvitation.open(message, context: context, callee: callee)
    callerStatic = opened.callerStatic
    payload = opened.payload
    calleeStatic = opened.calleeStatic.clone()
    handshake = opened.intoHandshake()
  }

  /// Message 2 that accepts, and with it the keys of the call.
  package consuming func accept(
    payload: Span<UInt8>, random: inout RandomSource
  ) throws(HandshakeError) -> CallAcceptance {
    let message = try handshake.writeMessage(payload: payload, random: &random)
    guard let split = handshake.split() else { throw .outOfTurn }
    return CallAcceptance(message: message, keys: SessionKeys(split, role: .responder))
  }

  /// Message 2 that rejects. Its keys are never made.
  package consuming func reject(
    payload: Span<UInt8>, random: inout RandomSource
  ) throws(HandshakeError) -> [UInt8] {
    try handshake.writeMessage(payload: payload, random: &random)
  }
}

/// What accepting a call gives.
package struct CallAcceptance: ~Copyable {
  /// Noise message 2, for ACCEPT.
  package let message: [UInt8]
  private let keys: SessionKeys

  init(message: [UInt8], keys: consuming SessionKeys) {
    self.message = message
    self.keys = keys
  }

  package consuming func intoKeys() -> SessionKeys { keys }
}

/// Message 1, opened with whichever of our static keys the caller had.
private struct OpenedInvitation: ~Copyable {
  let payload: [UInt8]
  let callerStatic: Bytes32
  let calleeStatic: X25519.KeyPair
  private let handshake: HandshakeState

  static func open(
    _ message: Span<UInt8>, context: HandshakeContext, callee: borrowing LocalIdentity
  ) throws(HandshakeError) -> OpenedInvitation {
    do throws(HandshakeError) {
      return try open(message, context, with: callee.staticKey)
    } catch {
      return try open(message, context, withOther: callee)
    }
  }

  /// Another program of the callee may not have changed its key yet, or have done so already: then
  /// its card was the last that the rendezvous got.
  private static func open(
    _ message: Span<UInt8>, _ context: HandshakeContext, withOther callee: borrowing LocalIdentity
  ) throws(HandshakeError) -> OpenedInvitation {
    do throws(HandshakeError) {
      switch callee.previousStaticKey {
      case .some(let previous): return try open(message, context, with: previous)
      case .none: throw .notAuthentic
      }
    } catch {
      return try open(message, context, with: callee.nextStaticKey())
    }
  }

  private static func open(
    _ message: Span<UInt8>, _ context: HandshakeContext, with key: borrowing X25519.KeyPair
  ) throws(HandshakeError) -> OpenedInvitation {
    var handshake = try HandshakeState(context, role: .responder, localStatic: key)
    let payload = try handshake.readMessage(message)
    guard let callerStatic = handshake.remoteStatic else { throw .malformed }
    return OpenedInvitation(
      payload: payload, callerStatic: callerStatic, calleeStatic: key.clone(),
      handshake: handshake)
  }

  consuming func intoHandshake() -> HandshakeState { handshake }
}
