/// Notices when nothing comes for a while and then all of it at once (a radio that scans, a host
/// that is busy), and whether that has a rhythm.
///
/// One stall that a conversation can afford to wait for is insured against for some seconds; a
/// longer one is a mishap that is not paid for twice. From the second on, the delay that would have
/// hidden the stall is wanted where the next is due, and a part of it all the time. The whole is
/// not asked for while more than half of what was said has been heard so late. Stalls that come
/// when none is due have no rhythm: the whole is held until none has come for long.
struct PeriodicStallDetector: Sendable {
  /// When the last stall began, in nanoseconds; `.min` where none is remembered.
  private var last: Int64 = .min
  /// From the one before the last to the last; 0 while that one is alone.
  private var interval: Int64 = 0
  /// How late the last stalls made what they held up.
  private var depth: Int64 = 0
  /// Whether the last one came when none was due.
  private var hasNoRhythm = false
  /// The mean of the intervals, of which the last counts for a quarter.
  private var usualInterval: Int64 = 0
  /// Whether none came for so long that no more is expected.
  private var isOver = true
  private var lastArrival: Int64 = .min
  /// When the burst arrived that ended the last stall.
  private var thaw: Int64 = .min
  /// What was said since the first stall of a rhythm, and how much of it was heard later than what
  /// is held all the time, in samples.
  private var said: Int64 = 0
  private var saidLate: Int64 = 0

  /// Whether stalls are insured against.
  var isInsuring: Bool { !isOver && (interval > 0 || depth <= Self.affordable) }

  /// Takes a packet.
  ///
  /// - Parameters:
  ///   - lateness: in nanoseconds, as the others.
  ///   - usual: what nine in ten packets of late do not exceed.
  ///   - arrival: in nanoseconds.
  /// - Returns: whether a stall is why it is late.
  mutating func record(lateness: Int64, usual: Int64, arrival: Int64) -> Bool {
    let gap = lastArrival == .min ? 0 : arrival &- lastArrival
    lastArrival = max(lastArrival, arrival)
    let age = last == .min ? .max : arrival &- last
    isOver = age > patience
    if age > Self.mostPatience { last = .min }
    if lateness >= max(Self.shortest, 4 &* usual), gap >= Self.shortest {
      recordStall(lateness, began: arrival &- lateness)
      thaw = arrival
      return true
    }
    return thaw != .min && arrival &- thaw <= Self.burst && lateness > usual
  }

  /// Takes what was heard, without pauses.
  ///
  /// - Parameters:
  ///   - delay: how long it would have waited on the fastest way, in nanoseconds.
  ///   - count: in samples.
  mutating func noteSaid(delay: Int64, count: Int) {
    said = min(said &+ Int64(count), 1 << 40)
    if delay > Self.always + Self.notable { saidLate = min(saidLate &+ Int64(count), 1 << 40) }
  }

  private var isOftenLate: Bool { 2 * saidLate > said }

  private mutating func recordStall(_ lateness: Int64, began: Int64) {
    let before = interval
    interval = last == .min ? 0 : max(began &- last, 1)
    hasNoRhythm = before > 0 && interval > 0 && abs(interval &- before) > before / Self.evenness
    usualInterval = before == 0 ? interval : (3 &* usualInterval &+ interval) / 4
    if isOver { (said, saidLate) = (0, 0) }
    isOver = false
    depth = last == .min ? lateness : max(lateness, depth / 4 * 3)
    last = began
  }

  /// The delay to hold, in nanoseconds; 0 for none.
  func delay(at now: Int64) -> Int64 {
    guard isInsuring else { return 0 }
    let age = now &- last
    guard age <= patience else { return 0 }
    let always = min(depth, Self.always)
    let whole = min(depth, Self.affordable)
    if interval == 0 { return always }
    if interval <= Self.frequent || hasNoRhythm { return whole }
    return !isOftenLate && isDue(at: now, within: Self.lead) ? whole : always
  }

  /// Whether the next stall is so near that the delay is not given back before it.
  func isNear(at now: Int64) -> Bool {
    guard isInsuring, interval > Self.frequent, !hasNoRhythm, !isOftenLate else { return false }
    return isDue(at: now, within: Self.keeping)
  }

  private func isDue(at now: Int64, within lead: Int64) -> Bool {
    let age = now &- last
    return age >= interval &- min(lead, interval / 2) && age <= interval &+ interval / Self.evenness
  }

  /// How long after a stall another one is waited for. Where they have no rhythm a short interval
  /// says little of the next: of pauses at random one in twelve is longer than two and a half of
  /// their mean.
  private var patience: Int64 {
    if interval == 0 { return Self.alone }
    let usual = hasNoRhythm ? max(usualInterval, interval) : interval
    return min(max(usual / 2 * 5, Self.leastPatience), Self.mostPatience)
  }

  /// 100 ms.
  private static let shortest: Int64 = 100_000_000
  /// 320 ms.
  private static let affordable: Int64 = 320_000_000
  /// 182 ms: of what is missing to a stall, the last 20 ms cost as much as the 80 before.
  private static let always: Int64 = 182_000_000
  /// 3 s.
  private static let frequent: Int64 = 3_000_000_000
  /// 1.5 s.
  private static let lead: Int64 = 1_500_000_000
  /// 2.5 s.
  private static let keeping: Int64 = 2_500_000_000
  /// 25 ms.
  private static let notable: Int64 = 25_000_000
  /// 7 s, 3 s and 20 s.
  private static let alone: Int64 = 7_000_000_000
  private static let leastPatience: Int64 = 3_000_000_000
  private static let mostPatience: Int64 = 20_000_000_000
  /// An eighth of an interval: what is further off has another rhythm, or none.
  private static let evenness: Int64 = 8
  /// 30 ms.
  private static let burst: Int64 = 30_000_000
}
