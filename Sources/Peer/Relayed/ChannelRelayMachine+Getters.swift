import Congestion
package import GroupKeys
import Primitives
import Wire

/// What the session with the relay and the keys tell of themselves.
extension ChannelRelayMachine {
  /// Whether there is nothing left to say.
  package var isQuiet: Bool { link.isQuiet }
  /// Whether a member that was verified has a seat at the relay, as far as that is known.
  package func isSeated(_ uid: UInt32) -> Bool { talk.seats.isSeated(uid) }
  /// Whether nothing of a host is to be heard just now: of silence the relay passes on a little,
  /// and of many who speak the loudest.
  package func isSilent(_ uid: UInt32) -> Bool { inbox.isSilent(uid) }
  /// Whether the relay says how many frames of each host it leaves out.
  package var tellsUnsent: Bool { link.standing.terms?.payload.hasUnsentCounts ?? false }
  package var hosts: RelayedHosts { inbox.heard }
  /// Members that hold our key, or may.
  package var verifiedCount: Int { keys.memberCount }
  /// Whether the fingerprint is of some members only: nobody can compare it.
  package var isPartial: Bool { members.isPartial }
  package var nextGeneration: UInt32 { keys.nextGeneration }
  package var fingerprint: RosterFingerprint { keys.fingerprint }
  /// In nanoseconds: smoothed, and the least seen; `nil` before it was measured.
  package var roundTrip: (smoothed: UInt64, minimum: UInt64)? { link.association?.roundTrip }
  var smoothedRoundTrip: Duration? { roundTrip.map { .nanoseconds(Int64(clamping: $0.smoothed)) } }
}

extension ChannelRelayMachine.Settings {
  /// What the session with the relay is opened with.
  var link: PeerConfiguration {
    var configuration = PeerConfiguration(
      rendezvous: grant.address, wallClockAtZero: wallClockAtZero)
    configuration.rendezvousID = grant.relay
    configuration.token = grant.token
    configuration.presence = .guest
    // Then RESP tells whether the relay knows low streams.
    configuration.asksForRelays = true
    configuration.isMember = true
    configuration.loudest = UInt8(clamping: loudest ?? 0)
    return configuration
  }
}
