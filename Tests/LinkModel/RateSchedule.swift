package import Primitives

/// A transmitter's rate that changes at known moments; it may also stand still. What waits when the
/// rate changes leaves at the new one.
package struct RateSchedule: Sendable {
  package struct Step: Sendable, BitwiseCopyable {
    package var from: Instant
    /// 0: nothing leaves, and the queue fills.
    package var bitsPerSecond: Double

    package init(from: Instant, bitsPerSecond: Double) {
      self.from = from
      self.bitsPerSecond = bitsPerSecond
    }
  }

  /// In order of time; before the first one its rate holds.
  package let steps: [Step]

  /// - Returns: `nil` when there is no step, when they are not in order, or when the last rate is
  ///   0: what waits then would never leave.
  package init?(_ steps: [Step]) {
    guard let last = steps.last, last.bitsPerSecond > 0,
      zip(steps, steps.dropFirst()).allSatisfy({ $0.from <= $1.from })
    else { return nil }
    self.steps = steps
  }

  /// The same, standing still from one moment to another.
  package func holding(from: Instant, to: Instant) -> RateSchedule? {
    var changed = steps.filter { $0.from < from || $0.from > to }
    changed.append(Step(from: from, bitsPerSecond: 0))
    changed.append(Step(from: to, bitsPerSecond: rate(at: to)))
    return RateSchedule(changed.sorted { $0.from < $1.from })
  }

  /// In bit/s.
  package func rate(at time: Instant) -> Double {
    steps.last { $0.from <= time }?.bitsPerSecond ?? steps[0].bitsPerSecond
  }

  /// The rate of the moment or, while the transmitter stands still, the one before: what the length
  /// of a queue in time is counted by.
  package func nominalRate(at time: Instant) -> Double {
    steps.last { $0.from <= time && $0.bitsPerSecond > 0 }?.bitsPerSecond ?? rate(at: time)
  }

  /// Bits that can leave between two moments.
  package func bits(from: Instant, to: Instant) -> Double {
    var sum = 0.0
    for index in steps.indices {
      let low = index == 0 ? from : max(steps[index].from, from)
      let high = min(end(of: index), to)
      if high > low {
        sum += Double(high.nanoseconds(since: low)) * steps[index].bitsPerSecond / 1e9
      }
    }
    return sum
  }

  /// When the first and the last bit of what is served from `time` on leave.
  package func service(of bits: Double, from time: Instant) -> (start: Instant, end: Instant) {
    var left = bits
    var now = time
    var start: Instant?
    for index in steps.indices where end(of: index) > now {
      let rate = steps[index].bitsPerSecond
      let until = end(of: index)
      if rate > 0 {
        start = start ?? now
        let needed = UInt64(left / rate * 1e9)
        if needed <= until.nanoseconds(since: now) {
          return (start ?? now, now + .nanoseconds(Int64(needed)))
        }
        left -= Double(until.nanoseconds(since: now)) * rate / 1e9
      }
      now = until
    }
    return (start ?? now, now)
  }

  private func end(of index: Int) -> Instant {
    index + 1 < steps.count ? steps[index + 1].from : Instant(nanoseconds: .max)
  }
}
