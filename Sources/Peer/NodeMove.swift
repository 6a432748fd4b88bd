import LastMile
package import Primitives
import SecureSession
import Wire

/// From one node of the service to another (docs/protocol/cluster.md §7). Calls do not notice: they
/// go from peer to peer.
package enum NodeMove {
  /// A session from the beginning, at the node that comes first.
  static func beginAnew(
    _ link: inout RendezvousLink, now: Instant, identity: inout LocalIdentity
  ) {
    let seconds = ownSeconds(link, now)
    link.server.nodes.beginRound(for: identity.id, unixSeconds: seconds, now: now)
    enter(&link, now: now)
    link.begin(now: now, identity: &identity)
  }

  /// It is time for another attempt: at the next node, where one has failed.
  static func beginNext(
    _ link: inout RendezvousLink, now: Instant, identity: inout LocalIdentity
  ) {
    if link.server.nodes.hasFailed {
      let seconds = ownSeconds(link, now)
      link.server.nodes.goOn(for: identity.id, unixSeconds: seconds, now: now)
      enter(&link, now: now)
    }
    link.begin(now: now, identity: &identity)
  }

  /// What the attempt has to do now, and what is done where it has failed.
  static func driveAttempt(
    of link: inout RendezvousLink, now: Instant, identity: borrowing LocalIdentity, isInCall: Bool
  ) {
    guard let due = link.attempt?.wakeUp() ?? nil, due <= now else { return }
    let time = link.schedule.initTime(unixMilliseconds: link.unixMilliseconds(now: now))
    let hasFailed = link.attempt?.handleTimeout(
      identity: identity, time: time, connectionID: ConnectionID(random: &link.random),
      random: &link.random, now: now)
    if let doubt = link.attempt?.popDoubt(), !link.server.nodes.isService {
      link.events.append(.registration(.doubted(doubt)))
    }
    guard hasFailed == true else { return }
    let failure = link.attempt?.failure() ?? .noAnswer
    guard link.attempt?.isFailureFinal == true, !link.server.nodes.isService else {
      return retry(&link, after: failure, isInCall: isInCall, now: now)
    }
    link.attempt = nil
    link.isStopped = true
    link.events.append(.registration(.failed(failure)))
  }

  /// While the present node says nothing others are asked; the first that answers is gone to.
  static func race(_ link: inout RendezvousLink, now: Instant, identity: inout LocalIdentity) {
    guard link.attempt?.hasAnswer == false else { return link.server.nodes.scout.end() }
    guard link.server.nodes.moves(now: now) else { return }
    link.attempt = nil
    enter(&link, now: now)
    link.begin(now: now, identity: &identity)
  }

  /// The session's life is nearly over: another one there, or where the client belongs.
  static func renew(
    _ link: inout RendezvousLink, isInCall: Bool, now: Instant, identity: inout LocalIdentity
  ) {
    let seconds = ownSeconds(link, now)
    let nodes = link.server.nodes
    if !isInCall, nodes.prefersOther(for: identity.id, unixSeconds: seconds, now: now) {
      return beginAnew(&link, now: now, identity: &identity)
    }
    link.begin(now: now, identity: &identity)
  }

  /// The session is gone, there or on the way: a new one, at once.
  ///
  /// - Parameter time: For how long other nodes come first, where there are some.
  static func lose(
    _ link: inout RendezvousLink, now: Instant, identity: inout LocalIdentity,
    avoiding time: Duration = .zero
  ) {
    link.endProbe(.sessionLost, now: now)
    link.association = nil
    link.standing = .none
    guard !link.isStopped else { return }
    link.events.append(.registration(.reconnecting))
    link.server.nodes.avoidPresent(for: time, now: now)
    beginAnew(&link, now: now, identity: &identity)
  }

  /// The attempt has failed; the next one comes by itself.
  static func retry(
    _ link: inout RendezvousLink, after failure: RegistrationFailure, isInCall: Bool, now: Instant
  ) {
    link.attempt = nil
    if failure == .noAnswer || failure == .longPacketsLost { link.route.turn() }
    if link.server.nodes.handleFailure() {
      link.schedule.next = now
      return
    }
    link.events.append(.registration(.failed(failure)))
    let chance = link.random.unit()
    link.schedule.retry(isInCall: isInCall, chance: chance, now: now)
  }

  /// What stands elsewhere is left: its packets would go to the new place.
  private static func enter(_ link: inout RendezvousLink, now: Instant) {
    let addresses = link.server.nodes.present.addresses
    guard link.route.dial(addresses) else { return }
    link.detour.leave()
    guard link.association != nil else { return }
    link.locating = nil
    link.endProbe(.sessionLost, now: now)
    link.association = nil
    link.standing = .none
    link.events.append(.registration(.reconnecting))
  }

  /// The name of the rendezvous has these addresses now, in the order in which they are tried.
  /// While a session stands, and where a list of nodes is known, they are used when nothing else
  /// is. Who answers there must show the key that is known.
  package static func redial(
    _ addresses: [SocketAddress], on machine: inout PeerMachine, now: Instant
  ) {
    guard isNews(addresses, to: machine.rendezvous), let first = addresses.first else { return }
    machine.configuration.rendezvous = first
    machine.configuration.otherRendezvousAddresses = Array(addresses.dropFirst())
    dial(addresses, on: &machine.rendezvous, now: now)
    machine.settle(now: now)
  }

  /// Name servers give the same addresses in turns.
  private static func isNews(
    _ addresses: [SocketAddress], to link: borrowing RendezvousLink
  ) -> Bool {
    for address in addresses where !link.route.reaches(address) { return true }
    return false
  }

  /// The same of a relay's registration.
  static func redial(_ addresses: [SocketAddress], on link: inout RendezvousLink, now: Instant) {
    if isNews(addresses, to: link) { dial(addresses, on: &link, now: now) }
  }

  private static func dial(
    _ addresses: [SocketAddress], on link: inout RendezvousLink, now: Instant
  ) {
    guard link.server.nodes.setDialled(addresses), link.association == nil, !link.isStopped,
      link.route.dial(addresses)
    else { return }
    link.detour.leave()
    link.attempt = nil
    link.schedule.next = now
  }

  /// NODES, outside an attempt: the answer to the question for a newer list.
  static func handle(
    _ bytes: Span<UInt8>, on link: inout RendezvousLink, now: Instant,
    identity: inout LocalIdentity
  ) {
    guard case .control(.nodes) = Demultiplexer.classify(bytes) else { return }
    var reader = ByteReader(bytes)
    do throws(WireError) {
      let packet = try NodesPacket(parsing: &reader)
      guard let list = link.server.nodes.handleAnswer(packet) else { return }
      adopt(list, on: &link, now: now, identity: &identity)
    } catch {
      return  // Nobody's who holds the root's key.
    }
  }

  /// A list has come. One that the root has not signed changes nothing.
  static func adopt(
    _ list: NodeList, on link: inout RendezvousLink, now: Instant, identity: inout LocalIdentity
  ) {
    let seconds = ownSeconds(link, now)
    do throws(NodeListFault) {
      guard try link.server.nodes.adopt(list, unixSeconds: seconds) else { return }
    } catch {
      let isOver = error == .expired
      if isOver || error == .notYetValid { link.attempt?.recordList(isOver: isOver) }
      return
    }
    link.events.append(.told(.rendezvousNodes(list)))
    let present = link.server.nodes.present.id
    let isOnIt = list.nodes.contains { $0.id == present }
    guard !isOnIt, !link.isStopped else { return }
    link.attempt = nil
    beginAnew(&link, now: now, identity: &identity)
  }

  private static func ownSeconds(_ link: borrowing RendezvousLink, _ now: Instant) -> UInt64 {
    link.configuration.unixMilliseconds(now: now) / 1000
  }

  /// How long others come before a node that has died, and before one that has said that it leaves:
  /// longer than a restart of it takes, and short against the life of a session.
  static let silentAvoided = Duration.seconds(60)
  static let leavingAvoided = Duration.seconds(60)
}
