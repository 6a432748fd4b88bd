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
  ///
  /// A router behind another translator names an address that does not lead here, and a host that
  /// only says that it is the router may name anybody's. So the address must be the one by which
  /// the rendezvous sees this host; only where that is not known may it be any public one.
  package var usefulMappedAddress: SocketAddress? {
    guard let mapped = configuration.mappedAddress, mapped.family == .v4, !mapped.isUnsendable,
      !mapped.isLoopback
    else { return nil }
    if let seen = rendezvous.seenAddress, seen.family == .v4 {
      return seen.isSameHost(as: mapped) ? mapped : nil
    }
    return mapped.isPublicV4 ? mapped : nil
  }
}
