/// How long a packet must be held so that nearly all of those after it arrive in time.
///
/// Works on *transit*: arrival minus media time, whose origin is arbitrary but common to all
/// packets of a stream. The delay is counted from the least transit of late (`TransitFloor`); it is
/// the least that would have been enough for the frames of the last twenty seconds
/// (`LatenessHistory`), without those whose spell is over (`LatenessSpells`), and no less than what
/// their tail lets expect.
///
/// Compare libwebrtc's NetEQ: worst of 500 ms, buckets of 20 ms, a memory of half a minute, and
/// redundancy that counts as reordering.
struct DelayEstimator: Sendable {
  /// How long a packet that took the least transit is held, in nanoseconds.
  private(set) var targetDelay: Int64 = 0
  /// Least delay to hold, in nanoseconds: what a retransmission takes, while one is wanted.
  var repairDelay: Int64 = 0

  /// What the delay is kept within, in nanoseconds.
  var range: ClosedRange<Int64> = 0...1_000_000_000

  private var floor = TransitFloor()
  /// Of the last two minutes: what is above it is a queue, or a longer path.
  private var base = TransitFloor(blockLength: Self.baseBlock)
  private var history = LatenessHistory()
  /// Of primaries alone: what the path does, of the last forty seconds and of the last four.
  private var path = LatenessHistory()
  private var recent = LatenessHistory()
  private var spells = LatenessSpells()
  private var stalls = PeriodicStallDetector()
  /// When a frame came first in another packet than its own, and whether that was of late.
  private var lastRepair: Int64 = .min
  private var isRepairing = false

  /// The least transit remembered, in nanoseconds: what the path does when it is at its best.
  var leastTransit: Int64 { floor.value }
  /// How much more the path takes at its best now than in the last two minutes, in nanoseconds: a
  /// queue that stands.
  var pathRise: Int64 { max(0, floor.value &- base.value) }
  /// Transit at which a packet should be played, in nanoseconds.
  var targetTransit: Int64 { floor.value &+ targetDelay }
  /// Whether less is held than what brings lost frames back takes, where a packet is needed by
  /// `excess` nanoseconds later than its target.
  func isShortOfRepair(excess: Int64) -> Bool {
    excess &+ targetDelay &+ AudioFormat.pullNanoseconds < repairDelay
  }
  /// Whether some of the delay is for stalls, and may be had when it costs nothing.
  var isInsuring: Bool { stalls.isInsuring }
  /// Whether more delay than wanted is kept for a stall that is near, `now` in nanoseconds.
  func isStallNear(at now: Int64) -> Bool { stalls.isNear(at: now) }
  /// Takes how long what was said and heard had been held, in nanoseconds, and its samples.
  mutating func noteSaid(delay: Int64, count: Int) { stalls.noteSaid(delay: delay, count: count) }
  /// Lateness that one in twenty frames exceeds, in nanoseconds.
  var usualLateness: Int64 { Int64(history.quantile(0.95)) * Self.step }

  /// Takes the first version of a frame.
  ///
  /// - Parameters:
  ///   - transit: arrival minus media time, in nanoseconds.
  ///   - arrival: in nanoseconds.
  ///   - delayInside: how much later than its arrival it could be used, in nanoseconds.
  ///   - isPrimary: whether the path alone decided when it came.
  ///   - frame: length of a frame in nanoseconds.
  mutating func record(
    transit: Int64, arrival: Int64, delayInside: Int64, isPrimary: Bool, frame: Int64
  ) {
    if isPrimary {
      floor.record(transit: transit, arrival: arrival)
      base.record(transit: transit, arrival: arrival)
    } else {
      lastRepair = arrival
    }
    isRepairing = lastRepair != .min && arrival &- lastRepair <= Self.repairMemory
    let lateness = transit &- floor.value &+ delayInside
    let level = Int(min(max(lateness, 0) / Self.step, 255))
    let frame = max(frame, AudioFormat.stepNanoseconds / 4)
    let usual = Int64(recent.quantile(0.9)) * Self.step
    let isHeldUp = stalls.record(lateness: lateness, usual: usual, arrival: arrival)
    if !isHeldUp {
      history.record(level, limit: Int(Self.memory / frame))
      spells.record(lateness: lateness, time: arrival)
    }
    if isPrimary, !isHeldUp {
      path.record(level, limit: Int(Self.longMemory / frame))
      recent.record(level, limit: Self.recentFrames)
    }
    if let calm = spells.takeExpired(time: arrival) {
      history.forget(above: Int(calm / Self.step))
      // Its tail goes with the distribution, not before.
      if Int(calm / Self.step) <= path.quantile(0.8) { path.forget(above: Int(calm / Self.step)) }
      recent.forget(above: Int(calm / Self.step))
    }
    let steps = Int(frame / Self.step)
    let sufficient = max(
      history.sufficientDelay(frameSteps: steps), foreseen(frameSteps: steps))
    let wanted = max(Int64(sufficient) * Self.step, repairDelay, stalls.delay(at: arrival))
    targetDelay = min(max(wanted, held(frame), range.lowerBound), range.upperBound)
  }

  /// A delay of less than a pull falls slowly: to and fro it would cost a pull each time.
  private func held(_ frame: Int64) -> Int64 {
    targetDelay < AudioFormat.pullNanoseconds ? targetDelay &- frame / Self.slowness : 0
  }

  /// What the path alone lets expect, in steps: the tail of the last forty seconds, or that of the
  /// last four where it has become much longer.
  private func foreseen(frameSteps: Int) -> Int {
    let rarity = isRepairing ? Self.rarityInRepair : nil
    let usual = path.expectedExtreme(
      sparing: 0.07, rarity: rarity, frameSteps: frameSteps)
    let latest = recent.expectedExtreme(
      sparing: 0.2, rarity: rarity, frameSteps: frameSteps)
    return latest > usual / 2 * 3 + Self.notable ? latest : usual
  }

  /// Of eight, 16 s in nanoseconds: in two minutes clocks 50 ppm apart are 6 ms apart.
  private static let baseBlock: Int64 = 16_000_000_000
  private static let recentFrames = 200
  /// 0.1 ms a second.
  private static let slowness: Int64 = 10_000
  /// One frame in 220: where frames are lost, what brings them back is later than they.
  private static let rarityInRepair = 220.0
  /// 4 s.
  private static let repairMemory: Int64 = 4_000_000_000
  /// 4 ms.
  private static let notable = 2
  /// Forty seconds, and twenty.
  private static let longMemory: Int64 = 40_000_000_000
  private static let memory: Int64 = 20_000_000_000
  private static let step: Int64 = 2_000_000
}
