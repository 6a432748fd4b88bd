internal import Primitives
internal import Reactor

/// Who was met, and how things stand.
extension ChannelMedia {
  /// One member that is there, or was.
  public struct Member: Sendable {
    /// Who it is, with its newest role.
    public var user: ChannelUser
    /// Whether it is in the channel now.
    public var isThere: Bool
    /// How long it was heard over all its stays, silence apart.
    public var heard: Duration
    /// How loud it is, in dB below full scale; -90 where nothing comes.
    public var level: Double
    /// The latest of the call with it, or of what comes of it by a relay; `nil` without either.
    public var numbers: CallStatistics?
    /// Audio packets that were received or lost, over all ways; `nil` without a way to it.
    public var packets: Int?
    /// Of them lost.
    public var lost: Int?
    /// Of these, what nothing brought in time.
    public var residualLost: Int?
    /// Of the latest way to it, 1...5.
    public var mos: Double?
    /// The last of a call with it, ms; nobody measures one to a host by a relay.
    public var roundTripMs: Double?
  }

  /// What went by relays, over all seats.
  public struct RelayCounts: Sendable, Equatable {
    /// Frames that were sent.
    public var sent = 0
    /// Frames that opened.
    public var opened = 0
    /// Frames that did not.
    public var unopened = 0
    /// How often contact was lost.
    public var losses = 0
    /// What people compare (`ChannelRelay.standing`), the newest; `nil` where there was none.
    public var fingerprint: String?

    /// - Parameter counts: Of all seats until now.
    mutating func adopt(_ counts: (sent: UInt64, opened: UInt64, unopened: UInt64)) {
      sent = Int(clamping: counts.sent)
      opened = Int(clamping: counts.opened)
      unopened = Int(clamping: counts.unopened)
    }
  }

  /// How things stand.
  public struct Standing: Sendable {
    /// Whom this has met, without itself: the first 1024, who came first stands in front.
    public var members: [Member]
    /// How many more there were.
    public var leftOut: Int
    /// How many are there now, this one included.
    public var memberCount: Int
    /// How many there were, over all the time.
    public var metCount: Int
    /// Of how many a first frame came.
    public var heardCount: Int
    /// Whether sound goes by a relay now, or did at the end.
    public var isRelayed: Bool
    /// What went by relays until the last seat was left; `nil` where there never was a seat.
    public var relay: RelayCounts?
    /// What people compare now; `nil` while there are no keys.
    public var fingerprint: String?
  }

  /// How things stand now; also after the end.
  public var standing: Standing {
    get async {
      let fingerprint = await relay?.standing.fingerprint ?? ""
      let now = SystemClock.now
      return Standing(
        members: roll.entries.map { Member($0, voices, now: now) }, leftOut: roll.leftOut,
        memberCount: links.counts.members + 1, metCount: links.metCount,
        heardCount: roll.entries.count(where: \.wasHeard), isRelayed: way.isRelayed,
        relay: relayed, fingerprint: fingerprint.isEmpty ? nil : fingerprint)
    }
  }

  /// What the relay brings of each member. Of one with a call that counts.
  func enter(_ all: RelayStatistics) {
    let called = Set(links.linked.map(\.user.uid))
    // Who has left has its numbers already.
    for host in all.hosts where !called.contains(host.uid) && roll.isThere(host.uid) {
      roll.setNumbers(host.numbers, of: host.uid, by: .relay)
    }
  }
}

extension ChannelMedia.Member {
  init(_ entry: ChannelRoll.Entry, _ voices: ChannelVoices, now: Instant) {
    let uid = entry.user.uid
    let heard = entry.isThere ? voices.heard(uid) : .zero
    self.init(
      user: entry.user, isThere: entry.isThere, heard: entry.heard + heard,
      level: voices.level(of: uid, now: now), numbers: entry.numbers, packets: entry.packets,
      lost: entry.lost, residualLost: entry.residualLost, mos: entry.mos,
      roundTripMs: entry.roundTrip)
  }
}
