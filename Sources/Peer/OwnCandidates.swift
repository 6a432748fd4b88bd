import Connectivity
import Primitives
import Wire

/// Where peers may reach this host (docs/protocol/calling.md §4).
extension PeerConfiguration {
  /// The mapped address, if peers can be sent there.
  ///
  /// A router behind another translator names an address that does not lead here, and a host that
  /// only says that it is the router may name anybody's. So the address must be the one by which
  /// the rendezvous sees this host; only where that is not known may it be any public one.
  ///
  /// - Parameter seen: How the rendezvous sees this host.
  func usefulMappedAddress(seenAs seen: SocketAddress?) -> SocketAddress? {
    guard let mapped = mappedAddress, mapped.family == .v4, !mapped.isUnsendable, !mapped.isLoopback
    else { return nil }
    if let seen, seen.family == .v4 { return seen.isSameHost(as: mapped) ? mapped : nil }
    return mapped.isPublicV4 ? mapped : nil
  }

  /// What peers are told.
  ///
  /// - Parameter relayed: The address at a TURN server.
  func candidates(seenAs seen: SocketAddress?, relayed: SocketAddress?) -> CandidateList {
    let mapped = usefulMappedAddress(seenAs: seen)
    let hostCount = 7 - (relayed == nil ? 0 : 1) - (mapped == nil ? 0 : 1)
    var candidates = hostCandidates.prefix(hostCount).map { Candidate(.host, $0) }
    for address in [mapped, seen] {
      if let address, !candidates.contains(where: { $0.address == address }) {
        candidates.append(Candidate(.serverReflexive, address))
      }
    }
    if let relayed { candidates.append(Candidate(.relayed, relayed)) }
    return CandidateList(candidates)
  }

  /// Those of a family in which this host has an address: a check of another one would only keep
  /// others waiting for their turn.
  func usable(_ candidates: [Candidate]) -> [Candidate] {
    guard !hostCandidates.isEmpty else { return candidates }
    return candidates.filter { candidate in
      hostCandidates.contains { $0.family == candidate.address.family }
    }
  }
}
