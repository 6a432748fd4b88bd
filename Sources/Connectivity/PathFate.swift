package import Primitives

/// What became of the checks of one address of the peer, whichever own address they left from.
package struct PathFate: Hashable, Sendable {
  package var address: SocketAddress
  package var origin: PathOrigin
  /// Challenges that were sent there.
  package var checks: Int
  /// One of them was answered.
  package var isAnswered: Bool
  /// A challenge of the peer came from there.
  package var hasChallenged: Bool

  package init(
    _ address: SocketAddress, _ origin: PathOrigin, checks: Int = 0, isAnswered: Bool = false,
    hasChallenged: Bool = false
  ) {
    self.address = address
    self.origin = origin
    self.checks = checks
    self.isAnswered = isAnswered
    self.hasChallenged = hasChallenged
  }
}
