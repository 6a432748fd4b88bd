/// The least one-way delay of the last half minute: what is above it is queue.
///
/// A minimum over buckets of time, so that it follows a path that became longer, and clocks that
/// drift apart (50 ppm are 1.5 ms in that time).
struct LeastDelay: Sendable {
  private static let bucketSpan: Int64 = 2_500_000
  private static let bucketCount = 12
  private var buckets = InlineArray<12, Int64>(repeating: .max)
  private var present = 0
  private var bucketEnd: Int64?
  /// In microseconds, with the difference of the clocks; `nil` before the first packet.
  private(set) var value: Int64?
  /// When (receiver's clock) a packet last came within 1 ms of the minimum.
  private(set) var lastTouched: Int64 = 0
  /// While set nothing is forgotten: a queue that never drains would become the minimum.
  var isHeld = false

  mutating func add(_ packet: ArrivedPacket) {
    advance(to: packet.arrival)
    buckets[present] = min(buckets[present], packet.delay)
    value = min(value ?? .max, packet.delay)
    if let value, packet.delay <= value &+ 1_000 { lastTouched = packet.arrival }
  }

  /// Forgets all but what arrived last: the path is another one.
  mutating func restart(at delay: Int64) {
    for index in 0..<Self.bucketCount { buckets[index] = .max }
    buckets[present] = delay
    value = delay
  }

  private mutating func advance(to arrival: Int64) {
    guard let end = bucketEnd else {
      bucketEnd = arrival &+ Self.bucketSpan
      return
    }
    guard arrival >= end else { return }
    bucketEnd = arrival &+ Self.bucketSpan
    if isHeld { return }
    present = (present + 1) % Self.bucketCount
    buckets[present] = .max
    var least = Int64.max
    for index in 0..<Self.bucketCount { least = min(least, buckets[index]) }
    value = least == .max ? nil : least
  }
}
