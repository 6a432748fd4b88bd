import Primitives
import Wire

/// Which frames of late have come, and how: tells the first version of a frame from later ones,
/// counts what the path lost before anything repaired it, and what repaired it.
struct FrameLedger: Sendable {
  /// Frames whose fate is known, and of them those whose own packet did not come.
  var framesExpected: UInt64 {
    let all = framesJudged &+ framesLostInHoles
    return all - min(all, framesUnsent)
  }
  var framesLost: UInt64 {
    let all = framesLostSingly &+ framesLostInHoles
    return all - min(all, framesUnsent)
  }
  /// Of those that no hole took.
  private(set) var lossBursts: UInt64 = 0

  private struct Line: Sendable, BitwiseCopyable {
    /// Media time of the frame in steps of 10 ms.
    var step: Int64 = .min
    var hasAny = false
    var hasPrimary = false
    var loss = Loss.none
    var repair = Repair.none
  }

  /// Where a frame is counted as lost already.
  private enum Loss: UInt8 { case none, single, hole }

  /// What brought a frame in time in place of its own packet.
  enum Repair: UInt8 { case none, forwardErrorCorrection, retransmission }

  private let place = InPlace()
  private var lines = InlineArray<512, Line>(repeating: Line())
  /// The newest primary, and the first frame whose fate is open; in steps.
  private var newest = Int64.min
  private var open = Int64.min
  private var lengthInUse: Int64 = 0
  private var burst = 0
  private var longest = InlineArray<2, Int>(repeating: 0)
  private var epoch: Int64 = .min
  /// Own packets that came; frames judged one by one, those of them that are lost, and those lost
  /// in holes.
  private var framesReceived: UInt64 = 0
  private var framesJudged: UInt64 = 0
  private var framesLostSingly: UInt64 = 0
  private var framesLostInHoles: UInt64 = 0
  /// Of the lost, those that the sender left out; and those that it has told of before the frame
  /// that ends their gap.
  private var framesUnsent: UInt64 = 0
  private var framesUnsentAhead: UInt64 = 0
  /// Of the lost, by what repaired them.
  private var repaired = (byFec: UInt64(0), byRetransmission: UInt64(0))

  /// The longest run of lost frames of the last five to ten seconds.
  var longestBurst: Int { max(longest[0], longest[1]) }

  /// Of the frames whose fate is known, those that nothing brought in time.
  var framesUnrepaired: UInt64 {
    let repairs = repaired.byFec &+ repaired.byRetransmission
    return framesLost - min(framesLost, repairs)
  }

  /// All frames from the first to the newest. Those that newer ones have overtaken so far count as
  /// lost at once, as in RFC 3550 A.3.
  var fates: PacketFates {
    var fates = missing
    fates.received = framesReceived
    fates.remove(unsent: framesUnsent)
    return fates
  }

  /// What did not come, whether it was sent or not.
  private var missing: PacketFates {
    var fates = PacketFates()
    fates.lost = framesLostSingly &+ framesLostInHoles
    fates.recoveredByFec = repaired.byFec
    fates.recoveredByRetransmission = repaired.byRetransmission
    guard newest != .min, lengthInUse > 0 else { return fates }
    var step = open
    while step < newest {
      let line = lines[Self.index(step)]
      let isKnown = line.step == step
      if !isKnown || !line.hasPrimary {
        fates.lost &+= 1
        let repair = isKnown ? line.repair : .none
        if repair == .forwardErrorCorrection { fates.recoveredByFec &+= 1 }
        if repair == .retransmission { fates.recoveredByRetransmission &+= 1 }
      }
      step &+= lengthInUse
    }
    return fates
  }

  /// - Parameters:
  ///   - step: media time in steps of 10 ms.
  ///   - frameSteps: length of the frame in steps, at least 1.
  ///   - isPrimary: whether it came in its own packet.
  ///   - isMarked: whether what lies before it was never sent.
  ///   - arrival: in nanoseconds.
  /// - Returns: whether it is the first version of its frame.
  mutating func recordArrival(
    step: Int64, frameSteps: Int64, isPrimary: Bool, isMarked: Bool, arrival: Int64
  ) -> Bool {
    turnPage(arrival)
    let index = Self.index(step)
    if lines[index].step > step { return false }  // older than the ledger
    open(index, step)
    let isFirst = !lines[index].hasAny
    lines[index].hasAny = true
    guard isPrimary, !lines[index].hasPrimary else { return isFirst }
    lines[index].hasPrimary = true
    framesReceived &+= 1
    takeBackLoss(index)
    guard step > newest else { return isFirst }
    let lostBefore = framesUnsentAhead == 0 ? 0 : missing.lost
    advance(to: step, frameSteps, isMarked)
    if framesUnsentAhead > 0 { settleUnsent(lostBefore) }
    return isFirst
  }

  /// The sender has left out so many frames before the next one that comes.
  mutating func noteUnsent(_ count: UInt64) {
    framesUnsentAhead = min(framesUnsentAhead &+ min(count, Self.mostUnsent), Self.mostUnsent)
  }

  /// Whether it has said so of a frame that has not come.
  var hasUnsentAhead: Bool { framesUnsentAhead > 0 }

  /// Of the gap that has just ended. More than are missing there lay in a pause. The sender's
  /// number has 16 bits: as many wraps as the gap has room for.
  private mutating func settleUnsent(_ lostBefore: UInt64) {
    let lost = missing.lost
    let gap = lost - min(lost, lostBefore)
    if gap > framesUnsentAhead {
      framesUnsentAhead += (gap - framesUnsentAhead) / Self.unsentWrap * Self.unsentWrap
    }
    framesUnsent &+= min(framesUnsentAhead, gap)
    framesUnsentAhead = 0
  }

