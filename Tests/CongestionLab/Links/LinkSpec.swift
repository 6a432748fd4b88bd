import LinkModel
import Primitives

/// What one link of a case does; `SimulatedLink` does it.
package struct LinkSpec: Sendable {
  package var capacity: Capacity
  /// One way, in ns.
  package var delay: UInt64
  /// The longest queue, in ns at the nominal rate of the moment.
  package var queue: UInt64
  /// Independent loss after the bottleneck.
  package var loss = 0.0
  /// More of it at times: from, to, share.
  package var lossy: [(from: UInt64, to: UInt64, share: Double)] = []
  package var jitter = Jitter.none
  /// Deliveries are held for `length` about every `mean` ns, then come together.
  package var stalls: (mean: UInt64, length: UInt64)?
  /// What was held up comes at once, not as fast as the line is: frames that Wi-Fi aggregates.
  package var aggregates = false
  /// The server stops, the queue fills: from, to.
  package var holds: [(UInt64, UInt64)] = []
  /// Everything is lost: from, to.
  package var blackouts: [(UInt64, UInt64)] = []
  /// ECN-capable packets that wait longer are marked.
  package var marksAbove: UInt64?
  /// Token bucket before the queue: bit/s and bytes.
  package var policer: (rate: Double, burst: Double)?

  package enum Jitter: Sendable {
    case none
    /// In ns.
    case exponential(mean: Double, most: Double)
    /// |N(0, deviation)| cut at 3 deviations (RFC 8868 §4.5.2).
    case normal(deviation: Double)
  }

  package init(_ capacity: Capacity, delay milliseconds: Double, queue: Double = 300) {
    self.capacity = capacity
    delay = UInt64(milliseconds * 1e6)
    self.queue = UInt64(queue * 1e6)
  }

  /// The way back of most cases.
  package static func wide(delay milliseconds: Double) -> LinkSpec {
    LinkSpec(.constant(20e6), delay: milliseconds)
  }

  package func with(_ change: (inout LinkSpec) -> Void) -> LinkSpec {
    var copy = self
    change(&copy)
    return copy
  }

  /// As the link model takes it.
  var conditions: LinkConditions {
    var conditions = LinkConditions(delay: .nanoseconds(Int64(delay)))
    let length = LinkConditions.Rate.Queue.time(.nanoseconds(Int64(queue)))
    switch capacity {
    case .rates(let schedule):
      conditions.schedule = LinkConditions.ScheduledRate(
        held(schedule), queue: length,
        marksAbove: marksAbove.map { Duration.nanoseconds(Int64($0)) })
    case .recorded(let trace):
      let bytes = Double(queue) / 1e9 * trace.meanBitsPerSecond / 8
      conditions.trace = LinkConditions.TracedRate(trace, queue: .bytes(max(1_600, Int(bytes))))
      conditions.trace?.start = .zero
    }
    conditions.loss = loss(at: 0)
    switch jitter {
    case .none: break
    case .exponential(let mean, let most):
      conditions.jitter = .exponential(mean: .nanoseconds(Int64(mean)))
      conditions.mostJitter = .nanoseconds(Int64(most))
    case .normal(let deviation):
      conditions.jitter = .normal(deviation: .nanoseconds(Int64(deviation)))
      conditions.mostJitter = .nanoseconds(Int64(3 * deviation))
    }
    conditions.stalls = stalls.map { stalls in
      LinkConditions.Stalls(
        every: .nanoseconds(Int64(stalls.mean)), length: .nanoseconds(Int64(stalls.length)))
    }
    conditions.aggregates = aggregates
    conditions.blackouts = blackouts.map { from, to in
      LinkConditions.Blackout(from: Instant(nanoseconds: from), to: Instant(nanoseconds: to))
    }
    conditions.policer = policer.map { TokenBucket(bitsPerSecond: $0.rate, burst: $0.burst) }
    return conditions
  }

  /// Independent loss at a moment, in ns.
  func loss(at time: UInt64) -> LinkConditions.Loss {
    let spell = lossy.first { $0.from <= time && time < $0.to }
    let share = max(loss, spell?.share ?? 0)
    return share > 0 ? .random(share) : .none
  }

  private func held(_ schedule: RateSchedule) -> RateSchedule {
    var held = schedule
    for (from, to) in holds {
      held =
        held.holding(from: Instant(nanoseconds: from), to: Instant(nanoseconds: to)) ?? held
    }
    return held
  }
}
