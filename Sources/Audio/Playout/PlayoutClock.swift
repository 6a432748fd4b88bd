/// The receiver's own clock: 5 ms a pull, and slowly led by the time at which pulls happen.
///
/// A thread that wakes late, or pulls twice every 10 ms, moves no playout; a device whose clock
/// drifts does, at the pace at which it drifts.
struct PlayoutClock: Sendable {
  /// When the samples about to be given begin to sound, in nanoseconds.
  private(set) var time: Int64 = 0
  /// Whether the last pull was the second of two.
  private(set) var isOdd = false
  /// How much earlier than even pulls would come, one of the last five seconds came, in
  /// nanoseconds: a packet must be there by so much earlier. Of pulls in pairs each first one is
  /// always late, and each second one early; so they are told apart, and may be negative.
  private var earliness = InlineArray<2, Int64>(repeating: 0)
  private var runs = false
  private var pulls: Int64 = 0
  private var earliest = InlineArray<16, Int64>(repeating: .min)

  /// Counts one pull that happens at `now` (nanoseconds).
  mutating func tick(now: Int64) {
    guard runs else {
      runs = true
      time = now
      return
    }
    time &+= AudioFormat.pullNanoseconds
    let error = now &- time
    if abs(error) > Self.maxError {
      time = now
      pulls = 0
      return
    }
    correct(by: error / min(Self.gain, 16 + pulls / 2))
    pulls = min(pulls + 1, 1 << 40)
    isOdd.toggle()
    noteEarliness(time &- now)
  }

  /// How early the pull may come that is `ahead` after the last one.
  func earliness(ahead: Int) -> Int64 { earliness[(isOdd ? 1 : 0) ^ (ahead & 1)] }

  /// How early any pull may come: even sound is then at least so much later.
  var mostEarliness: Int64 { max(0, earliness[0], earliness[1]) }

  /// What was noted before is as much earlier against the time that is now known better.
  private mutating func correct(by change: Int64) {
    time &+= change
    guard pulls < Self.pullsToSettle else { return }
    for index in earliest.indices where earliest[index] != .min { earliest[index] &+= change }
  }

  private mutating func noteEarliness(_ value: Int64) {
    let parity = isOdd ? 1 : 0
    let block = Int(pulls / Self.pullsInBlock % 8)
    if pulls % Self.pullsInBlock < 2 { earliest[2 * block + parity] = .min }
    earliest[2 * block + parity] = max(earliest[2 * block + parity], value)
    var most = Int64.min
    for block in 0..<8 { most = max(most, earliest[2 * block + parity]) }
    earliness[parity] = min(most, Self.maxEarliness)
  }

  /// A quarter of a minute until an offset is gone: slow against wake-ups, fast against drift.
  private static let gain: Int64 = 512
  /// Beyond half a second the puller has not been late but away.
  private static let maxError: Int64 = 500_000_000
  private static let pullsInBlock: Int64 = 128
  /// Five seconds: after that, what changes is a clock that drifts.
  private static let pullsToSettle: Int64 = 1024
  /// 20 ms: a puller that catches up on more than that has stalled, which is no habit.
  private static let maxEarliness: Int64 = 20_000_000
}
