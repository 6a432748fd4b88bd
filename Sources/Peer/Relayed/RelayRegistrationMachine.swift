package import Forwarding
package import Primitives
package import SecureSession
package import Wire

/// What a relay hears of its rendezvous.
package enum RelayRegistrationEvent: Sendable {
  case step(RegistrationStep)
  /// Members were removed from their channels.
  case seatsEnded([EndedSeat])
}

/// A relay's own registration with its rendezvous (docs/protocol/relay.md §1): a guest that says
/// where it listens, in each session anew.
package struct RelayRegistrationMachine: ~Copyable, DatagramMachine {
  package typealias Event = RelayRegistrationEvent

  private var identity: LocalIdentity
  private var link: RendezvousLink
  private let here: RelayHere
  private let pairs: PairOffer?
  private var events: [RelayRegistrationEvent] = []

  /// - Parameters:
  ///   - listening: Where members find the relay; unspecified = at the address that the rendezvous
  ///     sees, with this port.
  ///   - pairs: What keys of tickets for pairs are made of; `nil` = it forwards for none.
  package init(
    _ configuration: PeerConfiguration, listening: SocketAddress,
    pairs: PairSecret? = nil, identity: consuming LocalIdentity, random: RandomSource, now: Instant
  ) {
    var random = random
    var configuration = configuration
    configuration.presence = .guest
    // Its grants are signed by the rendezvous that it is registered at.
    configuration.followsNodes = false
    here = RelayHere(address: listening)
    self.pairs = pairs.map { PairOffer(address: listening, secret: $0.bytes) }
    link = RendezvousLink(
      configuration, presence: Presence(PresenceID(random: &random), .guest),
      random: random.split())
    self.identity = identity
    link.start(now: now, identity: &self.identity)
  }

  @_lifetime(bytes: copy bytes)
  package mutating func handle(
    _ bytes: inout MutableSpan<UInt8>, from source: SocketAddress, marks: DatagramMarks,
    now: Instant
  ) {
    switch Demultiplexer.classify(bytes.span) {
    case .foreign: return
    case .control:
      link.handleControl(
        bytes.span, from: source, to: marks.local, now: now, identity: &identity)
    case .sealed(let id):
      guard link.owns(id) else { return }
      link.receive(&bytes, from: source, marks: marks, now: now, identity: &identity)
    }
    settle(now: now)
  }

  package mutating func handleTimeout(now: Instant) {
    // Registered, it says each 5 s that it runs: nobody shall be sent to a relay that is dead.
    link.handleTimeout(
      now: now, identity: &identity, isInCall: link.standing.isConfirmed)
    settle(now: now)
  }

  /// The name of the rendezvous has these addresses now (`NodeMove.redial`).
  package mutating func redial(_ addresses: [SocketAddress], now: Instant) {
    NodeMove.redial(addresses, on: &link, now: now)
    settle(now: now)
  }

  /// Says CLOSE; done when `isQuiet`.
  package mutating func shutDown(now: Instant) { link.shutDown(now: now) }

  @_lifetime(packet: copy packet)
  package mutating func pollTransmit(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    link.pollTransmit(into: &packet, now: now)
  }

  package mutating func pollEvent() -> RelayRegistrationEvent? {
    events.isEmpty ? nil : events.removeFirst()
  }

  package var nextDeadline: Instant? { link.nextDeadline }
  package var isQuiet: Bool { link.isQuiet }
  /// Why it is not registered yet, as far as the attempt under way can tell.
  package var trouble: RegistrationFailure? { link.trouble }

  private mutating func settle(now: Instant) {
    while let event = link.pollEvent() {
      switch event {
      case .registration(let step):
        if case .registered = step { announce(now: now) }
        publish(.step(step))
      case .seatsEnded(let seats): publish(.seatsEnded(seats))
      default: break
      }
    }
  }

  private mutating func announce(now: Instant) {
    link.send(.relayHere(here), now: now)
    if let pairs { link.send(.relayPairs(pairs), now: now) }
  }

  private mutating func publish(_ event: RelayRegistrationEvent) {
    if events.count < Self.eventLimit { events.append(event) }
  }

  private static let eventLimit = 256
}
