/// The receiver's own clock: 10 ms a pull, and slowly led by the time at which pulls happen.
///
/// A thread that wakes late, or pulls twice every 20 ms, moves no playout; a device whose clock
/// drifts does, at the pace at which it drifts.
struct PlayoutClock: Sendable {
  /// When the samples about to be given begin to sound, in nanoseconds.
  private(set) var time: Int64 = 0
  /// How much earlier than even pulls would come, one of the last five seconds came, in
  /// nanoseconds: a packet must be there by so much earlier.
  private(set) var earliness: Int64 = 0
  private var runs = false
  private var pulls: Int64 = 0
  private var earliest = InlineArray<8, Int64>(repeating: 0)

  /// Counts one pull that happens at `now` (nanoseconds).
  mutating func tick(now: Int64) {
    guard runs else {
      runs = true
      time = now
      return
    }
    time &+= AudioFormat.stepNanoseconds
    let error = now &- time
    if abs(error) > Self.maxError {
      time = now
      pulls = 0
      return
    }
    time &+= error / min(Self.gain, 8 + pulls / 2)
    pulls = min(pulls + 1, 1 << 40)
    noteEarliness(max(0, time &- now))
  }

  private mutating func noteEarliness(_ value: Int64) {
    let index = Int(pulls / Self.pullsInBlock % Int64(earliest.count))
    if pulls % Self.pullsInBlock == 0 { earliest[index] = 0 }
    earliest[index] = max(earliest[index], value)
    var most: Int64 = 0
    for block in earliest.indices { most = max(most, earliest[block]) }
    earliness = min(most, Self.maxEarliness)
  }

  /// A quarter of a minute until an offset is gone: slow against wake-ups, fast against drift.
  private static let gain: Int64 = 256
  /// Beyond half a second the puller has not been late but away.
  private static let maxError: Int64 = 500_000_000
  private static let pullsInBlock: Int64 = 64
  /// 20 ms: a puller that catches up on more than that has stalled, which is no habit.
  private static let maxEarliness: Int64 = 20_000_000
}
