import Primitives

/// How much sound goes to one member (docs/protocol/relay.md §4): of the hosts that speak as many
/// of the loudest as its line carries whole, and copies where there is room for them too.
struct SoundChoice {
  /// What the member's line carries, and what goes there.
  struct Line {
    /// Bit/s of sound at present.
    var taken = 0.0
    /// What of it arrives, in bit/s.
    var arriving = 0.0
    /// What the line may be filled with, in bit/s; something fills it while a step up is tried.
    var estimate = 0.0
    /// Sound alone is more than it carries.
    var isOverloaded = false
  }

  /// Hosts that are forwarded at the most; more than there are where nothing limits them.
  private(set) var places = Int.max
  /// Frames go a second time where some were lost.
  private(set) var hasCopies = true
  /// Those that have a place, while these are limited.
  private var held: [Place] = []
  private var changed: Instant?
  private var lastRise: Instant?
  private var patience = Self.firstPatience
  /// Until when padding fills the line, and since when it has carried a step more.
  private var trial: (until: Instant, since: Instant?)?

  private struct Place {
    let source: UInt8
    let since: Instant
  }

  /// Whether padding is to fill what sound leaves.
  var isTrying: Bool { trial != nil }

  // MARK: - How much

  /// - Parameters:
  ///   - speakers: Hosts whose sound would go there if the line was wide.
  ///   - wantsCopies: The line loses packets.
  mutating func update(_ line: Line, speakers: Int, wantsCopies: Bool, now: Instant) {
    let carried = min(places, speakers)
    guard carried > 0, line.taken > 0 else { return trial = nil }
    if line.isOverloaded {
      trial = nil
      if now >= (changed ?? .zero) + Self.pause { fall(line, carried, wantsCopies, now: now) }
      return
    }
    let isWhole = carried == speakers && (hasCopies || !wantsCopies)
    guard !isWhole else { return trial = nil }
    look(line, carried, of: speakers, now: now)
  }

  private mutating func fall(
    _ line: Line, _ carried: Int, _ wantsCopies: Bool, now: Instant
  ) {
    guard carried > 1 || (hasCopies && wantsCopies) else { return }
    if let lastRise {
      patience =
        now < lastRise + Self.relapse ? min(patience * 2, Self.longestPatience) : Self.firstPatience
    }
    if hasCopies, wantsCopies {
      hasCopies = false
    } else {
      let each = line.taken / Double(carried)
      places = max(1, min(carried - 1, Int(line.arriving / each)))
    }
    changed = now
    lastRise = nil
  }

  /// A step up is tried by padding: by sound somebody would be heard in crumbs.
  private mutating func look(_ line: Line, _ carried: Int, of speakers: Int, now: Instant) {
    guard var trial else {
      guard now >= (changed ?? now) + patience else { return }
      self.trial = (now + Self.longestTrial, nil)
      return
    }
    let step = carried < speakers ? line.taken / Double(carried) : line.taken
    guard line.estimate >= (line.taken + step) * Self.spare else {
      trial.since = nil
      self.trial = trial
      if now >= trial.until { failTrial(now: now) }
      return
    }
    let since = trial.since ?? now
    trial.since = since
    self.trial = trial
    guard now >= since + Self.pause else { return }
    if carried < speakers { places = carried + 1 } else { hasCopies = true }
    self.trial = nil
    changed = now
    lastRise = now
  }

  private mutating func failTrial(now: Instant) {
    trial = nil
    changed = now
    patience = min(patience * 2, Self.longestPatience)
  }

  // MARK: - Who

