import Channels
import Peer
import Primitives
import SecureSession
import Wire

/// One program and what it heard.
final class TrialEnd {
  let number: Int
  let identity: LocalIdentity
  let program: ChannelProgram
  let address: SocketAddress
  var client: ChannelClient
  var machine: ChannelRelayMachine?
  /// The session with the rendezvous; 0 = none.
  var session = 0
  /// It has left, and listens all the same.
  var lingers = false
  var role: MemberRole?
  /// Of the machine that there is, or was.
  var key: ChannelTrial.StayKey?
  var generation: UInt32 = 0
  var asksAt: Instant?
  var seatedAt: Instant?
  var departures: [UInt32: Departure] = [:]
  /// What the machine was told of last, and when whoever is not there any more went.
  var roster: Set<ChannelTrial.StayKey> = []
  var left: [ChannelTrial.StayKey: Instant] = [:]
  var mediaTime: UInt16 = 0
  /// Frames by their numbers.
  var heard: Set<Int> = []

  init(_ number: Int, random: inout RandomSource) {
    self.number = number
    identity = LocalIdentity(
      kind: .peer, unixSeconds: RelayedWorld.unixSeconds, random: &random)
    program = ChannelProgram(
      id: identity.id, presence: PresenceID(rawValue: UInt64(number)))
    address = RelayedWorld.address(UInt32(number))
    client = ChannelClient(random: random.split())
  }
}
