import Calling
import Primitives
import SecureSession
import Simulation
import Wire

@testable import Peer

/// An attacker's client: registers, looks somebody up, invites again and again, and answers nothing
/// but the packets of the rendezvous.
struct MuteCaller: ~Copyable, DatagramMachine {
  typealias Event = RegistrationStep

  private var identity: LocalIdentity
  private var link: RendezvousLink
  private var random: RandomSource
  private let callee: PeerID
  private let interval: Duration
  private var card: ContactCard?
  private var nextInvite: Instant?
  private(set) var invitations = 0

  /// - Parameter interval: From one INVITE to the next.
  init(
    _ callee: PeerID, each interval: Duration, _ configuration: PeerConfiguration,
    random: RandomSource
  ) {
    self.random = random
    self.callee = callee
    self.interval = interval
    identity = LocalIdentity(
      kind: .peer, unixSeconds: UInt64(configuration.wallClockAtZero / 1000),
      random: &self.random)
    link = RendezvousLink(
      configuration, presence: Presence(PresenceID(random: &self.random), .calling),
      random: self.random.split())
  }

  mutating func start(now: Instant) { link.start(now: now, identity: &identity) }

  @_lifetime(bytes: copy bytes)
  mutating func handle(
    _ bytes: inout MutableSpan<UInt8>, from source: SocketAddress, marks: DatagramMarks,
    now: Instant
  ) {
    switch Demultiplexer.classify(bytes.span) {
    case .control:
      link.handleControl(
        bytes.span, from: source, to: .unspecified, now: now, identity: &identity)
    case .sealed: link.receive(&bytes, from: source, marks: marks, now: now, identity: &identity)
    case .foreign: break
    }
    while let event = link.pollEvent() {
      switch event {
      case .registration(.registered): link.lookUp(.id(callee), request: 1, now: now)
      case .found(let result):
        card = try? ContactCard(parsing: result.card)
        nextInvite = now + .nanoseconds(Int64(random.next() % UInt64(interval.nanoseconds)))
      default: break
      }
    }
  }

  mutating func handleTimeout(now: Instant) {
    link.handleTimeout(now: now, identity: &identity, isInCall: false)
    guard let due = nextInvite, due <= now, let card else { return }
    nextInvite = due + interval
    invitations += 1
    let call = CallLink(
      CallID(from: &random), .caller, peer: callee, peerStatic: card.staticKey,
      program: link.presence.id, limits: PeerLimits(), random: &random)
    call.path.ringIDs.local = ConnectionID(random: &random)
    call.signalling.sessionIDs.local = ConnectionID(random: &random)
    let offer = CallOffer(card: link.ownCard, media: call.terms.own)
    try? call.makeInvite(
      identity: identity, offer: offer, created: link.serverMilliseconds(now: now) ?? 0,
      ringTimeout: .seconds(15), random: &random)
    link.forward(
      call.signalling.inviteBody, to: callee, .every, about: (call.callID, .invite), now: now)
  }

  @_lifetime(packet: copy packet)
  mutating func pollTransmit(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    link.pollTransmit(into: &packet, now: now)
  }

  mutating func pollEvent() -> RegistrationStep? { nil }

  var nextDeadline: Instant? { earliest(link.nextDeadline, nextInvite) }
}
