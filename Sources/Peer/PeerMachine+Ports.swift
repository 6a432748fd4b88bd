import Connectivity
package import Primitives
import Wire

/// An address at which a router lets everybody in (docs/protocol/calling.md §4, "Mapped ports").
extension PeerMachine {
  /// A router has opened a port, at this address by its own word, or none is open now. Peers of
  /// calls that are under way are told of a new one.
  package mutating func setMappedAddress(_ address: SocketAddress?, now: Instant) {
    guard configuration.mappedAddress != address else { return }
    configuration.mappedAddress = address
    guard usefulMappedAddress != nil else { return }
    for link in links where link.canSearch && link.path.roaming.told != ownCandidates {
      beginSearch(link, .ownAddresses, now: now)
    }
    settle(now: now)
  }

  /// The mapped address, if peers can be sent there.
  package var usefulMappedAddress: SocketAddress? {
    configuration.usefulMappedAddress(seenAs: rendezvous.seenAddress)
  }
}
