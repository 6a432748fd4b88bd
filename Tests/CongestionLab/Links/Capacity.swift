/// What a link's server can do over time.
package enum Capacity: Sendable {
  /// From each moment (in ns, rising, the first is 0) so many bit/s.
  case steps([Step])
  /// A Mahimahi trace: moments in ms at which 1500 bytes may leave; it repeats.
  case trace([UInt32])

  package struct Step: Sendable {
    package var from: UInt64
    package var bitsPerSecond: Double

    package init(from: UInt64, bitsPerSecond: Double) {
      self.from = from
      self.bitsPerSecond = bitsPerSecond
    }
  }

  package static func constant(_ bitsPerSecond: Double) -> Capacity {
    .steps([Step(from: 0, bitsPerSecond: bitsPerSecond)])
  }

  /// Seconds and Mbit/s.
  package static func schedule(_ steps: [(Double, Double)]) -> Capacity {
    .steps(steps.map { Step(from: UInt64($0.0 * 1e9), bitsPerSecond: $0.1 * 1e6) })
  }

  /// The rate by which a queue limit in time is counted: that of the moment, or a trace's mean.
  func nominalRate(at time: UInt64) -> Double {
    switch self {
    case .steps(let steps):
      var rate = 0.0
      for step in steps where step.from <= time { rate = step.bitsPerSecond }
      return rate
    case .trace(let moments):
      return Double(moments.count) * 12_000 / (Double(moments.last ?? 1) / 1_000)
    }
  }

  /// Bits that could leave between two moments.
  package func bits(from: UInt64, to: UInt64) -> Double {
    guard to > from else { return 0 }
    switch self {
    case .steps(let steps):
      var sum = 0.0
      for (index, step) in steps.enumerated() {
        let end = index + 1 < steps.count ? steps[index + 1].from : UInt64.max
        let low = max(step.from, from)
        let high = min(end, to)
        if high > low { sum += Double(high - low) * step.bitsPerSecond / 1e9 }
      }
      return sum
    case .trace(let moments):
      return 12_000
        * (Self.opportunities(moments, before: to)
          - Self.opportunities(moments, before: from))
    }
  }

  private static func opportunities(_ moments: [UInt32], before time: UInt64) -> Double {
    let period = UInt64(moments.last ?? 1)
    let milliseconds = time / 1_000_000
    let rest = milliseconds % period
    var low = 0
    var high = moments.count
    while low < high {
      let middle = (low + high) / 2
      if UInt64(moments[middle]) <= rest { low = middle + 1 } else { high = middle }
    }
    return Double(milliseconds / period) * Double(moments.count) + Double(low)
  }
}

/// A server that works through a `Capacity` in order of time.
struct Server: Sendable {
  let capacity: Capacity
  private var free: UInt64 = 0
  private var step = 0
  /// Of a trace: the next moment, and what is left of it in bytes.
  private var opportunity = 0
  private var periods: UInt64 = 0
  private var credit = 0.0
  private var creditTime: UInt64 = 0

  init(_ capacity: Capacity) { self.capacity = capacity }

  /// When service of a packet that comes at `now` begins and ends.
  mutating func serve(_ byteCount: Int, at now: UInt64) -> (start: UInt64, end: UInt64) {
    switch capacity {
    case .steps(let steps): serve(byteCount, at: now, steps)
    case .trace(let moments): serve(byteCount, at: now, moments)
    }
  }

  private mutating func serve(
    _ byteCount: Int, at now: UInt64, _ steps: [Capacity.Step]
  ) -> (start: UInt64, end: UInt64) {
    var time = max(now, free)
    var bits = Double(byteCount) * 8
    var start: UInt64?
    while true {
      while step + 1 < steps.count, steps[step + 1].from <= time { step += 1 }
      let rate = steps[step].bitsPerSecond
      let end = step + 1 < steps.count ? steps[step + 1].from : UInt64.max
      if rate > 0 {
        if start == nil { start = time }
        let needed = UInt64(bits / rate * 1e9)
        if end == .max || needed <= end - time {
          free = time + needed
          return (start ?? time, free)
        }
        bits -= Double(end - time) * rate / 1e9
      }
      time = end
    }
  }

  private mutating func serve(
    _ byteCount: Int, at now: UInt64, _ moments: [UInt32]
  ) -> (start: UInt64, end: UInt64) {
    var left = Double(byteCount)
    var start: UInt64?
    if credit > 0, creditTime >= now {
      start = creditTime
      let used = min(credit, left)
      credit -= used
      left -= used
    } else {
      credit = 0
    }
    while left > 0 {
      let time = (periods * UInt64(moments.last ?? 1) + UInt64(moments[opportunity])) * 1_000_000
      opportunity += 1
      if opportunity == moments.count {
        opportunity = 0
        periods += 1
      }
      guard time >= now else { continue }
      if start == nil { start = time }
      creditTime = time
      let used = min(1_500, left)
      left -= used
      credit = 1_500 - used
    }
    return (start ?? now, creditTime)
  }
}
