package import Calling
import Congestion
import Connectivity
import Cryptography
import Messaging
package import Primitives
import Relay
package import SecureSession
import Wire

/// Everything that one identity does in the network, on one socket: registered with a rendezvous,
/// inviting, ringing, talking. Station 13 of the house tour; next is `CallLink+Inbound.swift`.
///
/// Composition and routing only. The rules between calls are `CallLedger`'s, bytes and keys of one
/// call `CallLink`'s, contact with the server `RendezvousLink`'s.
package struct PeerMachine: ~Copyable, DatagramMachine {
  package typealias Event = PeerEvent

  private let place = InPlace()

  package internal(set) var configuration: PeerConfiguration
  package internal(set) var identity: LocalIdentity
  var random: RandomSource
  var rendezvous: RendezvousLink
  package internal(set) var ledger: CallLedger
  /// Of familiar peers.
  var newestCards = NewestCards()
  /// At most `PeerLimits.calls`, and one for each further call that the policy allows; lingering
  /// ones included.
  var links: [CallLink] = []
  /// Calls by name whose look-up is under way.
  var lookups = LookUpTable()
  var firstCall = FirstCall.awaited(since: nil)
  /// The uplink, where several calls have media.
  var sharing = UplinkSharing()
  /// The probe of the line to a peer that this side began.
  var peerProbe: PeerProbe?
  /// An address at a TURN server, where the user or the rendezvous has named one.
  var relay: RelayRoster?
  package internal(set) var channels = PeerChannels()
  /// When the machine last had something to do.
  var latest = Instant.zero
  private var events: PeerEventQueue
  package internal(set) var droppedDatagrams: UInt64 = 0
  var life = PeerLife.running

  package init(
    _ configuration: PeerConfiguration, identity: consuming LocalIdentity, random: RandomSource,
    now: Instant
  ) {
    self.configuration = configuration
    self.random = random
    events = PeerEventQueue(limit: configuration.limits.events)
    ledger = CallLedger(ownID: identity.id, policy: configuration.policy, now: now)
    rendezvous = RendezvousLink(
      configuration, presence: Presence(PresenceID(random: &self.random), configuration.presence),
      random: self.random.split())
    self.identity = identity
    if !configuration.relays.isEmpty {
      relay = RelayRoster(configuration.relays, random: self.random.split())
    }
  }

  package var id: PeerID { identity.id }

  // MARK: - Inputs

  @_lifetime(bytes: copy bytes)
  package mutating func handle(
    _ bytes: inout MutableSpan<UInt8>, from source: SocketAddress, marks: DatagramMarks,
    now: Instant
  ) {
    if relay?.owns(source, at: marks.local) == true {
      return handleRelayed(&bytes, from: source, marks: marks, now: now)
    }
    // Of a stream that was let go.
    guard !marks.local.isStream else { return droppedDatagrams &+= 1 }
    handlePacket(&bytes, from: source, marks: marks, now: now)
  }

  /// A packet as the peer or the rendezvous sent it, whatever brought it here.
  @_lifetime(bytes: copy bytes)
  mutating func handlePacket(
    _ bytes: inout MutableSpan<UInt8>, from source: SocketAddress, marks: DatagramMarks,
    now: Instant
  ) {
    switch Demultiplexer.classify(bytes.span) {
    case .foreign:
      let isOurs = CallPairs.handleBound(bytes.span, from: source, among: links, now: now)
      droppedDatagrams &+= isOurs ? 0 : 1
    case .control:
      rendezvous.handleControl(
        bytes.span, from: source, to: marks.local, now: now, identity: &identity)
      settle(now: now)
    case .sealed(let id):
      if let link = link(owning: id) {
        receive(&bytes, on: link, from: source, marks: marks, now: now)
      } else if rendezvous.owns(id) {
        rendezvous.receive(&bytes, from: source, marks: marks, now: now, identity: &identity)
        settle(now: now)
      } else {
        droppedDatagrams &+= 1
      }
    }
  }

  @_lifetime(bytes: copy bytes)
  private mutating func receive(
    _ bytes: inout MutableSpan<UInt8>, on link: CallLink, from source: SocketAddress,
    marks: DatagramMarks, now: Instant
  ) {
    var signals: [[UInt8]] = []
    let findings = link.receive(&bytes, from: source, marks: marks, signals: &signals, now: now)
    reportLiveness(findings, link, now: now)
    if findings.contains(.audio) { handleAudioArrival(link, now: now) }
    if findings.contains(.audioControl) { announceAudio(link) }
    if findings.contains(.video) { announceVideo(link) }
    // The steady state of a call ends here: audio came in, and nothing else needs attention.
    guard !findings.subtracting([.answer, .audio, .audioControl, .video]).isEmpty else {
      return settle(now: now)
    }
    for body in signals { handleSignal(body, from: link.peer, isOnPath: true, now: now) }
    if findings.contains(.path) {
      if link.session.isConfirmed, !link.isProbe { ledger.handleKeysShown(link.callID, now: now) }
      handlePathChanges(link, now: now)
    }
    if findings.contains(.messages) { handleMessages(link, now: now) }
    if findings.contains(.probe) { handleProbeProgress(link, hasHeard: true, now: now) }
    if findings.contains(.ended) { endSession(link, now: now) }
    settle(now: now)
  }

  private mutating func reportLiveness(
    _ findings: CallLink.Findings, _ link: CallLink, now: Instant
  ) {
    if findings.contains(.audio) {
      ledger.handle(.audio, link.callID, now: now)
    } else if !findings.isDisjoint(with: [.answer, .video, .probe]) {
      ledger.handle(.answer, link.callID, now: now)
    }
  }

  package mutating func handleTimeout(now: Instant) {
    let hasNodes = rendezvous.server.nodes.isService
    let isInCall = ledger.hasOpenCalls || hasNodes && !lookups.isEmpty
    rendezvous.handleTimeout(now: now, identity: &identity, isInCall: isInCall)
    relay?.handleTimeout(now: now)
    if let deadline = ledger.nextDeadline, deadline <= now { ledger.handleTimeout(now: now) }
    expireLookUps(now: now)
    expirePeerProbe(now: now)
    channels.handleTimeout(now: now)
    for link in links { handleTimeout(link, now: now) }
    sharing.divide(among: links, now: now)
    settle(now: now)
  }

  // MARK: - Outputs

  @_lifetime(packet: copy packet)
  package mutating func pollTransmit(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    guard relay != nil else { return pollPacket(into: &packet, now: now) }
    return pollRelayed(into: &packet, now: now)
  }

  /// The next packet as the peer or the rendezvous is to get it.
  @_lifetime(packet: copy packet)
  mutating func pollPacket(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    for link in links {
      if let path = link.pollTransmit(into: &packet, random: &random, now: now) {
        if link.media.counters.packetsSent == 1, link.progress.sent == .awaited {
          handleFirstFrameSent(link, now: now)
        }
        return path
      }
    }
    return rendezvous.pollTransmit(into: &packet, now: now)
  }

  package mutating func pollEvent() -> PeerEvent? {
    let hadRoom = hasRoomForWords
    if let event = events.poll() { return event }
    if hadRoom { return nil }
    handleWaitingMessages()
    return events.poll()
  }

  /// Whether less than half of the places for events is taken.
  var hasRoomForWords: Bool { events.hasRoomForWords }

  /// What found no place before.
  private mutating func handleWaitingMessages() {
    for link in links { handleMessages(link, now: latest) }
    settle(now: latest)
  }

  package var nextDeadline: Instant? {
    var deadline = earliest(rendezvous.nextDeadline, ledger.nextDeadline)
    for link in links { deadline = earliest(deadline, link.nextDeadline) }
    deadline = earliest(deadline, lookups.nextDeadline)
    deadline = earliest(deadline, peerProbe?.expires)
    deadline = earliest(deadline, relay?.nextDeadline)
    deadline = earliest(deadline, channels.nextDeadline)
    deadline = earliest(deadline, sharing.nextDeadline(links))
    return earliest(deadline, life.nextDeadline(latest: latest))
  }

  // MARK: - Parts

  mutating func publish(_ event: PeerEvent) {
    guard !takesForProbe(event) else { return }
    // What becomes of a call is told in any case; the rules between calls bound how many there are.
    if case .calling = event {} else if events.isFull { return }
    events.append(event)
  }

  /// A step of a call that is not over for its user; of one that is, nobody wants to hear.
  mutating func publishStep(_ link: CallLink, _ step: LinkStep) {
    guard ledger.isOpen(link.callID) else { return }
    publish(.link(link.callID, step))
  }

  func link(owning id: ConnectionID) -> CallLink? {
    for link in links where link.owns(id) { return link }
    return nil
  }

  func link(_ callID: CallID) -> CallLink? { links.first { $0.callID == callID } }

  /// Random, not zero, and in use by nobody here.
  mutating func makeConnectionID() -> ConnectionID {
    while true {
      let id = ConnectionID(random: &random)
      if !links.contains(where: { $0.uses(id) }), !rendezvous.owns(id) { return id }
    }
  }

  /// Does what the parts have decided, until nobody has anything left to say.
  mutating func settle(now: Instant) {
    latest = now
    var hasActed = false
    while true {
      if let event = rendezvous.pollEvent() {
        handle(event, now: now)
      } else if let action = ledger.pollAction() {
        handleAction(action, now: now)
      } else if let event = relay?.pollEvent() {
        handle(event, now: now)
      } else if let action = relay?.pollStreamAction() {
        publish(.relayStream(action))
      } else {
        break
      }
      hasActed = true
    }
    CallPairs.ask(for: links, by: &rendezvous, now: now)
    if relay != nil {
      rendezvous.mayUseRelay = hasRelay
      if rendezvous.detour.takeChange(now: now) || hasActed { updateRelayPeers(now: now) }
    }
    if configuration.isForFamiliars, rendezvous.isRegistered {
      rendezvous.mail.send(ledger.familiars, of: identity.id, on: rendezvous.association, now: now)
    }
    settleChannels(now: now)
    yieldToCalls(now: now)
    finishShutDown(now: now)
  }
}
