internal import Primitives

/// A host that may send to us by the relay (RFC 8656 §9).
struct RelayPermission: Sendable {
  /// Its port does not matter.
  let host: SocketAddress
  /// When it is asked for again; `nil` while the server is asked.
  var dueAt: Instant?
}

/// A number that stands for a peer's address between us and the server (RFC 8656 §12).
struct RelayChannel: Sendable {
  let number: UInt16
  let peer: SocketAddress
  /// The server has confirmed it.
  var isBound = false
  var lastUsed: Instant
  /// When it is bound anew; `nil` while the server is asked.
  var dueAt: Instant?
}
