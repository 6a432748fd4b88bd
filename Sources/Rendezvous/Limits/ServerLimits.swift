package import Channels
package import LastMile
import Primitives

/// How much of everything there may be at a rendezvous (docs/protocol/session.md §9), each with
/// its reason. All memory that strangers can make the server use is bounded by a number here.
package struct ServerLimits: Sendable {
  /// INIT of one IPv4 address or IPv6 /64 without a cookie: what WireGuard allows; a household
  /// behind one address comes back after a power cut within seconds. Beyond it a cookie is due.
  package var initiationsPerSource = Rate(perSecond: 20, burst: 5)
  /// INIT with a right MAC2: the same again, so that whoever forges the address cannot use it up;
  /// an IPv6 /56 may do what four addresses may, a /48 or an IPv4 /24 what sixteen may.
  package var provenInitiations = PrefixRates(
    endpoint: Rate(perSecond: 2, burst: 4), host: Rate(perSecond: 20, burst: 20),
    site: Rate(perSecond: 80, burst: 80), network: Rate(perSecond: 320, burst: 320))
  /// INIT of one identity: up to eight programs register, and again when their network changes.
  package var initiationsPerIdentity = Rate(perSecond: 2, burst: 16)
  /// Key agreements a second: at 0.25 to 0.35 ms each (`tools/load`) at most 70 % of a core, and
  /// 20 000 clients that come back at once are served within 10 s.
  package var keyAgreementsPerSecond: UInt64 = 2000
  /// Handshakes that wait for their key agreement: an eighth of them turns cookies on.
  package var waitingHandshakes = 64
  /// Handshakes answered whose first DATA has not come. Each costs a client's record for 5 s. When
  /// a quarter of them is there, cookies are asked for.
  package var unconfirmedSessions = 4096
  /// The same of one IPv4 address or IPv6 /64: beyond it the oldest of them goes. Its 20 INITs a
  /// second are confirmed within a round trip.
  package var unconfirmedPerHost = 16
  /// The same of one IPv4 /24 or IPv6 /48.
  package var unconfirmedPerNetwork = 256
  /// RESPs kept for 10 s in case their INIT comes again: 400 KiB, and ten seconds of a hundred
  /// registrations a second. Beyond that the oldest goes, and its repeated INIT costs a handshake.
  package var rememberedAnswers = 1024
  /// How long an answered handshake may stay without DATA: the client repeats its first PING each
  /// 300 ms, and its INIT no longer than 4.5 s.
  package var confirmation = Duration.seconds(5)
  /// COOKIE to one source: more than 10 Mbit/s of INITs that others send with its address ask for.
  /// 64 bytes for 1200, so no reflector worth having.
  package var cookiesPerSource = Rate(perSecond: 2500, burst: 100)
  /// COOKIE in all: some 5 % of a core.
  package var cookies = Rate(perSecond: 10_000, burst: 1000)
  /// CARD and VERSION to one source: more than 10 Mbit/s of CARD_REQUESTs with its address ask for.
  /// Shorter than what they answer.
  package var cardsPerSource = Rate(perSecond: 2500, burst: 100)
  /// CARD and VERSION in all, apart from COOKIE: a flood of CARD_REQUESTs leaves registration
  /// alone.
  package var cards = Rate(perSecond: 5000, burst: 500)
  /// RESET to one source: a client needs one, and 200 clients of one address say PING within one
  /// period.
  package var resetsPerSource = Rate(perSecond: 50, burst: 8)
  /// RESET in all: twenty thousand clients have theirs 5 s after a restart, within the 6 s in which
  /// they are to be back. Each is shorter than what it answers, and costs one hash: 4000 a second
  /// are about 1 % of a core.
  package var resets = Rate(perSecond: 4000, burst: 400)
  /// FORWARD of one client beside answers (`ForwardCredits`): 32 calls at once of a program in many
  /// channels, and retries of some.
  package var forwardsPerClient = Rate(perSecond: 10, burst: 40)
  /// FORWARD of one source to one identity, answers apart: 32 programs behind one address call a
  /// program that comes into their channels, and one network does not take up all that a person can
  /// be sent.
  package var forwardsPerCallee = PrefixRates(
    host: Rate(perSecond: 5, burst: 40), site: Rate(perSecond: 10, burst: 40),
    network: Rate(perSecond: 20, burst: 80))
  /// FORWARDs that wait for one client's acknowledgement, answers apart: whoever does not take its
  /// messages must not hold the server's memory.
  package var openForwardsPerCallee = 64
  /// The same of one IPv4 /24 or IPv6 /48: the INVITEs of 32 calls at once.
  package var openForwardsPerNetwork = 32
  /// Bytes of the same: half of what may wait and be under way to a client, so that there is room
  /// for answers, and for what the rendezvous says itself.
  package var openForwardBytesPerCallee = 48 << 10
  /// Those of one IPv4 /24 or IPv6 /48: 32 INVITEs are 20 KiB.
  package var openForwardBytesPerNetwork = 24 << 10
  /// Answers that wait for one client's acknowledgement: RINGING and ACCEPT of 32 calls at once.
  package var openAnswersPerCaller = 64
  /// FORWARDs of one sender to one callee that wait: five sends of one invitation.
  package var openForwardsPerPair = 5
  /// LOOKUP of one client, and what costs as much: people dial, and a program joins 64 channels at
  /// once and has 32 calls there, each with a LOOKUP and a PAIR.
  package var lookUpsPerClient = Rate(perSecond: 10, burst: 128)
  /// LOOKUP of one source: an office dials; whoever asks for everybody who is online needs long.
  package var lookUps = PrefixRates(
    host: Rate(perSecond: 50, burst: 200), site: Rate(perSecond: 100, burst: 400),
    network: Rate(perSecond: 200, burst: 800))
  /// ECHO_REQUEST of one source: an examination of a host asks some fifty in a minute, and nobody
  /// else asks.
  package var echoes = PrefixRates(
    host: Rate(perSecond: 10, burst: 40), site: Rate(perSecond: 20, burst: 80),
    network: Rate(perSecond: 40, burst: 160))
  /// Requests about channels that another node has, of one source: as many members as may be of
  /// one address ask once a second, and at once when they begin.
  package var passages = PrefixRates(
    host: Rate(perSecond: 2000, burst: 4000), site: Rate(perSecond: 4000, burst: 8000),
    network: Rate(perSecond: 8000, burst: 16_000))
  /// Names that one source may newly bind in a day: two hundred answerers of one address fit. A
  /// name that its identity has already is not new.
  package var newNames = PrefixRates(
    host: Rate(perDay: 256), site: Rate(perDay: 1024), network: Rate(perDay: 4096))
  /// Identities without a name whose card is kept for the first time, of one source in a day: the
  /// store holds a million cards, and whoever fills it pushes out others'. Beyond it a client is
  /// served, but not found by its ID.
  package var newCards = PrefixRates(
    host: Rate(perDay: 1024), site: Rate(perDay: 4096), network: Rate(perDay: 16_384))
  /// Removals from channels by one source: bans of a day (16 384) and seats that ended within ten
  /// minutes (8192, at a relay 16 384) are remembered for all channels in one place.
  package var removals = PrefixRates(
    host: Rate(perDay: 512, burst: 64), site: Rate(perDay: 1024, burst: 128),
    network: Rate(perDay: 2048, burst: 256))
  /// Memberships of one source that end because a token does, or for a newer stay, and, apart from
  /// them, hosts that left: their seats are remembered in the same place. Tokens of 128 members
  /// behind one address may end at one moment.
  package var endings = PrefixRates(
    host: Rate(perDay: 21_600, burst: 128), site: Rate(perDay: 43_200, burst: 256),
    network: Rate(perDay: 86_400, burst: 512))
  /// Clients in all: memory (26 MB at 400 bytes each). `--limit-clients` sets another number.
  package var sessions = 65_536
  /// Programs of one identity: what a person runs on a few hosts, and some that died without a
  /// word. Nobody else pays for them. At a relay it is seats of one identity in one channel.
  package var presencesPerIdentity = 8
  /// Sessions of one identity in all: at a relay a program has one in each of its channels.
  package var sessionsPerIdentity = 8
  /// Clients at one address: households, and offices behind one NAT.
  package var sessionsPerSource = 256
  /// Clients of one IPv6 /56, and of one /48 or IPv4 /24: one provider's customer must not be able
  /// to fill the server.
  package var sessionsPerSite = 1024
  /// The wider of the two.
  package var sessionsPerNetwork = 8192
  /// Clients with something under way (unacknowledged messages, a half-received one). Each costs
  /// some KiB; for one more, the one that was acknowledged longest ago is given up.
  package var exchanges = 8192
  /// The same of one IPv4 address or IPv6 /64, and of one /24 or /48. Twice as many for a second.
  package var exchangesPerHost = 128
  /// The wider of the two.
  package var exchangesPerNetwork = 1024
  /// How long messages wait for an acknowledgement: nobody waits longer for an answer.
  package var patience = Duration.seconds(8)
  /// Half-received messages of all clients: 64 MiB, together with the 32 KiB that flow control
  /// allows each of them.
  package var reassemblyByteCount = 64 << 20
  /// The same of one IPv4 address or IPv6 /64 (200 clients with a message each), and of one /24 or
  /// /48. The client that holds most is closed.
  package var reassemblyPerHost = 1 << 20
  /// The wider of the two.
  package var reassemblyPerNetwork = 8 << 20
  /// Datagrams that wait to be sent outside sessions (RESP, COOKIE …): half a second of the
  /// fastest rate above; the rest is dropped and asked for again.
  package var waitingAnswers = 2048
  /// Events that wait to be polled; the program polls after every batch.
  package var waitingEvents = 4096
  /// Sources that are remembered for their rates; the one quiet longest makes room.
  package var sources = 16_384
  /// Packets to one session that did not open, of one source in a second, before that source's
  /// packets to that session are ignored for a second: forged packets must not buy work. Those from
  /// the session's proven address are never ignored.
  package var failuresPerSource = 100
  /// Lines of refusals (FORWARD, registration) in the events: an identity must not fill a disk.
  package var refusalEvents = Rate(perSecond: 10, burst: 20)
  /// Frames or messages that do not parse before a client is closed: a program that is wrong
  /// sixteen times will not be right.
  package var strikes = 16
  /// How long a registration lasts; clients register anew before.
  package var sessionLife = Duration.seconds(3600)
  /// When keys may not be used any more, whatever the client does.
  package var keyLife = Duration.seconds(5400)
  /// Longest time between a client's packets: after a restart all are back within it and the time
  /// that registering takes; and the mappings of home routers last.
  package var period = Duration.seconds(6)
  /// A client that is silent for so many periods is gone: a minute.
  package var silentPeriods = 10
  /// How long writes to the store may wait, to be made in one batch.
  package var storeBatch = Duration.milliseconds(100)
  /// FORWARD's longest body: an invitation with its extension.
  package var forwardBodyByteCount = 4096
  /// The longest life of a FORWARD that the server takes: signalling gives up after 8 s.
  package var longestLife = Duration.seconds(8)
  /// Probes that clients may have reflected (docs/protocol/probe.md §3).
  package var probes = ReflectorLimits()
  /// Channels and their members (docs/protocol/channels.md §7).
  package var channels = ChannelLimits()
  /// Hosts of a channel.
  package var channelHosts: Int {
    get { channels.hosts }
    set { channels.hosts = newValue }
  }

  package init() {}

  /// At a relay, where a program has a session for each channel (docs/protocol/relay.md §5).
  package static var relay: ServerLimits {
    var limits = ServerLimits()
    // The 64 channels of a program, and once more where it was started anew: what it had before is
    // silent for 20 s until it gives way. Addresses bound the sessions of all identities as before.
    limits.sessionsPerIdentity = 128
    // All of them come at once when a relay was started again. The rate of a host is below that.
    limits.initiationsPerIdentity = Rate(perSecond: 20, burst: 128)
    // A burst of INITs, and what comes within a round trip of 600 ms.
    limits.unconfirmedPerHost = 32
    return limits
  }

  /// For measurements on one machine, where every client has the same few addresses: the rates
  /// of a source and of a client are out of the way, the bounds on memory stay.
  package static var measurement: ServerLimits {
    var limits = ServerLimits()
    let free = Rate(perSecond: 1_000_000, burst: 1_000_000)
    let freePrefixes = PrefixRates(host: free, site: free, network: free)
    limits.initiationsPerSource = free
    limits.provenInitiations = freePrefixes
    limits.initiationsPerIdentity = free
    limits.cookiesPerSource = free
    limits.cardsPerSource = free
    limits.forwardsPerClient = free
    limits.forwardsPerCallee = freePrefixes
    limits.openForwardsPerNetwork = limits.openForwardsPerCallee
    limits.lookUpsPerClient = free
    limits.lookUps = freePrefixes
    limits.newNames = freePrefixes
    limits.newCards = freePrefixes
    limits.sessions = 1 << 20
    limits.sessionsPerSource = 1 << 20
    limits.sessionsPerSite = 1 << 20
    limits.sessionsPerNetwork = 1 << 20
    limits.keyAgreementsPerSecond = 1_000_000
    limits.waitingHandshakes = 1 << 16
    limits.unconfirmedSessions = 1 << 16
    limits.unconfirmedPerHost = 1 << 16
    limits.unconfirmedPerNetwork = 1 << 16
    limits.exchanges = 1 << 20
    limits.exchangesPerHost = 1 << 20
    limits.exchangesPerNetwork = 1 << 20
    return limits
  }
}

