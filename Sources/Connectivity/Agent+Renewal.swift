package import Primitives
package import Wire

/// The peer is elsewhere, and says where (docs/protocol/calling.md §4, "Moving").
extension Agent {
  /// Takes the candidates that the peer has now. Those are challenged first; what it no longer
  /// offers, and what does not answer, is forgotten. If it no longer offers where we send to, the
  /// first of its new addresses to answer takes over, unless the old one answers before. It says so
  /// because it does not hear us, or because it moved: either way the old one is to show that it
  /// still is there, or gives way to another that does.
  package mutating func renewCandidates(
    _ candidates: [Candidate], byRelay: Bool = false, now: Instant
  ) {
    let offered = candidates.prefix(PathLimits.remoteCandidates)
      .filter { !$0.address.isUnsendable }
    guard !offered.isEmpty, selectedPath != nil else {
      return addCandidates(candidates, byRelay: byRelay, now: now)
    }
    if mayPeerBeAway { unprovenChecks.allowMore(now: now) }
    paths.forgetAllBut(offered.map(\.address), selected: selectedPath)
    if byRelay { paths.addRelayPairs(offered, checkAt: now + policy.relayHeadStart) }
    for candidate in offered.reversed() { paths.renew(candidate, now: now) }
    guard let selectedPath, let current = paths.index(selectedPath) else { return }
    doubt.handleRenewal(
      isElsewhere: !offered.contains { $0.address == selectedPath.remote }, now: now)
    checkAlternates(now: now)
    paths[current].beginRoundIfOver(at: now)
  }

  /// Asks every path, because the own addresses have changed.
  package mutating func checkAll(now: Instant) {
    guard selectedPath != nil else { return }
    searchPaths(now: now)
  }
}
