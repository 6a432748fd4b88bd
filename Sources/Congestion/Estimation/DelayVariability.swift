/// How far single packets scatter about the standing delay over many seconds, 0 to 1.
///
/// Above what frames, Wi-Fi and other flows make, the capacity changes faster than reports can
/// tell, as on LTE.
package struct DelayVariability: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// Scatter with which it begins, µs. Tuned.
    package var from = 6_500.0
    /// What is added to that, × a packet's time at the estimate. Tuned.
    package var fromPackets = 0.3
    /// From there to the whole of it, µs. Tuned.
    package var span = 5_000.0
    /// Time constant of the scatter, µs. Tuned: one change of the capacity is none.
    package var memory = 10_000_000.0

    package init() {}
  }

  private let constants: Constants
  /// The scatter over `memory`, µs.
  private(set) var scatter = 0.0

  init(_ constants: Constants = Constants()) { self.constants = constants }

  /// - Parameters:
  ///   - distance: Of the newest packet from the standing delay, µs; known standstills included.
  ///   - elapsed: Since the last report, µs.
  mutating func add(_ distance: Double, elapsed: Double) {
    scatter += (distance - scatter) * min(1, elapsed / constants.memory)
  }

  /// 0 to 1.
  ///
  /// - Parameter packetTime: Of a packet of 1200 bytes on the line, µs.
  func value(packetTime: Double) -> Double {
    let free = constants.from + constants.fromPackets * packetTime
    return min(max((scatter - free) / constants.span, 0), 1)
  }

  /// The same whatever a packet takes.
  var plain: Double { min(max((scatter - constants.from) / constants.span, 0), 1) }
}
