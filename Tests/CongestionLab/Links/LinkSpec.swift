/// What one link of the laboratory does, with the words of `../shared/tools/linkemu`.
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

  /// The capacity without the times at which the server stops.
  var served: Capacity {
    guard case .steps(var steps) = capacity, !holds.isEmpty else { return capacity }
    for (from, to) in holds {
      let before = Capacity.steps(steps).nominalRate(at: to)
      steps.removeAll { $0.from >= from && $0.from <= to }
      steps.append(.init(from: from, bitsPerSecond: 0))
      steps.append(.init(from: to, bitsPerSecond: before))
      steps.sort { $0.from < $1.from }
    }
    return .steps(steps)
  }
}