  /// Something in place of the frame's own packet is there in time.
  mutating func noteRepair(step: Int64, _ repair: Repair) {
    let index = Self.index(step)
    open(index, step)
    guard lines[index].step == step, lines[index].repair == .none else { return }
    lines[index].repair = repair
    if lines[index].loss != .none { countRepair(repair) }
  }

  /// What was there in time is thrown away unheard.
  mutating func forgetRepair(step: Int64) {
    let index = Self.index(step)
    guard lines[index].step == step else { return }
    if lines[index].loss != .none { uncountRepair(lines[index].repair) }
    lines[index].repair = .none
  }

  /// The sender begins a new time line; the counts go on.
  mutating func restart() {
    settle()
    lines = InlineArray(repeating: Line())
    (newest, open) = (.min, .min)
    burst = 0
  }

  private mutating func advance(to step: Int64, _ frameSteps: Int64, _ isMarked: Bool) {
    let isFar = newest == .min || step &- newest > Self.reach
    let isNew = isFar || frameSteps != lengthInUse || (isMarked && step &- newest > frameSteps)
    if isNew {
      closeGap(before: step, frameSteps, isMarked, isFar: isFar)
      open = step
    }
    lengthInUse = frameSteps
    newest = step
    while newest &- open >= Self.patience * frameSteps {
      judge(open)
      open &+= frameSteps
    }
  }

  /// Whatever is open is decided, and what lies between the newest frame and the one at `step` is
  /// lost unless it was never sent.
  private mutating func closeGap(
    before step: Int64, _ frameSteps: Int64, _ isMarked: Bool, isFar: Bool
  ) {
    guard newest != .min else { return }
    settle()
    let count = AudioGap.framesMissing(
      step: step &- newest, before: lengthInUse, after: frameSteps, isMarked: isMarked)
    guard count > 0 else { return }
    let length = max(lengthInUse, frameSteps)
    let first = newest &+ lengthInUse
    // Copies reach back no further.
    let kept = min(count, Self.repairable)
    framesLostInHoles &+= UInt64(count - kept)
    for number in (count - kept)..<count {
      let missing = first &+ number &* length
      if isFar { lose(missing, .hole) } else { judge(missing) }
    }
  }

  /// Decides what is open, as there will be no newer frames of that length to wait for.
  private mutating func settle() {
    guard newest != .min, lengthInUse > 0 else { return }
    while open <= newest {
      judge(open)
      open &+= lengthInUse
    }
  }

  private mutating func judge(_ step: Int64) {
    framesJudged &+= 1
    let index = Self.index(step)
    if lines[index].step == step, lines[index].hasPrimary {
      burst = 0
      return
    }
    lose(step, .single)
    if burst == 0 { lossBursts &+= 1 }
    burst += 1
    longest[0] = max(longest[0], burst)
  }

  private mutating func lose(_ step: Int64, _ loss: Loss) {
    let index = Self.index(step)
    open(index, step)
    if loss == .hole { framesLostInHoles &+= 1 } else { framesLostSingly &+= 1 }
    guard lines[index].step == step else { return }
    lines[index].loss = loss
    countRepair(lines[index].repair)
  }

  /// What was given up has come after all.
  private mutating func takeBackLoss(_ index: Int) {
    switch lines[index].loss {
    case .none: return
    case .single: framesLostSingly -= min(framesLostSingly, 1)
    case .hole: framesLostInHoles -= min(framesLostInHoles, 1)
    }
    uncountRepair(lines[index].repair)
    lines[index].loss = .none
  }

  private mutating func countRepair(_ repair: Repair) {
    switch repair {
    case .none: break
    case .forwardErrorCorrection: repaired.byFec &+= 1
    case .retransmission: repaired.byRetransmission &+= 1
    }
  }

  private mutating func uncountRepair(_ repair: Repair) {
    switch repair {
    case .none: break
    case .forwardErrorCorrection: repaired.byFec -= min(repaired.byFec, 1)
    case .retransmission: repaired.byRetransmission -= min(repaired.byRetransmission, 1)
    }
  }

  /// Makes the line of `index` that of `step`, unless a later frame has it.
  private mutating func open(_ index: Int, _ step: Int64) {
    guard lines[index].step < step else { return }
    lines[index] = Line()
    lines[index].step = step
  }

  private mutating func turnPage(_ arrival: Int64) {
    let now = arrival / Self.pageLength
    guard now > epoch else { return }
    longest[1] = now == epoch &+ 1 ? longest[0] : 0
    longest[0] = 0
    epoch = now
  }

  private static func index(_ step: Int64) -> Int { Int(UInt64(bitPattern: step) & 511) }

  /// Frames that a packet may be overtaken by before it counts as lost.
  private static let patience: Int64 = 4
  /// 2.5 s: a longer hole is an outage of its own, or a pause that nobody marked. It counts as lost
  /// but in no burst, as redundancy does not help against it.
  private static let reach: Int64 = 250
  /// Frames before a hole's end that a copy may still bring.
  private static let repairable: Int64 = 16
  private static let pageLength: Int64 = 5_000_000_000
  /// What one 16-bit count can say.
  private static let mostUnsent: UInt64 = 65_535
  private static let unsentWrap: UInt64 = 65_536
}
