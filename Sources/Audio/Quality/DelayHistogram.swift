/// Counts durations in buckets of 1 ms up to one second, to give percentiles of a whole call.
package struct DelayHistogram: Sendable {
  private var buckets = [UInt32](repeating: 0, count: Self.bucketCount)
  package private(set) var count: UInt64 = 0
  /// Of all records, each within 0...1 s, in nanoseconds: the difference of two sums is the mean of
  /// what lies between.
  package private(set) var sum: UInt64 = 0

  package init() {}

  /// - Parameter nanoseconds: negative counts as zero, more than a second as a second.
  package mutating func record(nanoseconds: Int64) {
    let bucket = min(max(nanoseconds / 1_000_000, 0), Int64(Self.bucketCount - 1))
    buckets[Int(bucket)] &+= 1
    count &+= 1
    sum &+= UInt64(min(max(nanoseconds, 0), 1_000_000_000))
  }

  /// The delay in milliseconds that `fraction` (0...1) of the records do not exceed; `nil` without
  /// any.
  package func quantile(_ fraction: Double) -> Double? {
    guard count > 0 else { return nil }
    let rank = max(1, (Double(count) * fraction).rounded(.up))
    var sum: UInt64 = 0
    for (bucket, records) in buckets.enumerated() {
      sum &+= UInt64(records)
      if Double(sum) >= rank { return Double(bucket) + 0.5 }
    }
    return Double(Self.bucketCount)
  }

  private static let bucketCount = 1001
}
