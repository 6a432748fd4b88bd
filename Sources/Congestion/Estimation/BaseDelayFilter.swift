/// The base delay: the minimum one-way delay of the last 30 s. What is above it is queue.
///
/// A minimum over 12 buckets of time, so that it follows a path that became longer, and clocks that
/// drift apart (50 ppm are 1.5 ms in that time).
package struct BaseDelayFilter: Sendable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// Length of a bucket, µs. 12 of them are 30 s: with 50 ppm of drift the error is 1.5 ms.
    package var bucketSpan: Int64 = 2_500_000
    /// A packet this close to the minimum has seen it, µs. Tuned.
    package var tolerance: Int64 = 1_000

    package init() {}
  }

  private static let bucketCount = 12
  private let constants: Constants
  private var buckets = InlineArray<12, Int64>(repeating: .max)
  private var present = 0
  private var bucketEnd: Int64?
  /// In microseconds, with the difference of the clocks; `nil` before the first packet.
  private(set) var value: Int64?
  /// When (receiver's clock, µs) a packet last came within `tolerance` of the minimum.
  private(set) var lastSeen: Int64 = 0
  /// While set nothing is forgotten: a queue that never drains would become the minimum.
  var isHeld = false

  init(_ constants: Constants = Constants()) { self.constants = constants }

  mutating func add(_ packet: ArrivedPacket) {
    advance(to: packet.arrival)
    buckets[present] = min(buckets[present], packet.delay)
    value = min(value ?? .max, packet.delay)
    if let value, packet.delay <= value &+ constants.tolerance { lastSeen = packet.arrival }
  }

  private mutating func advance(to arrival: Int64) {
    guard let end = bucketEnd else {
      bucketEnd = arrival &+ constants.bucketSpan
      return
    }
    guard arrival >= end else { return }
    bucketEnd = arrival &+ constants.bucketSpan
    if isHeld { return }
    present = (present + 1) % Self.bucketCount
    buckets[present] = .max
    var least = Int64.max
    for index in 0..<Self.bucketCount { least = min(least, buckets[index]) }
    value = least == .max ? nil : least
  }
}