/// So many a second, and so many at once.
package struct Rate: Hashable, Sendable {
  /// Nanoseconds from one to the next.
  let interval: UInt64
  /// How far ahead of an even pace one may be, in nanoseconds.
  let tolerance: UInt64

  package init(perSecond: UInt64, burst: UInt64) {
    interval = 1_000_000_000 / max(1, perSecond)
    tolerance = interval * (max(1, burst) - 1)
  }

  /// So many a day, all of them at once if need be.
  package init(perDay count: UInt64, burst: UInt64? = nil) {
    self.init(interval: 86_400_000_000_000 / max(1, count), burst: burst ?? count)
  }

  /// One each `interval` nanoseconds.
  init(interval: UInt64, burst: UInt64) {
    self.interval = interval
    tolerance = interval * (max(1, burst) - 1)
  }
}

/// Counts against a `Rate` in 8 bytes: the moment at which an even pace would allow the next one
/// (the generic cell rate algorithm, ITU-T I.371).
struct RateMeter: BitwiseCopyable, Sendable {
  /// Nanoseconds of the machine's clock.
  private var due: UInt64 = 0

  /// Whether one more fits; if so it is counted.
  mutating func admit(_ rate: Rate, now: Instant) -> Bool {
    let base = max(due, now.nanoseconds)
    guard base &- now.nanoseconds <= rate.tolerance else { return false }
    due = base &+ rate.interval
    return true
  }

