import Primitives

/// The window of RFC 9438 (CUBIC), in packets of 1500 bytes.
package struct CubicWindow: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// Window after a loss, × window: β of RFC 9438.
    package var beta = 0.7
    /// C of RFC 9438.
    package var scale = 0.4
    /// Reno-friendly growth, packets per round trip: 3 (1 − β) / (1 + β), RFC 9438.
    package var friendlyGrowth = 0.53
    /// Growth before the first loss, per round trip. Tuned.
    package var searchGrowth = 0.5
    /// No target above window and this × window: RFC 9438.
    package var mostStep = 0.5
    /// First window at least, packets. Tuned.
    package var leastFirst = 4.0
    /// Window at least, packets: RFC 9438.
    package var least = 2.0
    /// Those count for no more than this, bit/s a packet. Tuned: with a short round trip a few
    /// packets are more than a slow path carries.
    package var leastRate = 25_000.0
    /// Shortest round trip that a rate is made of, s. Tuned.
    package var shortestRoundTrip = 0.01

    package init() {}
  }

  private static let packetBits = 12_000.0
  private let constants: Constants
  private(set) var packets = 4.0
  private var atLoss = 0.0
  private var friendly = 0.0
  private var epoch: Instant?
  private var origin = 0.0
  private var lastReduction = Instant.zero
  /// Until the first loss.
  private(set) var isSearching = true

  init(_ constants: Constants = Constants()) { self.constants = constants }

  /// - Parameters:
  ///   - rate: In bit/s.
  ///   - roundTrip: With the queue, in seconds.
  mutating func begin(rate: Double, roundTrip: Double, now: Instant) {
    self = CubicWindow(constants)
    packets = max(least(constants.leastFirst, roundTrip), rate * roundTrip / Self.packetBits)
    atLoss = packets
    lastReduction = now
  }

  /// In bit/s.
  func rate(roundTrip: Double) -> Double {
    packets * Self.packetBits / max(roundTrip, constants.shortestRoundTrip)
  }

  /// Before the first loss.
  ///
  /// - Parameter elapsed: In seconds, as `roundTrip`.
  mutating func search(elapsed: Double, roundTrip: Double) {
    packets *= 1 + constants.searchGrowth * min(1, elapsed / roundTrip)
  }

  mutating func grow(elapsed: Double, roundTrip: Double, now: Instant) {
    let began = epoch ?? now
    if epoch == nil {
      epoch = now
      friendly = packets
      origin = Self.cubeRoot(max(0, atLoss - packets) / constants.scale)
    }
    let time = Double(now.nanoseconds(since: began)) / 1e9
    let distance = time - origin
    let target = constants.scale * distance * distance * distance + max(atLoss, packets)
    let share = min(1, elapsed / roundTrip)
    friendly += constants.friendlyGrowth * share
    if target > packets {
      packets += min(target - packets, packets * constants.mostStep) * share
    }
    packets = max(packets, friendly)
  }

  /// Once a round trip; whether it was done.
  mutating func reduce(roundTrip: Double, now: Instant) -> Bool {
    guard Double(now.nanoseconds(since: lastReduction)) / 1e9 > roundTrip else { return false }
    lastReduction = now
    isSearching = false
    atLoss = packets < atLoss ? packets * (1 + constants.beta) / 2 : packets
    packets = max(least(constants.least, roundTrip), packets * constants.beta)
    epoch = nil
    return true
  }

  private func least(_ packets: Double, _ roundTrip: Double) -> Double {
    packets * min(1, constants.leastRate * roundTrip / Self.packetBits)
  }

  private static func cubeRoot(_ value: Double) -> Double {
    guard value > 0 else { return 0 }
    var root = max(1, value / 3)
    for _ in 0..<40 { root -= (root * root * root - value) / (3 * root * root) }
    return root
  }
}
