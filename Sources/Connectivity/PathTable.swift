import Primitives
import Wire

/// The addresses of the peer by our own ones, at most 8 + 4 + 8 + 2 (`PathLimits`): candidates in
/// the peer's order, then learnt ones as they appeared.
struct PathTable: Sendable {
  private(set) var paths: [RemotePath] = []

  subscript(index: Int) -> RemotePath {
    get { paths[index] }
    _modify { yield &paths[index] }
  }

  var indices: Range<Int> { paths.indices }

  func index(_ path: DatagramPath) -> Int? { paths.firstIndex { $0.path == path } }

  subscript(path: DatagramPath?) -> RemotePath? {
    path.flatMap { index($0) }.map { paths[$0] }
  }

  /// Whether the peer has answered from there, whichever own address it was asked by.
  func isProven(_ remote: SocketAddress) -> Bool {
    paths.contains { $0.path.remote == remote && $0.proof.wasProven }
  }

  // MARK: - Offered addresses

  /// An address that the peer offers, behind those it offered before.
  mutating func add(_ candidate: Candidate, opening: Duration?, checkAt: Instant) {
    noteOffered(candidate)
    let known = paths.count { $0.origin != .peerReflexive && $0.isRouted }
    guard known < PathLimits.remoteCandidates, !candidate.address.isUnsendable,
      index(DatagramPath(candidate.address)) == nil
    else { return }
    let origin = PathOrigin(candidate.kind)
    paths.insert(
      RemotePath(
        DatagramPath(candidate.address), origin,
        opening: origin == .serverReflexive ? opening : nil, checkAt: checkAt),
      at: known)
  }

  /// From our relay to those of the peer.
  mutating func addRelayPairs(_ candidates: [Candidate], checkAt: Instant) {
    for candidate in candidates.prefix(PathLimits.remoteCandidates)
    where candidate.kind == .relayed && !candidate.address.isUnsendable {
      let pair = DatagramPath(candidate.address, local: .relay)
      let count = paths.count { $0.path.local.isRelay && $0.origin == .relayed }
      guard index(pair) == nil, count < PathLimits.relayPairs else { continue }
      paths.append(RemotePath(pair, .relayed, checkAt: checkAt))
    }
  }

  /// A relay's that neither of the two has offered.
  mutating func addPairRelay(_ address: SocketAddress, checkAt: Instant) {
    let pair = DatagramPath(address)
    if let known = index(pair) { return paths[known].becomeRelayed() }
    let count = paths.count { $0.origin == .relayed && $0.isRouted }
    guard !address.isUnsendable, count < PathLimits.remoteCandidates else { return }
    paths.append(RemotePath(pair, .relayed, checkAt: checkAt))
  }

  /// The peer says that it is there now: the address is challenged before others.
  mutating func renew(_ candidate: Candidate, now: Instant) {
    noteOffered(candidate)
    let known = paths.indices.filter { paths[$0].path.remote == candidate.address }
    for index in known {
      paths[index].renewedAt = now
      paths[index].beginRoundIfOver(at: now)
    }
    guard !known.contains(where: { paths[$0].isRouted }) else { return }
    var path = RemotePath(
      DatagramPath(candidate.address), PathOrigin(candidate.kind), checkAt: now)
    path.renewedAt = now
    paths.insert(path, at: 0)
  }

  /// A packet may come from a relay of the peer's before the peer tells of it. From then on its
  /// paths are relayed ones, as far as there is room for offered addresses.
  private mutating func noteOffered(_ candidate: Candidate) {
    guard candidate.kind == .relayed else { return }
    for index in paths.indices
    where paths[index].path.remote == candidate.address && paths[index].origin == .peerReflexive {
      let isRouted = paths[index].isRouted
      let count = paths.count { $0.origin != .peerReflexive && $0.isRouted == isRouted }
      let limit = isRouted ? PathLimits.remoteCandidates : PathLimits.otherLocalAddresses
      if count < limit { paths[index].becomeRelayed() }
    }
  }

  /// Forgets what the peer no longer offers and what does not answer.
  mutating func forgetAllBut(_ offered: [SocketAddress], selected: DatagramPath?) {
    paths.removeAll { path in
      path.origin != .peerReflexive && !path.isValid && path.path != selected
        && !offered.contains(path.path.remote)
    }
    // Old addresses that have answered stay while there is room for the new ones.
    var room = PathLimits.remoteCandidates - offered.count
    paths.removeAll { path in
      guard path.origin != .peerReflexive, path.isRouted, !offered.contains(path.path.remote)
      else { return false }
      room -= 1
      return room < 0 && path.path != selected
    }
  }