  /// Whether `take` would say so; counts nothing.
  func allows(_ rate: Rate, now: Instant) -> Bool {
    due <= now.nanoseconds || due &- now.nanoseconds <= rate.tolerance
  }

  /// Whether it may be forgotten with less harm than another one.
  func owes(lessThan other: RateMeter) -> Bool { due < other.due }

  /// Whether anything was counted that is not longer ago than `life` nanoseconds, beyond its rate.
  func wasUsed(within life: UInt64, now: Instant) -> Bool {
    due != 0 && due &+ life > now.nanoseconds
  }
}

/// The same in 4 bytes and in whole milliseconds, for what lives less than a day.
struct CompactRateMeter: BitwiseCopyable, Sendable {
  private var due: UInt32

  init(nowMilliseconds: UInt32) { due = nowMilliseconds }

  mutating func admit(_ rate: Rate, nowMilliseconds now: UInt32) -> Bool {
    let ahead = Int64(Int32(bitPattern: due &- now))
    let base = max(0, ahead)
    guard base <= Int64(clamping: rate.tolerance / 1_000_000) else { return false }
    due = now &+ UInt32(clamping: base) &+ UInt32(clamping: rate.interval / 1_000_000)
    return true
  }
}

extension ServerLimits {
  var confirmationSeconds: UInt16 { UInt16(clamping: confirmation.milliseconds / 1000) }
  var silenceSeconds: UInt16 {
    UInt16(clamping: period.milliseconds / 1000 * Int64(silentPeriods))
  }
  var keyLifeSeconds: UInt16 { UInt16(clamping: keyLife.milliseconds / 1000) }
}