  /// Whether a frame that has just come of a host that it may hear goes to a member. Who has a
  /// place keeps it for some seconds, and while nobody is clearly louder.
  mutating func admits(
    _ host: Seat, to member: Seat, _ limits: ForwardingLimits, now: Instant
  ) -> Bool {
    let room = host.room
    let chosen = member.told.loudest
    let places = min(self.places, chosen ?? .max)
    if places >= (chosen == nil ? limits.loudest : room.hostCount) { return true }
    held.removeAll { place in
      guard let other = room.seat(ofSource: place.source), other !== member else { return true }
      return !member.mayHear(other)
        || !other.voice.isSpeaking(pause: limits.speechPause, now: now)
    }
    let ranking = Ranking(room: room, held: held, limits: limits, now: now)
    while held.count > places { held.remove(at: last(by: ranking) ?? 0) }
    if ranking.hasPlace(host) { return held.contains { $0.source == host.source } }
    let rank = ranking.rank(of: host)
    if held.count < places {
      // The first ones begin.
      let before = room.speakers(to: member, limits: limits, now: now) { other in
        other !== host && !ranking.hasPlace(other) && ranking.rank(of: other) < rank
      }
      guard before < places - held.count else { return false }
    } else {
      guard let given = givenUp(for: host, rank, by: ranking) else { return false }
      held.remove(at: given)
    }
    held.append(Place(source: host.source, since: now))
    return true
  }

  /// Whose place a host gets: at once that of somebody who has another one already, and else, after
  /// a while, that of the quietest, if it is clearly louder.
  private func givenUp(for host: Seat, _ rank: Ranking.Rank, by ranking: Ranking) -> Int? {
    guard let last = last(by: ranking), let other = ranking.seat(held[last].source) else {
      return nil
    }
    if ranking.rank(of: other).turn > rank.turn { return last }
    guard let quietest = self.last(by: ranking, keptFor: Self.keep),
      let other = ranking.seat(held[quietest].source), ranking.rank(of: other).turn == rank.turn,
      host.voice.loudness > other.voice.loudness + ranking.limits.hysteresis * 8
    else { return nil }
    return quietest
  }

  /// The last of those that have had their places for so long.
  private func last(by ranking: Ranking, keptFor time: Duration = .zero) -> Int? {
    var last: (place: Int, rank: Ranking.Rank)?
    for place in held.indices where ranking.now >= held[place].since + time {
      let rank = ranking.rank(of: held[place].source)
      if let found = last, rank < found.rank { continue }
      last = (place, rank)
    }
    return last?.place
  }

  /// In which order hosts have places at one member: of each identity one, then their second ones.
  private struct Ranking {
    let room: ForwardingRoom
    /// Sources that have places, a bit each.
    private var held: UInt64 = 0
    let limits: ForwardingLimits
    let now: Instant

    init(room: ForwardingRoom, held: [Place], limits: ForwardingLimits, now: Instant) {
      (self.room, self.limits, self.now) = (room, limits, now)
      for place in held { self.held |= 1 << UInt64(place.source &- 1) }
    }

    /// The lesser comes first.
    struct Rank: Comparable {
      /// Seats of the same identity that come before.
      var turn = 0
      var loudness = 0
      var source: UInt8 = 0

      static func < (one: Self, other: Self) -> Bool {
        (one.turn, -one.loudness, one.source) < (other.turn, -other.loudness, other.source)
      }
    }

    func seat(_ source: UInt8) -> Seat? { room.seat(ofSource: source) }

    func hasPlace(_ host: Seat) -> Bool { held >> UInt64(host.source &- 1) & 1 == 1 }

    func rank(of source: UInt8) -> Rank { seat(source).map { rank(of: $0) } ?? Rank() }

    func rank(of host: Seat) -> Rank {
      let turn = room.turn(of: host, limits, now: now) { other in
        (loudness(other), host.source) > (loudness(host), other.source)
      }
      return Rank(turn: turn, loudness: host.voice.loudness, source: host.source)
    }

    /// Among seats of one identity who has a place counts as louder.
    private func loudness(_ host: Seat) -> Int {
      host.voice.loudness + (hasPlace(host) ? limits.hysteresis * 8 : 0)
    }
  }

  /// From one step to the next: what was sent before is on the line for a moment.
  private static let pause = Duration.seconds(1)
  /// How long a host has its place: a sentence.
  private static let keep = Duration.seconds(4)
  private static let relapse = Duration.seconds(20)
  private static let firstPatience = Duration.seconds(6)
  private static let longestPatience = Duration.seconds(60)
  private static let longestTrial = Duration.seconds(5)
  /// How much more than needed a line is to carry.
  private static let spare = 1.1
}
