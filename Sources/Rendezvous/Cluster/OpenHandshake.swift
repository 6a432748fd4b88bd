import Primitives
import SecureSession
import Wire

/// An INIT that was read and has no RESP yet.
struct OpenHandshake: ~Copyable {
  var state: HandshakeState
  let connection: ConnectionID
  let payload: InitPayload
  let source: SocketAddress
  /// The own address that it came to.
  let askedAt: LocalAddressID
  /// Of the INIT.
  let fingerprint: Bytes16

  /// What a store must tell before RESP.
  var wish: StoreWish {
    let claimed = payload.card.content.name
    return .registration(
      payload.card.id, asked: payload.name, claimed: claimed == payload.name ? nil : claimed)
  }
}

/// One that waits for a store.
final class ParkedHandshake {
  private var handshake: OpenHandshake?

  init(_ handshake: consuming OpenHandshake) { self.handshake = consume handshake }

  /// Answers it, once.
  func finish(in machine: inout RendezvousMachine, now: Instant) {
    if let handshake = handshake.take() { machine.finish(handshake, now: now) }
  }
}
