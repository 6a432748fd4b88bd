import Primitives

/// A connection to a server over TCP or TLS, as far as the client knows of it.
struct RelayStream: Sendable {
  /// Its own address, once it has one.
  var number: LocalAddressID?
  /// Asked for, and without a number yet.
  var isWanted = false
  /// One to be closed.
  var abandoned: LocalAddressID?
  /// When one that is asked for counts as not to be had.
  var connectBy: Instant?
  /// When anything last came.
  var lastHeard: Instant?
  /// When one that was asked whether it still carries anything counts as lost.
  var answerBy: Instant?

  var nextDeadline: Instant? { earliest(connectBy, answerBy) }

  /// Lets it go.
  mutating func abandon() {
    if let number { abandoned = number }
    end()
  }

  mutating func end() {
    number = nil
    isWanted = false
    lastHeard = nil
    connectBy = nil
    answerBy = nil
  }
}

/// TURN over TCP and TLS (RFC 8656 §3.1): the owner has the connection; the relay lives as long.
extension RelayClient {
  /// The number of the stream that is asked for.
  mutating func assign(_ number: LocalAddressID) {
    stream.number = number
    stream.isWanted = false
  }

  /// The stream carries bytes: the relay is asked for.
  mutating func streamOpened(now: Instant) {
    guard case .connecting = state else { return }
    stream.connectBy = nil
    state = .allocating
    begin(.allocate, now: now)
  }

  /// The stream came to nothing, or has ended.
  mutating func streamEnded(_ error: RelayError, now: Instant) {
    stream.end()
    switch state {
    case .idle, .closing: break
    case .connecting, .allocating, .allocated: loseRelay(error, now: now)
    }
  }

  mutating func expireStream(now: Instant) {
    if let connectBy = stream.connectBy, connectBy <= now {
      stream.abandon()
      streamEnded(.noAnswer, now: now)
    }
    if let answerBy = stream.answerBy, answerBy <= now {
      stream.abandon()
      streamEnded(.connectionLost, now: now)
    }
  }

  /// Where requests and packets to the server go.
  var path: DatagramPath { DatagramPath(server, local: stream.number ?? .unspecified) }

  /// Whether a datagram that came to `local` may be the server's.
  func owns(_ source: SocketAddress, _ local: LocalAddressID) -> Bool {
    guard server == source else { return false }
    return transport == .udp ? !local.isStream : stream.number == local
  }
}
