package import LastMile
import Primitives

/// How much of everything there may be at a rendezvous (docs/protocol/session.md §9), each with
/// its reason. All memory that strangers can make the server use is bounded by a number here.
package struct ServerLimits: Sendable {
  /// INIT of one IPv4 address or IPv6 /64: what WireGuard allows; a household behind one address
  /// comes back after a power cut within seconds.
  package var initiationsPerSource = Rate(perSecond: 20, burst: 5)
  /// INIT of one identity: one device registers once, and again when its network changes.
  package var initiationsPerIdentity = Rate(perSecond: 1, burst: 5)
  /// Handshakes that wait for their key agreement: an eighth of them within a second turns cookies
  /// on, which bounds that work at about 60 % of a core.
  package var waitingHandshakes = 64
  /// Handshakes answered whose first DATA has not come. Each costs a client's record for 15 s, so
  /// this is what a flood with real addresses can hold.
  package var unconfirmedSessions = 4096
  /// RESPs kept for 10 s in case their INIT comes again: 400 KiB, and ten seconds of a hundred
  /// registrations a second. Beyond that the oldest goes, and its repeated INIT costs a handshake.
  package var rememberedAnswers = 1024
  /// How long an answered handshake may stay without DATA: longer than the client's whole attempt.
  package var confirmation = Duration.seconds(15)
  /// COOKIE and CARD together, each source: enough for every retry of an honest client, and no
  /// reflector worth having.
  package var answersPerSource = Rate(perSecond: 10, burst: 10)
  /// COOKIE and CARD in all, for the same reason.
  package var answers = Rate(perSecond: 5000, burst: 500)
  /// RESET to one source: a client needs one.
  package var resetsPerSource = Rate(perSecond: 1, burst: 1)
  /// RESET in all: twenty thousand clients have theirs 5 s after a restart, within the 6 s in which
  /// they are to be back. Each is shorter than what it answers, and costs one hash: 4000 a second
  /// are about 1 % of a core.
  package var resets = Rate(perSecond: 4000, burst: 400)
  /// FORWARD of one client: the retries and the path exchange of one call fit.
  package var forwardsPerClient = Rate(perSecond: 10, burst: 20)
  /// FORWARDs that wait for one client's acknowledgement: a phone rings once, and whoever does not
  /// take its messages must not hold the server's memory.
  package var openForwardsPerCallee = 16
  /// FORWARDs of one sender to one callee that wait: five sends of one invitation.
  package var openForwardsPerPair = 5
  /// LOOKUP of one client: people dial.
  package var lookUpsPerClient = Rate(perSecond: 10, burst: 20)
  /// Clients in all: memory (26 MB at 400 bytes each); beyond it a second server is due.
  package var sessions = 65_536
  /// Programs of one identity: what a person runs on a few hosts, and some that died without a
  /// word. Nobody else pays for them.
  package var presencesPerIdentity = 8
  /// Clients at one address: households, and offices behind one NAT.
  package var sessionsPerSource = 256
  /// Clients with something under way (unacknowledged messages, a half-received one). Each costs
  /// some KiB; a client beyond it is served when another one's exchange is over.
  package var exchanges = 8192
  /// Half-received messages of all clients: 64 MiB, together with the 32 KiB that flow control
  /// allows each of them.
  package var reassemblyByteCount = 64 << 20
  /// Datagrams that wait to be sent outside sessions (RESP, COOKIE …): half a second of the
  /// fastest rate above; the rest is dropped and asked for again.
  package var waitingAnswers = 2048
  /// Events that wait to be polled; the program polls after every batch.
  package var waitingEvents = 4096
  /// Sources that are remembered for their rates; the one quiet longest makes room.
  package var sources = 16_384
  /// Packets that did not open, of one source in a second, before it is ignored for a second:
  /// forged packets must not buy work.
  package var failuresPerSource = 100
  /// Frames or messages that do not parse before a client is closed: a program that is wrong
  /// sixteen times will not be right.
  package var strikes = 16
  /// How long a registration lasts; clients register anew before.
  package var sessionLife = Duration.seconds(3600)
  /// When keys may not be used any more, whatever the client does.
  package var keyLife = Duration.seconds(5400)
  /// Longest time between a client's packets: short enough for the mappings of home routers.
  package var period = Duration.seconds(20)
  /// A client that is silent for so many periods is gone.
  package var silentPeriods = 3
  /// How long writes to the store may wait, to be made in one batch.
  package var storeBatch = Duration.milliseconds(100)
  /// FORWARD's longest body: an invitation with its extension.
  package var forwardBodyByteCount = 4096
  /// The longest life of a FORWARD that the server takes: signalling gives up after 8 s.
  package var longestLife = Duration.seconds(30)
  /// Probes that clients may have reflected (docs/protocol/probe.md §3).
  package var probes = ReflectorLimits()

  package init() {}

  /// For measurements on one machine, where every client has the same few addresses: the rates
  /// of a source and of a client are out of the way, the bounds on memory stay.
  package static var measurement: ServerLimits {
    var limits = ServerLimits()
    let free = Rate(perSecond: 1_000_000, burst: 1_000_000)
    limits.initiationsPerSource = free
    limits.initiationsPerIdentity = free
    limits.answersPerSource = free
    limits.forwardsPerClient = free
    limits.lookUpsPerClient = free
    limits.sessions = 1 << 20
    limits.sessionsPerSource = 1 << 20
    limits.waitingHandshakes = 1 << 16
    limits.exchanges = 1 << 20
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
}

/// Counts against a `Rate` in 8 bytes: the moment at which an even pace would allow the next one
/// (the generic cell rate algorithm, ITU-T I.371).
struct RateMeter: BitwiseCopyable, Sendable {
  /// Nanoseconds of the machine's clock.
  private var due: UInt64 = 0

  /// Whether one more fits; if so it is counted.
  mutating func take(_ rate: Rate, now: Instant) -> Bool {
    let base = max(due, now.nanoseconds)
    guard base &- now.nanoseconds <= rate.tolerance else { return false }
    due = base &+ rate.interval
    return true
  }

  /// Whether `take` would say so; counts nothing.
  func allows(_ rate: Rate, now: Instant) -> Bool {
    due <= now.nanoseconds || due &- now.nanoseconds <= rate.tolerance
  }

  /// Whether nothing is owed any more: a new meter would do as well.
  func isIdle(now: Instant) -> Bool { due <= now.nanoseconds }
}

/// The same in 4 bytes and in whole milliseconds, for what lives less than a day.
struct CompactRateMeter: BitwiseCopyable, Sendable {
  private var due: UInt32

  init(nowMilliseconds: UInt32) { due = nowMilliseconds }

  mutating func take(_ rate: Rate, nowMilliseconds now: UInt32) -> Bool {
    let ahead = Int64(Int32(bitPattern: due &- now))
    let base = max(0, ahead)
    guard base <= Int64(clamping: rate.tolerance / 1_000_000) else { return false }
    due = now &+ UInt32(clamping: base) &+ UInt32(clamping: rate.interval / 1_000_000)
    return true
  }
}
