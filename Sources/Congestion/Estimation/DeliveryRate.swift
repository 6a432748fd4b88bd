/// The delivery rate: what arrived over the time in which it did, in bit/s.
package struct DeliveryRate: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// Span of `acknowledged`, µs. Tuned.
    package var span: Int64 = 60_000
    /// Packets that each rate is of at least. Tuned.
    package var packetCount = 8
    /// Span of `recent`, µs: four to five intervals of frames.
    package var recentSpan: Int64 = 150_000
    /// Time constant of `usual`, µs. Tuned.
    package var usualMemory = 2_000_000.0
    /// Greatest inherent loss that is corrected for, share of packets, below 1. Tuned.
    package var mostLoss = 0.4

    package init() {}
  }

  private let constants: Constants
  /// Over the shortest span, corrected for inherent loss.
  var acknowledged = 0.0
  /// Over a few frames, without correction.
  var recent = 0.0
  /// The same over seconds.
  private(set) var usual = 0.0
  /// The greatest since the estimate began: the max_bw of BBR without its window.
  private(set) var maximum = 0.0

  init(_ constants: Constants = Constants()) { self.constants = constants }

  /// - Parameters:
  ///   - loss: What is lost without a queue, share of packets.
  ///   - elapsed: Since the last report, µs.
  mutating func measure(_ arrivals: ArrivalWindow, loss: Double, elapsed: Double) {
    if let rates = arrivals.rates(over: constants.span, atLeast: constants.packetCount) {
      acknowledged = rates.arrival * correction(loss)
    }
    if let rates = arrivals.rates(over: constants.recentSpan, atLeast: constants.packetCount) {
      recent = rates.arrival
      usual += (recent - usual) * min(1, elapsed / constants.usualMemory)
    }
    maximum = max(maximum, most)
  }

  /// What the line loses has used the bottleneck all the same.
  func correction(_ loss: Double) -> Double { 1 / (1 - min(loss, constants.mostLoss)) }

  /// The greater of both spans.
  var most: Double { max(acknowledged, recent) }
}
