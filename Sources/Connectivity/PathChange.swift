package import Primitives

/// The selected address is another one now.
package struct PathChange: Hashable, Sendable {
  package enum Cause: Hashable, Sendable {
    /// The first that answered.
    case found
    /// Its round trip is much shorter.
    case better
    /// The peer moved.
    case moved
    /// The old one answers no more.
    case failed
    /// The same, but the peer sees us elsewhere.
    case ownAddress
  }

  package var from: SocketAddress?
  package var to: SocketAddress
  package var kind: PathKind
  package var cause: Cause
}

package struct PathCounters: Hashable, Sendable {
  package var checks = 0
  package var answers = 0
  /// Challenges from addresses for which there is no room, responses that answer nothing.
  package var ignored = 0
  /// Challenges not answered, to keep the limits on what goes to an address that is not valid.
  package var responsesRefused = 0
}
