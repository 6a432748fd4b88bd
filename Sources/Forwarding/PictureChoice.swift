import Primitives
import Wire

/// Which pictures are for one member: of each host the low stream or the usual one, up to a layer,
/// or none (docs/protocol/relay.md §4).
struct PictureChoice {
  /// It understands low streams.
  var takesLow = false
  /// Of `PictureNeeds`, for the hosts that showed something at the last look.
  private(set) var level = 0
  private var hostCount = 0
  /// What hosts get that were not seen then.
  private var common = PictureNeeds.most
  /// By source: what is for the member, 0..5.
  private var steps = InlineArray<64, UInt8>(repeating: UInt8(PictureNeeds.most))
  private var changed: Instant
  private var lastRise: Instant?
  /// The last change was a step down.
  private var hasFallen = false
  private var patience = Self.firstPatience
  private var trial: Trial?
  /// Nothing is forwarded before a key frame, but of sources that have begun with one.
  private var waitsForAll = false
  private var begun: UInt64 = 0
  /// Sources of which the low stream came last, and of which it goes on beside a key frame.
  private var onLow: UInt64 = 0
  private var ending: UInt64 = 0
  /// Since when the line carries more, and the least that it carried since.
  private var room: (since: Instant, least: Double)?
  /// The last step up had to be taken back soon.
  private var hasRelapsed = false
  /// The level before the last step up.
  private var former = 0

  /// The line is filled with padding to see whether it carries more.
  private struct Trial {
    let rate: Double
    let begun: Instant
    var next: Instant
    var available: Double
  }

  init(now: Instant) { changed = now }

  // MARK: - Level

  /// - Parameters:
  ///   - available: Bit/s that the line carries.
  ///   - carried: The same where more waits than it carries.
  mutating func update(
    available: Double, carried: Double? = nil, needs: PictureNeeds, isOverloaded: Bool, now: Instant
  ) {
    follow(needs)
    // What waits shows what is too much: an estimate that nothing fills shows less than there is.
    if isOverloaded {
      if trial != nil { failTrial(now: now) }
      let lower = lower(carried ?? available, needs, now: now)
      if now >= changed + Self.overloadPause || isAgainTooMuch(for: lower, needs) {
        fall(to: lower, now: now)
      }
    } else if let higher = needs.higher(level, takesLow: takesLow) {
      let enough = needs.rate(higher, takesLow: takesLow) * Self.spare
      if available >= enough {
        riseIfSteady(available, needs, now: now)
      } else {
        room = nil
        look(available, enough, isGone(needs) ? Self.firstPatience : patience, now: now)
      }
    } else {
      trial = nil
      room = nil
    }
    settle(needs)
  }

  /// Hosts have come or gone: each of the others keeps what it had, as far as can be.
  private mutating func follow(_ needs: PictureNeeds) {
    guard needs.count != hostCount else { return }
    if hostCount > 0 { common = level / hostCount }
    hostCount = needs.count
    level = common * hostCount
  }

  /// What the line is to have where what it has is too much. A moment's estimate does not prove
  /// that no low stream fits. Right after a step up it does not prove that nothing fits, either:
  /// then it is what was there before, or the first level at which something is seen.
  private func lower(_ carried: Double, _ needs: PictureNeeds, now: Instant) -> Int {
    let next = needs.lower(level, takesLow: takesLow)
    let least = view == .usual ? needs.rate(hostCount, takesLow: takesLow) : 0
    let fitting = needs.fitting(max(carried, least), takesLow: takesLow)
    guard needs.rate(fitting, takesLow: takesLow) == 0, hasJustRisen(now: now) else {
      return min(next, fitting)
    }
    return min(next, max(former, needs.higher(0, takesLow: takesLow) ?? 0))
  }

  private func hasJustRisen(now: Instant) -> Bool {
    lastRise.map { now < $0 + Self.relapse } ?? false
  }

  /// What waited went with the last step down: what waits came since. It may be a key frame alone,
  /// so only where something is left to see the next step comes at once.
  private func isAgainTooMuch(for lower: Int, _ needs: PictureNeeds) -> Bool {
    hasFallen && view == .usual && needs.rate(lower, takesLow: takesLow) > 0
  }

  private mutating func fall(to lower: Int, now: Instant) {
    if lastRise != nil {
      // What held for a while was not tried in vain.
      hasRelapsed = hasJustRisen(now: now)
      patience = hasRelapsed ? min(patience * 2, Self.longestPatience) : Self.firstPatience
    }
    level = lower
    changed = now
    lastRise = nil
    hasFallen = true
    room = nil
  }

  /// Nothing is left of what it had: a host makes less where few can have more.
  private func isGone(_ needs: PictureNeeds) -> Bool {
    level > 0 && needs.rate(level, takesLow: takesLow) == 0
  }

