package import Primitives
import Wire

/// Paths by a relay of our own (docs/protocol/calling.md §4, "Relays").
extension Agent {
  /// A relay forwards for the two of us: it is one more address of the peer, besides those that the
  /// peer offers (docs/protocol/relay.md §6).
  package mutating func addPairRelay(_ address: SocketAddress, now: Instant) {
    paths.addPairRelay(address, checkAt: now + policy.relayHeadStart)
  }

  /// From now on it passes on what goes there. A challenge of before may have come to nothing.
  package mutating func hastenPairRelay(_ address: SocketAddress, now: Instant) {
    guard let index = paths.index(DatagramPath(address)), !paths[index].isValid else { return }
    if paths[index].round.isOver {
      paths[index].round.begin(at: now)
    } else if paths[index].round.attempts > 0 {
      paths[index].trigger(at: now)
    }
  }

  /// Whether media goes by a server.
  var isOnRelay: Bool { paths[selectedPath]?.isRelayed ?? false }

  /// When a direct address that did not answer is asked again: while a relay carries the call.
  func directRetryTime(_ path: RemotePath) -> Instant? {
    guard isOnRelay, !path.isRelayed, !path.isValid, path.isWorthAsking else { return nil }
    return path.round.lastUnanswered.map { $0 + policy.directRetry }
  }
}
