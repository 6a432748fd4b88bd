/// The times and limits of a TURN client (RFC 8656).
package struct RelayLimits: Sendable {
  /// Hosts that may send to us by the relay: 32 calls with four hosts each. More are not let in.
  package var peers = 128
  /// Channels at once: two addresses of each of 32 calls. The one unused for longest gives way.
  package var channels = 64
  /// Requests under way: one for each host and channel, twice where calls come and go.
  package var transactions = 400
  /// Seconds for which an allocation is asked for; the server may give less (RFC 8656 §7.2: 600).
  package var lifetime: UInt32 = 600
  /// Between two permissions for one host; the server forgets each after 5 minutes (§9).
  package var permissionPeriod = Duration.seconds(240)
  /// Between two bindings of one channel; the server forgets each after 10 minutes (§12).
  package var channelPeriod = Duration.seconds(300)
  /// Before a permission or channel that was refused is asked for again.
  package var refusalPause = Duration.seconds(30)
  /// The same where the server did not answer.
  package var silencePause = Duration.seconds(1)
  /// From a request to its first repetition; doubles each time.
  package var firstRepetition = Duration.milliseconds(250)
  /// The longest wait for an answer.
  package var lastRepetition = Duration.seconds(4)
  /// Sendings of one request (RFC 8489 §6.2.1, Rc).
  package var attempts = 7
  /// New nonces for one request, before the server counts as broken.
  package var renewals = 3

  /// The longest wait for a stream to the server.
  package var connecting = Duration.seconds(10)
  /// The same where there was a relay by the server not long ago: the kernel asks at once, after 1
  /// and after 3 s, and then only after 7.
  package var connectingAgain = Duration.seconds(4)
  /// How long a stream may be silent when it is asked after a change of the own addresses: a stream
  /// keeps the address that it began with, and one from an address that is gone says nothing.
  package var streamPatience = Duration.seconds(1)
  /// The same when a peer has been silent for long: one that stands still for a moment is kept.
  package var longStreamPatience = Duration.seconds(3)

  package init() {}

  /// How long a stream may be silent after `cause`; `nil` = it is not asked.
  func patience(of cause: RelayDoubt) -> Duration? {
    switch cause {
    case .ownAddresses: streamPatience
    case .silence: nil
    case .longSilence: longStreamPatience
    }
  }

  /// The same for a transport that loses nothing: each request goes once (RFC 8489 §6.2.2).
  var reliable: RelayLimits {
    var limits = self
    limits.attempts = 1
    limits.firstRepetition = .seconds(8)
    limits.lastRepetition = .seconds(8)
    return limits
  }
}

/// Why a relay may be no more.
package enum RelayDoubt: Hashable, Sendable {
  /// Our own addresses have changed.
  case ownAddresses
  /// A peer has just fallen silent.
  case silence
  /// A peer has been silent for seconds.
  case longSilence
}
