import Primitives
import Wire

/// Paths by a relay of our own (docs/protocol/calling.md §4, "Relays").
extension Agent {
  /// Whether media goes by a server.
  var isOnRelay: Bool { paths[selectedPath]?.isRelayed ?? false }

  /// When a direct address that did not answer is asked again: while a relay carries the call.
  func directRetryTime(_ path: RemotePath) -> Instant? {
    guard isOnRelay, !path.isRelayed, !path.isValid, path.isWorthAsking else { return nil }
    return path.round.lastUnanswered.map { $0 + policy.directRetry }
  }
}
