/// The times and limits of path finding (docs/protocol/calling.md §4).
package struct PathPolicy: Hashable, Sendable {
  package static let standard = PathPolicy()

  /// Between the first challenges to two addresses; RFC 8445 §14.2 asks for 5 ms at least. Eight
  /// packets of 64 bytes in all, so nothing that a line would notice.
  package var pace = Duration.milliseconds(10)
  /// The same where the peer has just said that it is there: it waits to be heard.
  package var renewedPace = Duration.milliseconds(10)
  /// From a challenge to its first repetition; doubles each time.
  package var firstRepetition = Duration.milliseconds(100)
  /// The same where the peer has been heard from the address: it is there, and only loss keeps its
  /// answer away.
  package var heardRepetition = Duration.milliseconds(50)
  /// How often; then `firstRepetition`, and so on.
  package var heardRepetitions = 8
  /// The longest wait between repetitions; when it is over without an answer, the round is.
  package var lastRepetition = Duration.milliseconds(1600)
  /// How long relayed paths wait for direct ones to answer, from when the candidates are known:
  /// most direct paths answer within one round trip of the line.
  package var relayHeadStart = Duration.milliseconds(300)
  /// Between two rounds to a direct address that does not answer, while a relayed path is used.
  package var directRetry = Duration.seconds(15)
  /// Routers that a challenge passes which only opens the way out: one at home and one of the
  /// provider's. Two homes of one provider are four apart.
  package var openingHopLimit: UInt8 = 3
  /// Challenges until one is answered.
  package var unansweredLimit = 100
  /// How many of those are kept for addresses from which the peer has challenged us.
  package var reservedForChallengers = 20
  /// A better path must be so much better...
  package var switchMargin = Duration.milliseconds(10)
  /// ... and its RTT at most so much of the present one, in percent.
  package var switchPercent: Int64 = 80
  /// Silence of a peer that should be sending, by how far apart its packets are: at least so long
  package var silence = Duration.milliseconds(200)
  /// and at most so long.
  package var longestSilence = Duration.milliseconds(400)
  /// Silence of a peer that sends no media, and PING after a second without a packet of its own.
  package var keepAliveSilence = Duration.milliseconds(1500)
  /// How often a valid path is challenged anew: well within the 30 s for which the least patient
  /// address translators keep a mapping (RFC 4787 REQ-5 asks for 2 minutes).
  package var revalidation = Duration.seconds(10)
  /// Between two rounds of checks of all paths while the peer stays silent.
  package var suspicionPeriod = Duration.seconds(2)
  /// The same, if it was heard meanwhile.
  package var newSuspicion = Duration.milliseconds(500)

  package init() {}
}

/// How many of everything at most.
package enum PathLimits {
  /// Candidates of a peer, the most that a TLV holds (docs/protocol/README.md §2).
  package static let remoteCandidates = 8
  /// Addresses learnt from challenges: a peer behind two translators, and two moves.
  package static let peerReflexive = 4
  /// Paths from our relay to relays of the peer: one of each family.
  package static let relayPairs = 2
  /// Paths from candidates of the peer to own addresses that the system would not choose.
  package static let otherLocalAddresses = 8
  /// Challenges in flight to one address that an answer is still accepted for.
  package static let outstanding = 8
  /// Responses that wait to be polled; the peer repeats a challenge whose response is dropped.
  package static let responses = 16
  /// No check, and no response, is longer than this (§4), in bytes.
  package static let checkByteCount = 64
  /// Bytes answered for each byte received from an address that is not valid (RFC 9000 §8.1).
  package static let amplification = 3
}
