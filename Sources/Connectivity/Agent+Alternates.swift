package import Primitives

/// Another uplink of this host, where the one that the routes choose is silently dead
/// (docs/protocol/calling.md §4, "Moving").
extension Agent {
  /// Which own addresses may be sent from besides the routes' choice.
  package mutating func setAlternates(_ sources: [AlternateSource]) {
    alternates = sources
    paths.removeAll { path in
      path.isAlternate && path.path != selectedPath
        && !sources.contains { $0.local == path.path.local }
    }
  }

  /// Challenges every address of the peer from the alternate sources as well.
  mutating func checkAlternates(now: Instant) {
    guard !alternates.isEmpty else { return }
    let remotes = paths.filter { $0.path.local.isUnspecified }
    for remote in remotes {
      for source in alternates where source.family == remote.path.remote.family {
        let pair = DatagramPath(remote.path.remote, local: source.local)
        guard path(pair) == nil, let index = learn(pair, isAlternate: true, now: now) else {
          continue
        }
        paths[index].renewedAt = remote.renewedAt
      }
    }
  }

  /// The peer asks by another path than we send by, and is not heard by that one: perhaps it hears
  /// nothing of us, while its media goes on coming another way.
  mutating func answerDoubt(_ asked: DatagramPath, now: Instant) {
    guard let selectedPath, asked != selectedPath, let heardSelected,
      now >= heardSelected + policy.longestSilence,
      doubtedAt.map({ now >= $0 + policy.newSuspicion }) ?? true
    else { return }
    doubt(now: now)
  }

  /// The first path has not answered four challenges in 700 ms, and no other has: perhaps it is the
  /// uplink that the routes choose.
  mutating func widenSearch(after index: Int, now: Instant) {
    guard selectedPath == nil, !paths[index].isAlternate, paths[index].attempts == Self.patience
    else { return }
    checkAlternates(now: now)
  }

  /// Challenges of a round that the routes' choice has for itself.
  private static let patience = 4

  /// Whether the peer has answered from there, whichever own address it was asked by.
  func isProven(_ remote: SocketAddress) -> Bool {
    paths.contains { $0.path.remote == remote && $0.wasProven }
  }

  /// Whether media leaves from an alternate source.
  var isOnAlternate: Bool {
    selectedPath.flatMap { path($0) }.map { paths[$0].isAlternate } ?? false
  }

  /// When the routes' choice is asked again while an alternate source is used.
  func routedRetryTime(_ path: RemotePath) -> Instant? {
    guard isOnAlternate, path.path.local.isUnspecified, isProven(path.path.remote) else {
      return nil
    }
    return path.outstanding.last.map { $0.sentAt + policy.directRetry }
  }

  /// The quickest valid path that leaves by the routes' choice.
  func quickestRouted(among others: [RemotePath]) -> DatagramPath? {
    others.filter { $0.path.local.isUnspecified }.min { $0.roundTrip < $1.roundTrip }?.path
  }
}
