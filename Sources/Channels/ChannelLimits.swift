/// How much of everything there may be, and how long it takes (docs/protocol/channels.md §7).
package struct ChannelLimits: Sendable {
  /// Hosts of a channel: what the seeds advise at most.
  package var hosts = 17
  /// Members of a channel: as many as its keys are made for (docs/protocol/sframe.md §6).
  package var members = 4096
  /// Channels of a server: one for each eight members.
  package var channels = 8192
  /// Members of all channels: about 500 bytes each with an ordinary token, 32 MB.
  package var memberships = 65_536
  /// Channels that one program is in: a class and its groups.
  package var perProgram = 64
  /// Memberships behind one IPv4 address or IPv6 /64: an office.
  package var perHost = 1024
  /// Memberships behind one IPv4 /24 or IPv6 /48: a provider's customer cannot fill the server.
  package var perNetwork = 8192
  /// Channels that were made from one IPv4 address or IPv6 /64, and that there are: `perProgram` of
  /// four programs.
  package var madePerHost = 256
  /// The same of one IPv4 /24 or IPv6 /48: a quarter of `channels`.
  package var madePerNetwork = 2048
  /// Requests of one member at once, and what is added a second. SYNC takes one a second, and so
  /// does JOIN that comes again; a host that asks for the proofs of a roster takes one a member.
  package var requestBurst = 200
  /// The pace of the same.
  package var requestsPerSecond = 50
  /// Pages of the roster, and messages of changes, that one member draws at once: the roster of a
  /// whole channel twice. More are not answered: its next SYNC asks again.
  package var pageBurst = 128
  /// The pace of the same: 640 members or changes a second, at most 29 kB.
  package var pagesPerSecond = 10
  /// ROLE of one member that changes something, at once: there and back twice. Each is told to all.
  package var roleBurst = 4
  /// The pace of the same: clients ask again after `repetition`.
  package var rolesPerSecond = 1
  /// Bans of a channel; the one that ends first makes room.
  package var bans = 256
  /// Bans of all channels, 80 bytes each; the one that ends first makes room. Each JOIN looks
  /// through them in 20 µs.
  package var bansInAll = 16_384
  /// The longest ban, in s: a day. A lasting one is a token that is not renewed.
  package var longestBan: UInt32 = 86_400
  /// Removed stays that are remembered, so that they learn of it though the notice was lost.
  package var departed = 64
  /// Changes of a roster that are kept for members that come back: who lacks more reads it anew.
  package var changes = 256
  /// Hosts that were lost, and may have seats at relays: of more the seat whose grant ends first is
  /// ended. 100 bytes each.
  package var lostHosts = 4096
  /// Notices that wait to be sent: what is more is lost, and found missing by the next SYNC.
  package var notices = 65_536

  /// A member that is back within it was never away. It counts from a period after the last SYNC:
  /// a death is told at the seeds' 20 s at the latest where the period is short.
  package var silence = Duration.milliseconds(19_500)
  /// The same of a member after which another program of its identity has come: a program that
  /// died and was started again has nothing to do with its former stay, and others cannot call one
  /// identity twice.
  package var followedSilence = Duration.seconds(2)
  /// From one SYNC to the next.
  package var period = Duration.seconds(1)
  /// The same in a small channel, while the server is not full: 20 s less `silence`, and less two
  /// `shortestSweep`.
  package var shortPeriod = Duration.milliseconds(400)
  /// Members of a small channel: with an audience for whose keys 2 s hold (sframe.md §3).
  package var smallChannel = 128
  /// Members of all channels up to which `shortPeriod` holds: 10 240 SYNC a second.
  package var shortPeriods = 4096
  /// Changes that come within it share a message.
  package var pushInterval = Duration.milliseconds(50)
  /// Members up to which it is `pushInterval`; with more of them it grows in proportion. So a
  /// channel draws 2560 copies a second, 4096 at the longest interval, while no message is full.
  package var promptMembers = 128
  /// It grows no longer than that: the seeds' bound for what others are told of a member.
  package var longestPushInterval = Duration.seconds(1)
  /// After which a relay is told that a host has become audience: longer than a program needs to
  /// see that its role has changed twice.
  package var hostingGrace = Duration.seconds(1)
  /// How often tokens and bans are looked at, and silence where nobody is near its end.
  package var sweepInterval = Duration.milliseconds(250)
  /// How often silence is looked at, at the most.
  package var shortestSweep = Duration.milliseconds(50)

  /// Notices ahead of a missing one that a client keeps.
  package var ahead = 64
  /// How long a client waits for a change that others have overtaken.
  package var gapPatience = Duration.milliseconds(200)
  /// From one request to the next that is not answered.
  package var repetition = Duration.seconds(1)
  /// Silence beyond half a period after which a client says that contact is interrupted: the
  /// seeds' 4 s, as contact was lost up to a period after the last answer.
  package var interruption = Duration.seconds(4)
  /// Silence after which contact counts as lost; tries go on. The seeds' 10 s.
  package var contactLoss = Duration.seconds(10)
  /// Silence after which tries end where no sound goes on: the seeds' 20 minutes.
  package var givingUp = Duration.seconds(1200)
  /// How long before the end of a token its user is told: the seeds' 30 s.
  package var tokenWarning = Duration.seconds(30)
  /// Events that nobody has fetched; more are dropped and counted.
  package var events = 8192
  /// Commands that wait for their turn in one channel; half of them may ask for proofs, which go
  /// one after the other without a pause.
  package var commands = 128

  package init() {}
}

/// Counts requests against a pace (the generic cell rate algorithm, ITU-T I.371).
struct RequestMeter {
  /// When an even pace would allow the next one, in ns.
  private var due: UInt64 = 0

  /// Whether one more request of a member fits; if so it is counted.
  mutating func admit(_ limits: ChannelLimits, nanoseconds now: UInt64) -> Bool {
    admit(perSecond: limits.requestsPerSecond, burst: limits.requestBurst, nanoseconds: now)
  }

  mutating func admit(perSecond rate: Int, burst: Int, nanoseconds now: UInt64) -> Bool {
    let interval = 1_000_000_000 / UInt64(max(1, rate))
    let base = max(due, now)
    guard base - now <= interval * UInt64(max(1, burst) - 1) else { return false }
    due = base + interval
    return true
  }
}
