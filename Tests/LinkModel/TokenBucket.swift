package import Primitives

/// A policer before the queue: what is beyond its rate and its burst is dropped, not delayed.
package struct TokenBucket: Sendable, BitwiseCopyable {
  package var bitsPerSecond: Double
  /// In bytes, IP and UDP included.
  package var burst: Double

  package init(bitsPerSecond: Double, burst: Double) {
    self.bitsPerSecond = bitsPerSecond
    self.burst = burst
  }

  /// What is in the bucket; it is full at first.
  package struct Level: Sendable, BitwiseCopyable {
    private var bytes = Double.infinity
    private var time = Instant.zero

    package init() {}

    /// Whether a packet of `byteCount` passes; one that does takes its bytes.
    package mutating func admits(
      _ byteCount: Int, at now: Instant, by bucket: TokenBucket
    ) -> Bool {
      let earned = Double(now.nanoseconds(since: time)) * bucket.bitsPerSecond / 8e9
      bytes = min(bucket.burst, bytes + earned)
      time = now
      guard bytes >= Double(byteCount) else { return false }
      bytes -= Double(byteCount)
      return true
    }
  }
}
