package import Primitives

/// What one direction of a line does to datagrams.
package struct LinkConditions: Sendable {
  /// How the delay varies from one datagram to the next, above `delay`.
  package enum Jitter: Sendable {
    case none
    case uniform(upTo: Duration)
    case exponential(mean: Duration)
    /// The magnitude of a normal variable.
    case normal(deviation: Duration)
    /// A heavy tail: more than k times the least with probability 1/k² (Pareto).
    case pareto(least: Duration)
  }

  package enum Loss: Sendable {
    case none
    case random(Double)
    case bursts(GilbertElliott)
    case spells(LossySpells)
  }

  /// A transmitter of limited speed with a first-in first-out queue that drops at its tail.
  package struct Rate: Sendable {
    package enum Queue: Sendable { case bytes(Int), time(Duration) }

    package var bitsPerSecond: UInt64
    package var queue: Queue
    /// ECN-capable datagrams that would wait longer are marked CE (RFC 3168 §5); `nil` = never.
    package var marksAbove: Duration?

    package init(_ bitsPerSecond: UInt64, queue: Queue, marksAbove: Duration? = nil) {
      self.bitsPerSecond = max(1, bitsPerSecond)
      self.queue = queue
      self.marksAbove = marksAbove
    }
  }

  /// A transmitter whose speed follows a recording, with the same kind of queue.
  package struct TracedRate: Sendable {
    package var trace: DeliveryTrace
    package var queue: Rate.Queue
    /// When the trace begins; `nil`: with the first datagram.
    package var start: Instant?

    package init(_ trace: DeliveryTrace, queue: Rate.Queue) {
      self.trace = trace
      self.queue = queue
    }
  }

  /// A transmitter whose rate changes at known moments, with the same kind of queue; its length in
  /// time is counted at the rate of the moment.
  package struct ScheduledRate: Sendable {
    package var schedule: RateSchedule
    package var queue: Rate.Queue
    /// As in `Rate`.
    package var marksAbove: Duration?

    package init(_ schedule: RateSchedule, queue: Rate.Queue, marksAbove: Duration? = nil) {
      self.schedule = schedule
      self.queue = queue
      self.marksAbove = marksAbove
    }
  }

  /// Times in which nothing is delivered; what would have been comes at their end, all at once, as
  /// on a radio link that scans or waits for its turn.
  package struct Stalls: Sendable {
    /// From the end of one to the begin of the next, exponential.
    package var mean: Duration
    package var length: Duration

    package init(every mean: Duration, length: Duration) {
      self.mean = mean
      self.length = length
    }
  }

  /// A time in which nothing passes.
  package struct Blackout: Sendable {
    package var from: Instant
    package var to: Instant

    package init(from: Instant, to: Instant) {
      self.from = from
      self.to = to
    }
  }

  /// Propagation, one way.
  package var delay: Duration
  package var jitter = Jitter.none
  /// Jitter is cut there (RFC 8868 §4.5.2: at three deviations).
  package var mostJitter: Duration?
  package var stalls: Stalls?
  /// Whether jitter leaves datagrams in the order in which they were sent, as most queues do.
  package var keepsOrder = true
  /// Whether what jitter held up comes at once, as frames that Wi-Fi aggregates, and not as fast as
  /// the line is.
  package var aggregates = false
  package var loss = Loss.none
  /// Probability that a datagram arrives twice.
  package var duplication = 0.0
  /// Probability that a datagram is held back, by up to `reorderingDelay`, and overtaken.
  package var reordering = 0.0
  package var reorderingDelay = Duration.milliseconds(50)
  /// Probability that one to four bits of a datagram are flipped.
  package var corruption = 0.0
  package var rate: Rate?
  /// Takes the place of `rate`: what a recorded line could carry, millisecond by millisecond.
  package var trace: TracedRate?
  /// Takes the place of `rate`: it changes over time.
  package var schedule: ScheduledRate?
  /// Before the queue.
  package var policer: TokenBucket?
  package var blackouts: [Blackout] = []
  /// Longer packets, with their headers, vanish; `nil` = none do.
  package var mostByteCount: Int?
  /// Datagrams come out as not ECN-capable, whatever they were.
  package var clearsECN = false

  package init(delay: Duration) { self.delay = delay }

  package var loses: Bool {
    if case .none = loss { return corruption > 0 }
    return true
  }
}

