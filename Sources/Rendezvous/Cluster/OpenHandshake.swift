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
  /// What was judged before a store was asked.
  var early = EarlyRuling()

  /// What a store must tell before RESP.
  var wish: StoreWish {
    let claimed = payload.card.content.name
    return .registration(
      payload.card.id, asked: payload.name, claimed: claimed == payload.name ? nil : claimed,
      receipt: payload.receipt, keepsName: early.mayHaveName)
  }
}

/// What an INIT comes to as far as this node knows by itself. A store elsewhere keeps a name only
/// for whoever may have it: else one INIT of a stranger would keep it from everybody for a while.
struct EarlyRuling {
  private(set) var mayHaveName = false
  /// The card is genuine, and of now.
  private var isVerified = false
  /// `nil` where it was not judged yet.
  private var token: TokenRuling?

  /// Nothing was judged.
  init() {}

  init(
    on payload: InitPayload, from source: SocketAddress, in machine: borrowing RendezvousMachine,
    now: Instant
  ) {
    let id = payload.card.id
    guard let name = payload.name, machine.settings.admission.allows(id),
      !machine.settings.admission.keeps(name, from: id),
      machine.limiter.allowsNewName(of: source, now: now)
    else { return }
    do throws(CardFault) {
      try payload.card.verify(unixSeconds: machine.settings.unixSeconds(now))
      isVerified = true
    } catch {
      return
    }
    let ruling = machine.settings.rule(on: payload.token, of: id, now: now)
    token = ruling
    if case .refused = ruling { return }
    mayHaveName = ruling.allows(name)
  }

  /// Throws what is wrong with the card; not looked at twice.
  func verify(_ card: ContactCard, unixSeconds: UInt64) throws(CardFault) {
    if !isVerified { try card.verify(unixSeconds: unixSeconds) }
  }

  /// What the token comes to; not looked at twice.
  func token(
    _ payload: InitPayload, _ settings: borrowing ServerSettings, now: Instant
  ) -> TokenRuling {
    token ?? settings.rule(on: payload.token, of: payload.card.id, now: now)
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
