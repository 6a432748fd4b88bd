/// How much may be under way before less urgent packets wait: a rate times a time.
package struct FlightLimit: Sendable, BitwiseCopyable {
  /// Report intervals in the time. Tuned.
  package var intervals = 1.05
  /// What delay variability of 1 takes from `intervals`. Tuned.
  package var variableIntervals = 0.35
  /// Of the delivery rate that counts, × delivery rate. Tuned.
  package var rateShare = 0.97
  /// With delay variability: the time beside the base round trip at the usual rate, µs. Tuned.
  package var usualTime = 115_000.0
  /// Draining: × capacity. Tuned.
  package var drainShare = 0.9
  /// Draining: report intervals in the time. Tuned.
  package var drainIntervals = 0.5
  /// Draining: the packets added are no longer than this at the estimate, µs. Tuned.
  package var drainPacketTime = 12_000.0
  /// Competing: report intervals in the time. Tuned.
  package var competingIntervals = 1.2
  /// Packets that are added. Tuned.
  package var packetCount = 2

  package init() {}

  /// Bits while a queue empties.
  func draining(_ path: PathMeasurement, capacity: Double) -> Double {
    capacity * (path.roundTrip.value + path.timing.interval * drainIntervals) / 1e6 * drainShare
  }

  /// Bits beside a flow that fills the queue.
  func competing(_ path: PathMeasurement, estimate: Double) -> Double {
    let time =
      path.roundTrip.value + path.queue.standing + path.timing.interval * competingIntervals
    return estimate * time / 1e6
  }

  /// Bits otherwise.
  ///
  /// - Parameters:
  ///   - rate: In bit/s.
  ///   - target: The target delay, µs.
  ///   - variability: Of the delay, 0 to 1.
  func usual(
    _ path: PathMeasurement, rate: Double, target: Double, variability: Double
  ) -> Double {
    let share = intervals - variableIntervals * variability
    let time = path.roundTrip.value + path.timing.interval * share + target
    guard variability > 0, path.delivery.usual > 0 else { return rate * time / 1e6 }
    // Where a peak of the line ends, what is under way leaves at the usual rate.
    let most = path.delivery.usual * (path.roundTrip.value + usualTime) / variability
    return min(rate * time, most) / 1e6
  }

  /// Bits while bulk takes all that media leave: enough until the next report.
  func bulk(_ path: PathMeasurement, rate: Double, target: Double) -> Double {
    let delay = max(path.reportDelay.value, path.timing.interval)
    return rate * (path.roundTrip.value + delay + target) / 1e6
  }

  /// The rate that counts, in bit/s: little more than arrives.
  func rate(_ estimate: Double, delivered: Double, step: Double) -> Double {
    let known = delivered * rateShare
    return known > 0 ? min(estimate, known + step) : estimate
  }

  /// Some packets more, in bytes: while a queue empties short ones, where a long one takes long.
  func byteCount(bits: Double, estimate: Double, isDraining: Bool) -> Int {
    let least = min(Self.longest, max(Self.shortest, estimate * (drainPacketTime / 8e6)))
    return Int(min(bits / 8, 1e9)) + packetCount * Int(isDraining ? least : Self.longest)
  }

  /// Packets of media, in bytes.
  private static let longest = 1_200.0
  private static let shortest = 300.0
}
