/// Counts durations in 1000 buckets, of 1 ms where nothing else is said, to give percentiles of a
/// whole call.
package struct DelayHistogram: Sendable {
  private var buckets = [UInt32](repeating: 0, count: Self.bucketCount)
  package private(set) var count: UInt64 = 0
  /// Of all records, each within what the buckets hold, in nanoseconds: the difference of two sums
  /// is the mean of what lies between.
  package private(set) var sum: UInt64 = 0
  /// Of a bucket, in nanoseconds.
  private let step: Int64

  package init(stepMilliseconds: Int = 1) { step = Int64(stepMilliseconds) * 1_000_000 }

  /// - Parameter nanoseconds: negative counts as zero, and no more than the buckets hold.
  package mutating func record(nanoseconds: Int64) {
    let bucket = min(max(nanoseconds / step, 0), Int64(Self.bucketCount - 1))
    buckets[Int(bucket)] &+= 1
    count &+= 1
    sum &+= UInt64(min(max(nanoseconds, 0), step * Int64(Self.bucketCount - 1)))
  }

  /// The delay in milliseconds that `fraction` (0...1) of the records do not exceed; `nil` without
  /// any.
  package func quantile(_ fraction: Double) -> Double? {
    guard count > 0 else { return nil }
    let rank = max(1, (Double(count) * fraction).rounded(.up))
    var sum: UInt64 = 0
    for (bucket, records) in buckets.enumerated() {
      sum &+= UInt64(records)
      if Double(sum) >= rank { return (Double(bucket) + 0.5) * stepMilliseconds }
    }
    return Double(Self.bucketCount) * stepMilliseconds
  }

  private var stepMilliseconds: Double { Double(step) / 1e6 }

  /// What was recorded after `earlier`, which is the same histogram as it was then.
  package func since(_ earlier: DelayHistogram) -> DelayHistogram {
    var difference = self
    for bucket in buckets.indices { difference.buckets[bucket] &-= earlier.buckets[bucket] }
    difference.count = count &- earlier.count
    difference.sum = sum &- earlier.sum
    return difference
  }

  private static let bucketCount = 1001
}
