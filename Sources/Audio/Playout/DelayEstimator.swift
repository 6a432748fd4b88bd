/// How long a packet must be held so that nearly all of those after it arrive in time.
///
/// Works on *transit*: arrival minus media time, whose origin is arbitrary but common to all
/// packets of a stream. The worst transit of each 200 ms is kept for 8 s; the target is the 95th
/// percentile of these worst ones, plus a margin. One spell of lateness, however deep, is one
/// sample, so that it neither pins the delay nor is remembered for longer than 8 s; a rise counts
/// from its first packet on. Because transit is absolute, a drifting sender's clock moves the
/// target along.
///
/// Compare libwebrtc's NetEQ: worst of 500 ms, buckets of 20 ms, a memory of half a minute.
struct DelayEstimator: Sendable {
  /// Transit at which a packet should be played, in nanoseconds.
  private(set) var targetTransit: Int64 = 0
  /// The least transit remembered, in nanoseconds: what the path does when it is at its best.
  private(set) var leastTransit: Int64 = 0

  private let startDelay: Int64
  private var worst = InlineArray<40, Int64>(repeating: 0)
  private var least = InlineArray<40, Int64>(repeating: 0)
  private var recorded = 0
  private var position = 0
  private var isFresh = true
  private var intervalEnd: Int64 = 0
  private var newestArrival: Int64 = 0
  private var currentWorst: Int64 = 0
  private var currentLeast: Int64 = 0
  private var firstTransit: Int64 = 0
  private var copyDistance: Int64 = 0
  private var copiesEnd = Int64.min

  /// - Parameter startDelay: how long to hold packets until arrivals have been measured, in
  ///   nanoseconds.
  init(startDelay: Int64) { self.startDelay = startDelay }

  /// Holds packets at least so long beyond their best for the next while that the copy which a
  /// following packet carries comes in time: called when a hole is seen that such a copy can fill.
  ///
  /// - Parameters:
  ///   - distance: from a packet to its copy, in nanoseconds.
  ///   - arrival: in nanoseconds.
  mutating func expectCopies(distance: Int64, arrival: Int64) {
    copyDistance = distance
    copiesEnd = arrival &+ Self.memoryOfLoss
  }

  /// How long a packet that took the least transit is held, in nanoseconds.
  var targetDelay: Int64 { targetTransit &- leastTransit }

  /// - Parameters:
  ///   - transit: arrival minus media time, in nanoseconds.
  ///   - arrival: in nanoseconds.
  mutating func record(transit: Int64, arrival: Int64) {
    if isFresh || arrival &- newestArrival > Self.memoryOfSilence {
      self = DelayEstimator(startDelay: startDelay)
      isFresh = false
      firstTransit = transit
      openInterval(transit, arrival)
    } else if arrival >= intervalEnd {
      worst[position] = currentWorst
      least[position] = currentLeast
      position = (position + 1) % worst.count
      recorded = min(recorded + 1, worst.count)
      openInterval(transit, arrival)
    } else {
      currentWorst = max(currentWorst, transit)
      currentLeast = min(currentLeast, transit)
    }
    newestArrival = max(newestArrival, arrival)
    settle()
  }

  private mutating func openInterval(_ transit: Int64, _ arrival: Int64) {
    intervalEnd = arrival &+ Self.interval
    newestArrival = arrival
    currentWorst = transit
    currentLeast = transit
  }

  /// The greatest of the worst, leaving out one of 20 and two of 40: the 95th percentile.
  private mutating func settle() {
    var first = currentWorst
    var second = Int64.min
    var third = Int64.min
    var lowest = currentLeast
    for index in 0..<recorded {
      let value = worst[index]
      if value > first {
        (first, second, third) = (value, first, second)
      } else if value > second {
        (second, third) = (value, second)
      } else if value > third {
        third = value
      }
      lowest = min(lowest, least[index])
    }
    let quantile = recorded >= 39 ? third : recorded >= 19 ? second : first
    targetTransit = quantile &+ Self.margin
    leastTransit = lowest
    if newestArrival < copiesEnd {
      targetTransit = max(targetTransit, lowest &+ copyDistance &+ Self.margin)
    }
    if recorded < Self.intervalsToTrust {
      targetTransit = max(targetTransit, firstTransit &+ startDelay)
    }
  }

  private static let interval: Int64 = 200_000_000
  /// After two seconds without a packet the path may be another.
  private static let memoryOfSilence: Int64 = 2_000_000_000
  /// Ten seconds without loss, and the delay may do without copies again.
  private static let memoryOfLoss: Int64 = 10_000_000_000
  /// Two seconds.
  private static let intervalsToTrust = 10
  /// One pull of 10 ms that may just have missed the packet, and 5 ms of a thread that wakes late.
  private static let margin: Int64 = 15_000_000
}
