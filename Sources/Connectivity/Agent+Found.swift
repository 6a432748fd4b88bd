package import Primitives

extension Agent {
  /// The selected path as the change that told of it first; `nil` before there is one. For an owner
  /// that had no use for the path when it was found.
  package var found: PathChange? {
    guard let selected, let kind else { return nil }
    return PathChange(from: nil, to: selected, kind: kind, cause: .found)
  }

  package var kind: PathKind? {
    paths[selectedPath]?.kind
  }

  /// Of the selected path, smoothed.
  package var roundTrip: Duration? {
    paths[selectedPath].map { .nanoseconds($0.proof.roundTrip) }
  }

  /// How many addresses of the peer are known.
  package var pathCount: Int { paths.paths.count }

  package func isValid(_ address: SocketAddress) -> Bool {
    paths.paths.contains { $0.path.remote == address && $0.isValid }
  }

  /// What became of each address of the peer: candidates in its order, then learnt ones.
  package var fates: [PathFate] { paths.fates }
}