/// Loss in bursts: a chain of two states (Gilbert 1960, Elliott 1963).
package struct GilbertElliott: Sendable {
  /// Probability, at each datagram, of leaving the state.
  package var goodToBad: Double
  package var badToGood: Double
  package var lossInGood: Double
  package var lossInBad: Double

  package init(goodToBad: Double, badToGood: Double, lossInGood: Double = 0, lossInBad: Double = 1)
  {
    self.goodToBad = goodToBad
    self.badToGood = badToGood
    self.lossInGood = lossInGood
    self.lossInBad = lossInBad
  }

  /// A chain of which `share` of the datagrams are lost, in runs of `length` on average.
  package static func bursts(losing share: Double, ofLength length: Double) -> GilbertElliott {
    GilbertElliott(goodToBad: share / (length * (1 - share)), badToGood: 1 / length)
  }
}

/// Loss in spells of time, however many datagrams they see: two states with exponential lengths.
///
/// The chain of Gilbert and Elliott moves with each datagram; for somebody who sends one a second
/// its bursts would last for many seconds.
package struct LossySpells: Sendable {
  package var meanClear: Duration
  package var meanLossy: Duration
  /// Probability of loss within a lossy spell.
  package var loss: Double

  package init(meanClear: Duration, meanLossy: Duration, loss: Double = 1) {
    self.meanClear = meanClear
    self.meanLossy = meanLossy
    self.loss = loss
  }
}

/// Both directions of the line between a site and the rest of the network.
package struct AccessConditions: Sendable {
  package var up: LinkConditions
  package var down: LinkConditions

  package init(up: LinkConditions, down: LinkConditions) {
    self.up = up
    self.down = down
  }

  package init(_ both: LinkConditions) { self.init(up: both, down: both) }

  /// Nothing but propagation. Two such sites are `4 × oneWay` of round trip apart.
  package static func clean(oneWay delay: Duration) -> AccessConditions {
    AccessConditions(LinkConditions(delay: delay))
  }

  /// The same line with a change to both directions.
  package func with(_ change: (inout LinkConditions) -> Void) -> AccessConditions {
    var copy = self
    change(&copy.up)
    change(&copy.down)
    return copy
  }
}

/// Lines as people have them. The figures are plain choices of ours, typical in magnitude.
extension AccessConditions {
  package static let lan = clean(oneWay: .microseconds(200))

  package static let dsl: AccessConditions = {
    var up = LinkConditions(delay: .milliseconds(10))
    up.jitter = .exponential(mean: .milliseconds(1))
    up.loss = .random(0.001)
    up.rate = .init(1_000_000, queue: .time(.milliseconds(150)))
    var down = up
    down.rate = .init(10_000_000, queue: .time(.milliseconds(100)))
    return AccessConditions(up: up, down: down)
  }()

  package static let wifi = clean(oneWay: .milliseconds(4)).with {
    $0.jitter = .exponential(mean: .milliseconds(4))
    $0.loss = .spells(LossySpells(meanClear: .seconds(5), meanLossy: .milliseconds(50)))
    $0.rate = .init(20_000_000, queue: .bytes(256 * 1024))
  }

  package static let lte = clean(oneWay: .milliseconds(30)).with {
    $0.jitter = .normal(deviation: .milliseconds(8))
    $0.loss = .random(0.003)
    $0.rate = .init(5_000_000, queue: .time(.milliseconds(300)))
  }

  package static let lossy = clean(oneWay: .milliseconds(25)).with {
    $0.jitter = .uniform(upTo: .milliseconds(20))
    $0.loss = .random(0.1)
    $0.duplication = 0.02
    $0.reordering = 0.03
  }

  package static let awful = clean(oneWay: .milliseconds(70)).with {
    $0.jitter = .exponential(mean: .milliseconds(30))
    $0.keepsOrder = false
    $0.loss = .spells(LossySpells(meanClear: .milliseconds(900), meanLossy: .milliseconds(120)))
    $0.duplication = 0.03
    $0.reordering = 0.05
    $0.reorderingDelay = .milliseconds(300)
    $0.corruption = 0.01
    $0.rate = .init(256_000, queue: .time(.milliseconds(400)))
  }

  /// The presets by name, in order of misery.
  package static let presets: [(name: String, access: AccessConditions)] = [
    ("lan", .lan), ("dsl", .dsl), ("wifi", .wifi), ("lte", .lte), ("lossy", .lossy),
    ("awful", .awful),
  ]
}
