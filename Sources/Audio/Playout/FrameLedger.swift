/// Which frames of late have come, and how: tells the first version of a frame from later ones, and
/// counts what the path lost before anything repaired it.
struct FrameLedger: Sendable {
  private(set) var framesExpected: UInt64 = 0
  private(set) var framesLost: UInt64 = 0
  private(set) var lossBursts: UInt64 = 0

  private struct Line: Sendable, BitwiseCopyable {
    /// Media time of the frame in steps of 10 ms.
    var step: Int64 = .min
    var hasAny = false
    var hasPrimary = false
    /// Counted as lost already.
    var isLost = false
  }

  private var lines = InlineArray<512, Line>(repeating: Line())
  /// The newest primary, and the first frame whose fate is open; in steps.
  private var newest = Int64.min
  private var open = Int64.min
  private var lengthInUse: Int64 = 0
  private var burst = 0
  private var longest = InlineArray<2, Int>(repeating: 0)
  private var epoch: Int64 = .min

  /// The longest run of lost frames of the last five to ten seconds.
  var longestBurst: Int { max(longest[0], longest[1]) }

  /// - Parameters:
  ///   - step: media time in steps of 10 ms.
  ///   - frameSteps: length of the frame in steps, at least 1.
  ///   - isPrimary: whether it came in its own packet.
  ///   - isMarked: whether what lies before it was never sent.
  ///   - arrival: in nanoseconds.
  /// - Returns: whether it is the first version of its frame.
  mutating func note(
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
    if lines[index].isLost {
      lines[index].isLost = false
      framesLost -= min(framesLost, 1)
    }
    advance(to: step, frameSteps, isMarked)
    return isFirst
  }

  /// The sender begins a new time line; the counts go on.
  mutating func restart() {
    lines = InlineArray(repeating: Line())
    (newest, open) = (.min, .min)
    burst = 0
  }

  private mutating func advance(to step: Int64, _ frameSteps: Int64, _ isMarked: Bool) {
    guard step > newest else { return }
    let isFar = newest == .min || step &- newest > Self.reach
    let isNew = isFar || frameSteps != lengthInUse || (isMarked && step &- newest > frameSteps)
    if isNew { open = step }
    lengthInUse = frameSteps
    newest = step
    while newest &- open >= Self.patience * frameSteps {
      judge(open)
      open &+= frameSteps
    }
  }

  private mutating func judge(_ step: Int64) {
    framesExpected &+= 1
    let index = Self.index(step)
    if lines[index].step == step, lines[index].hasPrimary {
      burst = 0
      return
    }
    open(index, step)
    if lines[index].step == step { lines[index].isLost = true }
    framesLost &+= 1
    if burst == 0 { lossBursts &+= 1 }
    burst += 1
    longest[0] = max(longest[0], burst)
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
  /// 2.5 s: a longer hole is an outage of its own, or a pause that nobody marked.
  private static let reach: Int64 = 250
  private static let pageLength: Int64 = 5_000_000_000
}