  // MARK: - Learnt addresses

  /// The path of `source`, a new one if it is unknown; `nil` when there is no room. An address that
  /// the peer offered keeps its origin at every own address that it reaches.
  mutating func learn(
    _ source: DatagramPath, isAlternate: Bool = false, selected: DatagramPath?, now: Instant
  ) -> Int? {
    if let known = index(source) { return known }
    guard !source.remote.isUnsendable else { return nil }
    let origin = paths.first { $0.path.remote == source.remote }?.origin ?? .peerReflexive
    let isReflexive = origin == .peerReflexive && !isAlternate
    let isAlike = { (path: RemotePath) in
      let isLearnt = path.origin == .peerReflexive && !path.isAlternate
      return isReflexive ? isLearnt : !isLearnt && !path.isRouted
    }
    let limit = isReflexive ? PathLimits.peerReflexive : PathLimits.otherLocalAddresses
    if paths.count(where: isAlike) >= limit {
      let stale = paths.firstIndex {
        isAlike($0) && !$0.isValid && $0.path != selected && $0.round.isOver
      }
      guard let stale else { return nil }
      paths.remove(at: stale)
    }
    paths.append(RemotePath(source, origin, isAlternate: isAlternate, checkAt: now))
    return paths.count - 1
  }

  /// Forgets the paths from own addresses that are no alternates any more.
  mutating func keepAlternates(_ sources: [AlternateSource], selected: DatagramPath?) {
    paths.removeAll { path in
      path.isAlternate && path.path != selected
        && !sources.contains { $0.local == path.path.local }
    }
  }

  // MARK: - Getters

  /// What became of each address of the peer.
  var fates: [PathFate] {
    var fates: [PathFate] = []
    for path in paths {
      var fate = PathFate(
        path.path.remote, path.origin, checks: path.round.checks,
        isAnswered: path.proof.wasProven, hasChallenged: path.hasChallenged)
      if let known = fates.firstIndex(where: { $0.address == fate.address }) {
        fate.checks += fates[known].checks
        fate.isAnswered = fate.isAnswered || fates[known].isAnswered
        fate.hasChallenged = fate.hasChallenged || fates[known].hasChallenged
        fates[known] = fate
      } else {
        fates.append(fate)
      }
    }
    return fates
  }

  /// A path that is used rather than the current one, and whether it is so for its speed alone.
  ///
  /// A direct path instead of a relayed one, however slow; never the other way. Of the same kind
  /// the routes' choice instead of an alternate source. Then the quickest other path that owes no
  /// answer, if the current one is so much slower by its average and by its last answer.
  func better(
    than current: RemotePath, _ policy: PathPolicy
  ) -> (path: DatagramPath, isForSpeed: Bool)? {
    let old = min(current.proof.roundTrip, current.proof.latestRoundTrip)
    var others = paths.filter {
      $0.isValid && $0.round.lastUnanswered == nil && $0.path != current.path && !$0.isAlternate
    }
    let direct = others.filter { !$0.isRelayed }.min(by: Self.isQuicker)
    if current.isRelayed, let direct { return (direct.path, false) }
    others.removeAll { $0.isRelayed != current.isRelayed }
    let routed = others.filter(\.isRouted).min(by: Self.isQuicker)
    if current.isAlternate, let routed { return (routed.path, false) }
    guard let best = others.min(by: Self.isQuicker),
      old - best.proof.roundTrip >= policy.switchMargin.nanoseconds,
      best.proof.roundTrip * 100 <= old * policy.switchPercent
    else { return nil }
    return (best.path, true)
  }

  /// The best path besides the selected one that has answered since: a direct one, if there is one;
  /// of those one by the routes' choice, if there is one; then the quickest.
  func successor(of selected: DatagramPath?, since doubt: Instant) -> DatagramPath? {
    var best: RemotePath?
    for path in paths where path.isValid && path.path != selected {
      guard let answeredAt = path.proof.answeredAt, answeredAt >= doubt else { continue }
      if best.map({ $0.rank <= path.rank }) != true { best = path }
    }
    return best?.path
  }

  private static func isQuicker(_ one: RemotePath, _ other: RemotePath) -> Bool {
    one.proof.roundTrip < other.proof.roundTrip
  }
}
