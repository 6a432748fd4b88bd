/// How the delay stands to its target, and for how long: moves it by splices and cuts at the head
/// of the queue, where they will not be heard.
struct DelayBalance: Sendable {
  /// What a change of the delay rests on beside the queue.
  struct Measures {
    /// How much later than its target the newest packet is needed, in nanoseconds.
    var excess: Int64
    /// What is gained on top when it is needed a pull earlier or later, in nanoseconds.
    var gainByOne: Int64
    /// The delay aimed at, in nanoseconds.
    var target: Int64
    /// Samples that waited before it was decoded, and those decoded.
    var leftover: Int
    var decoded: Int
    /// Whether what was decoded is a pause, and up to which mean square sound is one.
    var isPassive: Bool
    var pauseThreshold: Float
    /// Whether it follows something made up.
    var isMerge: Bool
    /// Whether some of the delay is for stalls, and whether one is near.
    var isInsuring: Bool
    var isStallNear: Bool
  }

  /// Delay that could be given back, in samples.
  private(set) var surplus = 0
  /// How long the pause that was decoded last has lasted, in samples; 0 in speech.
  private(set) var passiveRun = 0
  /// The same of the pause that is heard.
  private var passiveBefore = 0
  /// For how many packets there has been some surplus.
  private var hasteSince = 0
  /// For how long there has been less delay than wanted, in samples.
  private var shortage = 0
  private var pullsSinceSplice = 0
  private let policy = StretchPolicy()

  mutating func countPull() { pullsSinceSplice = min(pullsSinceSplice + 1, Self.pullsUntilCalm) }

  /// - Parameter isQuiet: whether the 5 ms that are heard next are a pause.
  mutating func countHeard(isQuiet: Bool) {
    passiveBefore = isQuiet ? min(passiveBefore + AudioFormat.pullSampleCount, 1 << 40) : 0
  }

  /// The delay was changed by something else.
  mutating func countSplice() { pullsSinceSplice = 0 }

  /// Moves the delay towards its target; `nil` where it stays.
  mutating func adjust(
    _ queue: inout SampleQueue, _ now: Measures, _ statistics: inout PlayoutStatistics
  ) -> PlayoutOperation? {
    var situation = situation(now)
    situation.isMerge = now.isMerge
    passiveRun = now.isPassive ? min(passiveRun + now.decoded, 1 << 40) : 0
    if surplus > 0, let length = cutPause(&queue, now, excess: situation.excess) {
      statistics.removedSamplesForAcceleration += UInt64(length)
      return .accelerate
    }
    situation.isPassive = now.isPassive
    guard let wish = policy.decide(situation) else { return nil }
    pullsSinceSplice = 0
    guard
      let splice = TimeStretch.bestSplice(
        in: queue, wish.direction, shortest: wish.shortest, longest: wish.longest),
      splice.correlation >= wish.leastCorrelation ?? -1
    else { return nil }
    queue.splice(jump: splice.jump, overlap: splice.overlap)
    if splice.jump > 0 {
      statistics.removedSamplesForAcceleration += UInt64(splice.jump)
      surplus = max(0, surplus - splice.jump)
      return .accelerate
    }
    let inserted = Self.lengthen(&queue, splice, wanted: now.isPassive ? -situation.excess : 0)
    statistics.insertedSamplesForDeceleration += UInt64(inserted)
    return .preemptiveExpand
  }

  /// A pause may be over with the next packet: what is wanted more is put in at once.
  ///
  /// - Returns: samples put in, those of `splice` included.
  private static func lengthen(
    _ queue: inout SampleQueue, _ splice: TimeStretch.Splice, wanted: Int
  ) -> Int {
    let length = -splice.jump
    var inserted = length
    while inserted + length <= min(wanted, mostPauseAtOnce), queue.hasRoom {
      queue.splice(jump: splice.jump, overlap: splice.overlap)
      inserted += length
    }
    return inserted
  }

  private mutating func situation(_ now: Measures) -> StretchSituation {
    var situation = StretchSituation()
    situation.excess = Int(clamping: AudioFormat.samples(nanoseconds: now.excess))
    situation.gainByOne = Int(clamping: AudioFormat.samples(nanoseconds: now.gainByOne))
    situation.leftover = now.leftover % AudioFormat.pullSampleCount
    situation.passiveRun = passiveRun
    situation.pullsSinceLast = pullsSinceSplice
    situation.mayWait = now.isInsuring
    situation.target = Int(clamping: AudioFormat.samples(nanoseconds: now.target))
    surplus = now.isStallNear ? 0 : policy.surplus(situation)
    hasteSince = surplus >= StretchPolicy.noticeable ? min(hasteSince + 1, 1 << 40) : 0
    situation.haste = hasteSince * now.decoded
    shortage = policy.isShort(situation) ? min(shortage + now.decoded, 1 << 40) : 0
    situation.shortage = shortage
    return situation
  }

  /// How much of the surplus to cut from a pause. Where a path keeps time, a pull or little more is
  /// cut in halves, the second once the delay has grown again, or a quarter of a minute later: so a
  /// clock that drifts moves the delay by little more than a pull.
  private func cuttable(_ now: Measures, excess: Int) -> Int {
    let step = AudioFormat.pullSampleCount
    let isCalm = now.target < AudioFormat.pullNanoseconds
    guard isCalm, surplus < 2 * step else { return surplus }
    let isDue = pullsSinceSplice >= (excess >= step / 2 ? Self.pullsBetween : Self.pullsUntilCalm)
    return isDue ? min(surplus, step / 2) : 0
  }

  /// Shortens a pause, if one is in sight.
  ///
  /// - Returns: by how many samples.
  private mutating func cutPause(
    _ queue: inout SampleQueue, _ now: Measures, excess: Int
  ) -> Int? {
    guard surplus >= StretchPolicy.worthwhile,
      let pause = Pause.longest(in: queue, threshold: now.pauseThreshold)
    else { return nil }
    // What was heard of the pause before counts to its length.
    let before = pause.start == 0 ? passiveBefore : 0
    let length = policy.cut(
      pause: pause.count, before: before, surplus: cuttable(now, excess: excess),
      mayWait: now.isInsuring)
    guard length > 0 else { return nil }
    let overlap = min(480, (pause.count - length) / 2)
    queue.cut(length, at: pause.start + (pause.count - length - overlap) / 2, overlap: overlap)
    surplus -= length
    pullsSinceSplice = 0
    return length
  }

  /// 60 ms.
  private static let mostPauseAtOnce = 2880
  /// Five seconds, and fifteen: no longer one is counted.
  private static let pullsBetween = 1000
  private static let pullsUntilCalm = 3000
}
