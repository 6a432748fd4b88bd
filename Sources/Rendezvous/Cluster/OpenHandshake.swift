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
      payload.card.id, asked: payload.name, claimed: claimed == payload.name ? nil : claimed,
      receipt: payload.receipt)
  }
}

/// One that waits for a store.
final class ParkedHandshake {
  let id: PeerID
  private var handshake: OpenHandshake?

  init(_ handshake: consuming OpenHandshake) {
    id = handshake.payload.card.id
    self.handshake = consume handshake
  }

  /// Answers it, once.
  ///
  /// - Parameter isTold: The store has told what it needs. Else it is dropped where the other nodes
  ///   would say that its program is not online; its client says it again.
  func finish(isTold: Bool = false, in machine: inout RendezvousMachine, now: Instant) {
    guard let handshake = handshake.take() else { return }
    let program = (handshake.payload.card.id, handshake.payload.presence.id)
    let mayBegin =
      isTold || machine.store.shared?.standing.takesUntold(now: now) ?? true
      || machine.registry.find(program.0, program.1) != nil
    guard mayBegin else { return machine.counters.initiationsDropped.add(.busy) }
    machine.finish(handshake, now: now)
  }
}
