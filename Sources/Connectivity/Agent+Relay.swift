import Primitives
import Wire

/// Paths by a relay of our own (docs/protocol/calling.md §4, "Relays").
extension Agent {
  /// Whether media goes by a server.
  var isOnRelay: Bool { selectedPath.flatMap { path($0) }.map { paths[$0].isRelayed } ?? false }

  /// From our relay to that of the peer.
  mutating func addRelayPairs(_ candidates: [Candidate], now: Instant) {
    for candidate in candidates.prefix(PathLimits.remoteCandidates)
    where candidate.kind == .relayed && !candidate.address.isUnsendable {
      let pair = DatagramPath(candidate.address, local: .relay)
      let count = paths.count { $0.path.local.isRelay && $0.origin == .relayed }
      guard path(pair) == nil, count < PathLimits.relayPairs else { continue }
      paths.append(RemotePath(pair, .relayed, checkAt: now + policy.relayHeadStart))
    }
  }

  /// A packet may come from a relay of the peer's before the peer tells of it. From then on its
  /// paths are relayed ones, as far as there is room for offered addresses.
  mutating func noteOffered(_ candidate: Candidate) {
    guard candidate.kind == .relayed else { return }
    for index in paths.indices
    where paths[index].path.remote == candidate.address && paths[index].origin == .peerReflexive {
      let isRouted = paths[index].path.local.isUnspecified
      let count = paths.count {
        $0.origin != .peerReflexive && $0.path.local.isUnspecified == isRouted
      }
      let limit = isRouted ? PathLimits.remoteCandidates : PathLimits.otherLocalAddresses
      if count < limit { paths[index].becomeRelayed() }
    }
  }

  /// When a direct address that did not answer is asked again: while a relay carries the call.
  func directRetryTime(_ path: RemotePath) -> Instant? {
    guard isOnRelay, !path.isRelayed, !path.isValid, path.isWorthAsking else { return nil }
    return path.outstanding.last.map { $0.sentAt + policy.directRetry }
  }
}
