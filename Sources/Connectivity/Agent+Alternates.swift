package import Primitives

/// Another uplink of this host, where the one that the routes choose is silently dead
/// (docs/protocol/calling.md §4, "Moving").
extension Agent {
  /// Which own addresses may be sent from besides the routes' choice.
  package mutating func setAlternates(_ sources: [AlternateSource]) {
    alternates = sources
    paths.keepAlternates(sources, selected: selectedPath)
  }

  /// Challenges every address of the peer from the alternate sources as well.
  mutating func checkAlternates(now: Instant) {
    guard !alternates.isEmpty else { return }
    let remotes = paths.paths.filter(\.isRouted)
    for remote in remotes {
      for source in alternates where source.family == remote.path.remote.family {
        let pair = DatagramPath(remote.path.remote, local: source.local)
        guard paths.index(pair) == nil,
          let index = paths.learn(pair, isAlternate: true, selected: selectedPath, now: now)
        else { continue }
        paths[index].renewedAt = remote.renewedAt
      }
    }
  }

  /// The peer asks by another path than we send by, and is not heard by that one: perhaps it hears
  /// nothing of us, while its media goes on coming another way.
  mutating func answerDoubt(_ asked: DatagramPath, now: Instant) {
    guard let selectedPath, asked != selectedPath, let heardSelected,
      now >= heardSelected + policy.longestSilence,
      doubt.maySearch(after: policy.newSuspicion, now: now)
    else { return }
    searchPaths(now: now)
  }

  /// The first path has not answered four challenges in 700 ms, and no other has: perhaps it is the
  /// uplink that the routes choose.
  mutating func widenSearch(after index: Int, now: Instant) {
    guard selectedPath == nil, !paths[index].isAlternate,
      paths[index].round.attempts == Self.patience
    else { return }
    checkAlternates(now: now)
  }

  /// Challenges of a round that the routes' choice has for itself.
  private static let patience = 4

  /// Whether media leaves from an alternate source.
  var isOnAlternate: Bool { paths[selectedPath]?.isAlternate ?? false }

  /// When the routes' choice is asked again while an alternate source is used.
  func routedRetryTime(_ path: RemotePath) -> Instant? {
    guard isOnAlternate, path.isRouted, paths.isProven(path.path.remote) else { return nil }
    return path.round.lastUnanswered.map { $0 + policy.directRetry }
  }
}