  /// A moment's estimate is no reason: it has to hold.
  private mutating func riseIfSteady(_ available: Double, _ needs: PictureNeeds, now: Instant) {
    let since = room?.since ?? now
    let least = min(room?.least ?? available, available)
    room = (since, least)
    let wait = hasRelapsed && !isGone(needs) ? patience : Self.pause
    guard now >= since + Self.pause, now >= changed + wait else { return }
    former = level
    level = max(level, needs.fitting(least / Self.spare, takesLow: takesLow))
    changed = now
    lastRise = now
    hasFallen = false
    room = nil
    trial = nil
  }

  private mutating func settle(_ needs: PictureNeeds) {
    if hostCount > 0 { common = level / hostCount }
    for source in 0..<64 { steps[source] = UInt8(common) }
    for place in 0..<needs.count {
      let step = needs[place].step(needs.step(place, at: level), takesLow: takesLow)
      let isThere = needs[place].rate(step, takesLow: takesLow) > 0
      steps[Int(needs[place].source & 63)] = isThere ? UInt8(step) : 0
    }
  }

  // MARK: - Trials

  /// More than the estimate promises is tried now and then.
  private mutating func look(
    _ available: Double, _ enough: Double, _ patience: Duration, now: Instant
  ) {
    guard var trial else {
      guard now >= changed + patience else { return }
      self.trial = Trial(
        rate: enough, begun: now, next: now + Self.trialStep, available: available)
      return
    }
    guard now >= trial.next else { return }
    // As long as the estimate grows it may grow further.
    guard available > trial.available * Self.trialGrowth, now < trial.begun + Self.longestTrial
    else { return failTrial(now: now) }
    trial.next = now + Self.trialStep
    trial.available = available
    self.trial = trial
  }

  private mutating func failTrial(now: Instant) {
    trial = nil
    changed = now
    hasFallen = false
    patience = min(patience * 2, Self.longestPatience)
  }

  /// Whether padding is to fill what pictures leave.
  var isTrying: Bool { trial != nil }

  // MARK: - Sources

  /// What of a source is for the member, 0..5.
  func step(of source: UInt8) -> Int { Int(steps[Int(source & 63)]) }

  /// Whether a member is to have a source's low stream, or has it until a key frame of the other.
  func needsLow(of source: UInt8) -> Bool {
    let step = step(of: source)
    return step > 0 && (step < PictureNeeds.usual || (onLow | ending) & Self.bit(source) != 0)
  }

  /// What a member gets at the most.
  var view: ChannelLowFrame.View {
    if level == 0, hostCount > 0 { return .audioOnly }
    guard hostCount > 0 else { return .usual }
    return level > (PictureNeeds.usual - 1) * hostCount ? .usual : .low
  }

  /// What waited was left out: only key frames help.
  mutating func awaitKeyFrames() {
    waitsForAll = true
    begun = 0
  }

  /// The stream of which a source's next key frame is missing; `nil` = of none.
  func streamLackingKeyFrame(of source: UInt8) -> UInt8? {
    let step = step(of: source)
    guard step > 0 else { return nil }
    let isLow = step < PictureNeeds.usual
    let isOther = isLow != (onLow & Self.bit(source) != 0)
    guard isOther || (waitsForAll && begun & Self.bit(source) == 0) else { return nil }
    return isLow ? 1 : 0
  }

  /// Whether a fragment is for the member. It gets another stream from a key frame on. The usual
  /// one ends at once where it is too much; the low one goes on beside that key frame.
  mutating func admits(_ header: VideoMediaFrame, of source: UInt8) -> Bool {
    let step = step(of: source)
    guard step > 0 else { return false }
    let (isLow, bit) = (header.stream == 1, Self.bit(source))
    let wantsLow = step < PictureNeeds.usual
    if isLow != (onLow & bit != 0) {
      if isLow, !wantsLow { return ending & bit != 0 }
      guard isLow == wantsLow, header.isKeyFrame else { return false }
      onLow ^= bit
      begun |= bit
      ending = isLow ? ending & ~bit : ending | bit
      return true
    }
    if !isLow, !header.isKeyFrame { ending &= ~bit }
    let layers = wantsLow ? step : isLow ? PictureNeeds.most : step - PictureNeeds.usual + 1
    guard isLow || !wantsLow, Int(header.temporalLayer) < layers else { return false }
    guard waitsForAll, begun & bit == 0 else { return true }
    guard header.isKeyFrame else { return false }
    begun |= bit
    return true
  }

  /// Sources are 1..64.
  private static func bit(_ source: UInt8) -> UInt64 { 1 << UInt64((source &- 1) & 63) }

  /// Before a step up.
  private static let pause = Duration.seconds(1)
  /// How much more than needed a line is to carry for that: hosts are told `Downlink.spared` of it.
  private static let spare = 1.1
  /// From one step down to the next: hosts that keep to this line are told what it carries.
  private static let overloadPause = Duration.milliseconds(500)
  private static let relapse = Duration.seconds(10)
  private static let firstPatience = Duration.seconds(6)
  private static let longestPatience = Duration.seconds(60)
  /// Guesses: an estimate that is filled grows by more in that time while the line has room.
  private static let trialStep = Duration.seconds(1)
  private static let trialGrowth = 1.05
  private static let longestTrial = Duration.seconds(20)
}
