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
    while held.count > places { held.remove(at: quietest(room, now: now) ?? 0) }
    if held.contains(where: { $0.source == host.source }) { return true }
    if held.count < places {
      // The loudest begin.
      let louder = room.speakers(to: member, limits: limits, now: now) { other in
        other !== host && !held.contains { $0.source == other.source }
          && (other.voice.loudness, host.source) > (host.voice.loudness, other.source)
      }
      guard louder < places - held.count else { return false }
    } else {
      guard let quietest = quietest(room, keptFor: Self.keep, now: now),
        let other = room.seat(ofSource: held[quietest].source),
        host.voice.loudness > other.voice.loudness + limits.hysteresis * 8
      else { return false }
      held.remove(at: quietest)
    }
    held.append(Place(source: host.source, since: now))
    return true
  }

  /// Of those that have had their places for so long.
  private func quietest(
    _ room: ForwardingRoom, keptFor time: Duration = .zero, now: Instant
  ) -> Int? {
    var quietest: Int?
    for place in held.indices where now >= held[place].since + time {
      guard let found = quietest,
        loudness(held[found].source, room) <= loudness(held[place].source, room)
      else {
        quietest = place
        continue
      }
    }
    return quietest
  }

  private func loudness(_ source: UInt8, _ room: ForwardingRoom) -> Int {
    room.seat(ofSource: source)?.voice.loudness ?? 0
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
