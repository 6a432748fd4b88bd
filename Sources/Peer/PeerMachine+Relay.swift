import Connectivity
package import Primitives
import Relay
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

  /// Gives it back: when nothing more is to be sent.
  package mutating func closeRelay(now: Instant) { relay?.close(now: now) }

  /// Where peers reach us by the TURN server; `nil` = there is no relay.
  package var relayedAddress: SocketAddress? { relay?.relayedAddress }

  var hasRelay: Bool { relay?.relayedAddress != nil }

  @_lifetime(bytes: copy bytes)
  mutating func handleRelayed(
    _ bytes: inout MutableSpan<UInt8>, marks: DatagramMarks, now: Instant
  ) {
    guard case .packet(let peer, let place) = relay?.handle(bytes.span, now: now) else {
      return settle(now: now)
    }
    var packet = bytes._mutatingExtracting(place)
    handlePacket(
      &packet, from: peer, marks: DatagramMarks(ecn: marks.ecn, local: .relay), now: now)
  }

  @_lifetime(packet: copy packet)
  mutating func pollRelayed(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    guard let server = relay?.server else { return nil }
    if relay?.pollTransmit(into: &packet, now: now) == true { return DatagramPath(server) }
    while true {
      let path = packet.withRoom(Datagram.maximumByteCount) { room in
        pollPacket(into: &room, now: now)
      }
      guard let path, path.local.isRelay else { return path }
      if relay?.wrap(&packet, to: path.remote, now: now) == true { return DatagramPath(server) }
      // The relay has gone meanwhile: as though lost on the way.
      packet.removeAll()
      droppedDatagrams &+= 1
    }
  }

  mutating func handle(_ event: RelayEvent, now: Instant) {
    publish(.relay(event))
    guard case .allocated = event else { return }
    for link in links where link.isFindingPath { addCandidates(to: link, now: now) }
    for link in links where link.canSearch && link.roaming.told != ownCandidates {
      beginSearch(link, .ownAddresses, now: now)
    }
  }

  /// Lets in, by the relay, whoever a call is with.
  mutating func updateRelayPeers(now: Instant) {
    guard relay != nil else { return }
    var addresses: [SocketAddress] = []
    for link in links {
      addresses += link.remoteCandidates.map(\.address)
      for branch in link.programs.branches { addresses += branch.candidates.map(\.address) }
    }
    relay?.setPeers(addresses, now: now)
  }
}
