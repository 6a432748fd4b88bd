import Calling
import Connectivity
package import Primitives
package import Relay
import Wire

/// Calls by a TURN server (docs/protocol/calling.md §4, "Relays"). What goes by it is the packet
/// that would go directly, in channel data; its path has `LocalAddressID.relay` as the own address.
extension PeerMachine {
  package static var roomByteCount: Int {
    Datagram.maximumByteCount + Datagram.maximumRelayHeaderByteCount
  }

  /// Asks for a relay, where a server is known.
  package mutating func openRelay(now: Instant) {
    relay?.start(now: now)
    settle(now: now)
  }

  /// TURN servers that the rendezvous has named (`PeerEvent.relaysOffered`), with their addresses.
  /// Those that the user has named are preferred: then nothing changes.
  package mutating func setOfferedRelays(_ servers: [RelayServer], now: Instant) {
    guard configuration.relays.isEmpty, life.isRunning else { return }
    // A server in the place of the rendezvous would take what the rendezvous sends.
    let usable = servers.filter {
      !rendezvous.route.reaches($0.server) && !$0.server.isUnsendable
    }
    if relay != nil {
      relay?.setServers(usable, now: now)
    } else if !usable.isEmpty {
      relay = RelayRoster(usable, random: random.split())
      relay?.start(now: now)
      updateRelayPeers(now: now)
    }
    settle(now: now)
  }

  /// A stream to a TURN server carries bytes (`PeerEvent.relayStream`).
  package mutating func relayStreamOpened(_ stream: LocalAddressID, now: Instant) {
    relay?.streamOpened(stream, now: now)
    settle(now: now)
  }

  /// It came to nothing, or has ended.
  package mutating func relayStreamEnded(
    _ stream: LocalAddressID, _ error: RelayError, now: Instant
  ) {
    relay?.streamEnded(stream, error, now: now)
    settle(now: now)
  }

  /// Gives it back: when nothing more is to be sent.
  package mutating func closeRelay(now: Instant) { relay?.close(now: now) }

  /// Where peers reach us by the TURN server; `nil` = there is no relay.
  package var relayedAddress: SocketAddress? { relay?.relayedAddress }

  var hasRelay: Bool { relay?.relayedAddress != nil }

  @_lifetime(bytes: copy bytes)
  mutating func handleRelayed(
    _ bytes: inout MutableSpan<UInt8>, from server: SocketAddress, marks: DatagramMarks,
    now: Instant
  ) {
    let input = relay?.handle(bytes.span, from: server, at: marks.local, now: now)
    guard case .packet(let peer, let place) = input else { return settle(now: now) }
    var packet = bytes._mutatingExtracting(place)
    handlePacket(
      &packet, from: peer, marks: DatagramMarks(ecn: marks.ecn, local: .relay), now: now)
  }

  @_lifetime(packet: copy packet)
  mutating func pollRelayed(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    if let path = relay?.pollTransmit(into: &packet, now: now) { return path }
    while true {
      let path = packet.withRoom(Datagram.maximumByteCount) { room in
        pollPacket(into: &room, now: now)
      }
      guard let path, path.local.isRelay else { return path }
      if let outer = relay?.wrap(&packet, to: path.remote, now: now) { return outer }
      // The relay has gone meanwhile: as though lost on the way.
      packet.removeAll()
      droppedDatagrams &+= 1
    }
  }

  mutating func handle(_ event: RelayEvent, now: Instant) {
    publish(.relay(event))
    guard case .allocated = event else { return }
    rendezvous.handleRelay(now: now)
    for link in links where link.path.isFinding { addCandidates(to: link, now: now) }
    for link in links where link.canSearch && link.path.roaming.told != ownCandidates {
      beginSearch(link, .ownAddresses, now: now)
    }
  }

  /// Lets in, by the relay, whoever a call is with.
  mutating func updateRelayPeers(now: Instant) {
    guard relay != nil else { return }
    // The rendezvous first: without it there is no call.
    var addresses = rendezvous.detour.isNeeded(now: now) ? [rendezvous.address] : []
    for link in links where ledger.isOpen(link.callID) { addresses += link.remoteAddresses }
    relay?.setPeers(addresses, now: now)
  }
}
