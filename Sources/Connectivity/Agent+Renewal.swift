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
    forgetAllBut(offered.map(\.address))
    if byRelay { addRelayPairs(offered, now: now) }
    for candidate in offered.reversed() { renew(candidate, now: now) }
    guard let selectedPath, let current = path(selectedPath) else { return }
    if !offered.contains(where: { $0.address == selectedPath.remote }) { renewedAt = now }
    suspectedAt = suspectedAt ?? now
    isSaidToBeUnheard = true
    checkAlternates(now: now)
    if paths[current].isRoundOver { paths[current].beginRound(at: now) }
  }

  /// Asks every path, because the own addresses have changed.
  package mutating func checkAll(now: Instant) {
    guard selectedPath != nil else { return }
    doubt(now: now)
  }

  private mutating func forgetAllBut(_ offered: [SocketAddress]) {
    paths.removeAll { path in
      path.origin != .peerReflexive && !path.isValid && path.path != selectedPath
        && !offered.contains(path.path.remote)
    }
    // Old addresses that have answered stay while there is room for the new ones.
    var room = PathLimits.remoteCandidates - offered.count
    paths.removeAll { path in
      guard path.origin != .peerReflexive, path.path.local.isUnspecified,
        !offered.contains(path.path.remote)
      else { return false }
      room -= 1
      return room < 0 && path.path != selectedPath
    }
  }

  private mutating func renew(_ candidate: Candidate, now: Instant) {
    noteOffered(candidate)
    let known = paths.indices.filter { paths[$0].path.remote == candidate.address }
    for index in known {
      paths[index].renewedAt = now
      if paths[index].isRoundOver { paths[index].beginRound(at: now) }
    }
    guard !known.contains(where: { paths[$0].path.local.isUnspecified }) else { return }
    var path = RemotePath(
      DatagramPath(candidate.address), PathOrigin(candidate.kind), checkAt: now)
    path.renewedAt = now
    paths.insert(path, at: 0)
  }
}
