/// The queueing delay: by how much the latest packets were later than the base delay.
package struct QueueingDelay: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// Least window of the standing delay, µs. Tuned.
    package var shortestWindow = 40_000.0
    /// Greatest window of the standing delay, µs. Tuned.
    package var longestWindow = 100_000.0
    /// The window is at least this × scatter. Tuned.
    package var windowPerScatter = 10.0
    /// Packets that the window must hold once the start is over. Tuned: a line that is served in
    /// turns would otherwise seem to have a queue where few packets are sent.
    package var usualPacketCount = 6
    /// The same during start-up. Tuned.
    package var startPacketCount = 2
    /// No packet older than this is looked at for them, µs. Tuned.
    package var oldestPacket: Int64 = 200_000
    /// Window of the fresh delay, µs. Tuned.
    package var freshWindow: Int64 = 10_000
    /// Packets that the fresh delay is of at least. Tuned.
    package var freshPacketCount = 3
    /// Time constant of the mean of the standing delay, µs. Tuned.
    package var meanMemory = 2_000_000.0
    /// Weight of one report in the scatter, 0 to 1. Tuned.
    package var scatterWeight = 0.03
    /// A packet's distance counts for no more than this in the scatter, µs. Tuned.
    package var mostScatter = 50_000.0

    package init() {}
  }

  let constants: Constants
  /// The minimum of the last moments, without non-congestive delay, µs.
  var standing = 0.0
  /// The minimum of the last packets, without non-congestive delay, µs.
  var fresh = 0.0
  /// The standing delay averaged over seconds, µs.
  var mean = 0.0
  /// How far packets are scattered about the standing delay, µs.
  private(set) var scatter = 0.0

  init(_ constants: Constants = Constants()) { self.constants = constants }

  /// Reads both minima from what has arrived.
  ///
  /// - Parameters:
  ///   - base: The base delay, µs, with the difference of the clocks.
  ///   - cycle: Of feedback, µs.
  mutating func measure(
    _ arrivals: ArrivalWindow, above base: Int64, cycle: Double, isStarting: Bool
  ) {
    let shortest = max(cycle / 2, constants.windowPerScatter * scatter, constants.shortestWindow)
    let window = Int64(min(shortest, constants.longestWindow))
    let count = isStarting ? constants.startPacketCount : constants.usualPacketCount
    let minimum = arrivals.leastDelay(
      over: window, atLeast: 2, usually: count, within: constants.oldestPacket)
    standing = Double((minimum ?? base) &- base)
    let newest = arrivals.leastDelay(
      over: constants.freshWindow, atLeast: constants.freshPacketCount)
    fresh = Double((newest ?? base) &- base)
  }

  /// The distance of a packet from the standing delay, no more than `mostScatter`, µs.
  func distance(of delay: Double) -> Double { min(abs(delay - standing), constants.mostScatter) }

  /// Takes away what is not queue, and follows the scatter.
  ///
  /// - Parameter newest: The delay of the newest packet above the base delay, µs.
  mutating func subtract(_ nonCongestive: Double, newest: Double) {
    // A peer may report any times of arrival.
    standing = min(max(0, standing - nonCongestive), RoundTripFloor.most)
    fresh = min(max(0, fresh - nonCongestive), RoundTripFloor.most)
    scatter += (distance(of: newest) - scatter) * constants.scatterWeight
  }

  /// - Parameter elapsed: Since the last report, µs.
  mutating func average(elapsed: Double) {
    mean += (standing - mean) * min(1, elapsed / constants.meanMemory)
  }
}
