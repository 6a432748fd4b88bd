package import Primitives

/// One direction of a line: decides, datagram by datagram, whether and when each comes out.
///
/// Holds no bytes. Give it datagrams in the order of their times.
package struct SimulatedLink: Sendable {
  /// What becomes of one datagram.
  package struct Passage: Sendable, BitwiseCopyable {
    package enum Fate: UInt8, Sendable, BitwiseCopyable {
      case arrives, lost, queueFull, blackedOut
    }

    package var fate: Fate
    /// In the queue before the first bit was sent; of a trace, until the last one was.
    package var wait = Duration.zero
    /// When the last bit has left the transmitter.
    package var departure = Instant.zero
    package var arrival = Instant.zero
    /// When a second copy arrives, if one does.
    package var duplicate: Instant?
    /// Not zero: which bits to flip, see `flipBits`.
    package var corruption: UInt64 = 0
    package var isMarked = false
    package var isBleached = false
  }

  package struct Counters: Sendable, BitwiseCopyable {
    package var offered = 0
    package var lost = 0
    package var queueFull = 0
    package var blackedOut = 0
    package var duplicated = 0
    package var reordered = 0
    package var corrupted = 0
    package var marked = 0
  }

  /// What IPv4 and UDP add to a datagram on the line.
  package static let headerByteCount = 28

  /// May be changed at any time; what is under way keeps its old fate.
  package var conditions: LinkConditions
  /// Passes nothing while set, whatever the conditions say.
  package var isDown = false
  package private(set) var counters = Counters()

  private var random: RandomSource
  private var isInBurst = false
  /// Whether the line is in a burst that loses all.
  package var losesAll: Bool {
    switch conditions.loss {
    case .none, .random: false
    case .bursts(let chain): isInBurst && chain.lossInBad >= 1
    case .spells(let spells): isInBurst && spells.loss >= 1
    }
  }
  /// When the present spell of clear or lossy time is over.
  private var spellEnd: Instant?
  private var transmitterFree = Instant.zero
  private var tracePlace = DeliveryTrace.Place()
  private var tokens = TokenBucket.Level()
  private var earliestArrival = Instant.zero
  /// The stall that is, or the next one.
  private var stall: (from: Instant, to: Instant)?

  package init(_ conditions: LinkConditions, random: RandomSource) {
    self.conditions = conditions
    self.random = random
  }

  package mutating func carry(
    byteCount: Int, at now: Instant, isECNCapable: Bool = false
  ) -> Passage {
    counters.offered += 1
    if isDown || isBlackedOut(at: now) || isTooLong(byteCount) {
      counters.blackedOut += 1
      return Passage(fate: .blackedOut)
    }
    var passage = Passage(fate: .arrives)
    passage.isBleached = conditions.clearsECN
    guard isWithinContract(byteCount, at: now),
      let departure = depart(byteCount, at: now, isECNCapable, &passage)
    else {
      counters.queueFull += 1
      return Passage(fate: .queueFull)
    }
    passage.departure = departure
    if isLost(at: now) {
      counters.lost += 1
      passage.fate = .lost
      return passage
    }
    passage.arrival = arrival(of: departure, byteCount)
    if random.happens(conditions.corruption) {
      counters.corrupted += 1
      passage.corruption = random.next() | 1
    }
    if random.happens(conditions.duplication) {
      counters.duplicated += 1
      passage.duplicate = passage.arrival + random.duration(.zero ... .milliseconds(20))
    }
    return passage
  }

  /// Flips the one to four bits that `corruption` names.
  package static func flipBits(of bytes: inout [UInt8], _ corruption: UInt64) {
    guard !bytes.isEmpty else { return }
    var choice = RandomSource(seed: corruption)
    for _ in 0...choice.below(4) {
      let index = Int(choice.below(UInt64(bytes.count)))
      bytes[index] ^= 1 << UInt8(choice.below(8))
    }
  }

  // MARK: - Parts of the passage

  private func isTooLong(_ byteCount: Int) -> Bool {
    conditions.mostByteCount.map { byteCount + Self.headerByteCount > $0 } ?? false
  }

  private func isBlackedOut(at now: Instant) -> Bool {
    for blackout in conditions.blackouts where blackout.from <= now && now < blackout.to {
      return true
    }
    return false
  }

  private mutating func isWithinContract(_ byteCount: Int, at now: Instant) -> Bool {
    guard let policer = conditions.policer else { return true }
    return tokens.admits(byteCount + Self.headerByteCount, at: now, by: policer)
  }

  /// When the last bit has left the transmitter; `nil` when the queue has no room.
  private mutating func depart(
    _ byteCount: Int, at now: Instant, _ isECNCapable: Bool, _ passage: inout Passage
  ) -> Instant? {
    if let traced = conditions.trace {
      let departure = tracePlace.depart(byteCount + Self.headerByteCount, at: now, over: traced)
      if let departure { passage.wait = departure - now }
      return departure
    }
    if let scheduled = conditions.schedule {
      return depart(byteCount, at: now, isECNCapable, over: scheduled, &passage)
    }
    guard let rate = conditions.rate else { return now }
    let bits = UInt64(byteCount + Self.headerByteCount) * 8
    let wait = transmitterFree.nanoseconds(since: now)
    switch rate.queue {
    case .time(let limit):
      if wait > UInt64(max(0, limit.nanoseconds)) { return nil }
    case .bytes(let limit):
      let waiting = wait.multipliedFullWidth(by: rate.bitsPerSecond)
      let queuedBits = (8_000_000_000 as UInt64).dividingFullWidth(waiting).quotient
      if queuedBits + bits / 8 > UInt64(limit) { return nil }
    }
    if isECNCapable, let threshold = rate.marksAbove, wait > UInt64(threshold.nanoseconds) {
      passage.isMarked = true
      counters.marked += 1
    }
    let start = max(now, transmitterFree)
    passage.wait = start - now
    transmitterFree = Instant(
      nanoseconds: start.nanoseconds + bits * 1_000_000_000 / rate.bitsPerSecond)
    return transmitterFree
  }

  /// There is always room for one packet.
  private mutating func depart(
    _ byteCount: Int, at now: Instant, _ isECNCapable: Bool,
    over scheduled: LinkConditions.ScheduledRate, _ passage: inout Passage
  ) -> Instant? {
    let schedule = scheduled.schedule
    let bits = Double(byteCount + Self.headerByteCount) * 8
    let limit =
      switch scheduled.queue {
      case .time(let time): Double(time.nanoseconds) / 1e9 * schedule.nominalRate(at: now)
      case .bytes(let bytes): Double(bytes) * 8
      }
    let waiting = schedule.bits(from: now, to: transmitterFree)
    if waiting + bits > max(limit, Self.leastQueue) { return nil }
    let (start, end) = schedule.service(of: bits, from: max(now, transmitterFree))
    passage.wait = start - now
    if isECNCapable, let threshold = scheduled.marksAbove, passage.wait > threshold {
      passage.isMarked = true
      counters.marked += 1
    }
    transmitterFree = end
    return end
  }

  /// Of a schedule, in bits: one packet of the longest kind.
  private static let leastQueue = 1_600.0 * 8

  private mutating func isLost(at now: Instant) -> Bool {
    switch conditions.loss {
    case .none: return false
    case .random(let probability): return random.happens(probability)
    case .bursts(let chain):
      if random.happens(isInBurst ? chain.badToGood : chain.goodToBad) { isInBurst.toggle() }
      return random.happens(isInBurst ? chain.lossInBad : chain.lossInGood)
    case .spells(let spells):
      changeSpells(spells, until: now)
      return isInBurst && random.happens(spells.loss)
    }
  }

  private mutating func changeSpells(_ spells: LossySpells, until now: Instant) {
    func length(_ isLossy: Bool) -> Duration {
      let mean = isLossy ? spells.meanLossy : spells.meanClear
      return .nanoseconds(Int64(random.exponential() * Double(mean.nanoseconds)))
    }
    var end = spellEnd ?? now + length(isInBurst)
    while end <= now {
      isInBurst.toggle()
      end = end + length(isInBurst)
    }
    spellEnd = end
  }

  /// Where the delay varies no datagram overtakes another, nor comes sooner behind it than the line
  /// carries it: what a late one held up follows at the line's rate (NR-BPDV of RFC 8868).
  private mutating func arrival(of departure: Instant, _ byteCount: Int) -> Instant {
    let delay = Double(conditions.delay.nanoseconds) + jitter()
    var arrival = Instant(nanoseconds: departure.nanoseconds + UInt64(max(0, delay)))
    if let stalls = conditions.stalls { arrival = afterStall(arrival, stalls) }
    if random.happens(conditions.reordering) {
      counters.reordered += 1
      return arrival + random.duration(.zero...conditions.reorderingDelay)
    }
    guard conditions.keepsOrder else { return arrival }
    arrival = max(arrival, earliestArrival)
    earliestArrival = arrival
    if case .none = conditions.jitter { return arrival }
    if conditions.aggregates { return arrival }
    if let rate = lineRate(at: departure) {
      let bits = UInt64(byteCount + Self.headerByteCount) * 8
      earliestArrival = arrival + .nanoseconds(Int64(bits * 1_000_000_000 / rate))
    }
    return arrival
  }

  /// In bit/s, where it is not 0 nor a trace's.
  private func lineRate(at time: Instant) -> UInt64? {
    if let schedule = conditions.schedule?.schedule {
      let rate = UInt64(schedule.rate(at: time))
      return rate > 0 ? rate : nil
    }
    guard let rate = conditions.rate, rate.bitsPerSecond > 0 else { return nil }
    return rate.bitsPerSecond
  }

  /// In nanoseconds.
  private mutating func jitter() -> Double {
    var jitter = 0.0
    switch conditions.jitter {
    case .none: return 0
    case .uniform(let bound): jitter = random.unit() * Double(bound.nanoseconds)
    case .exponential(let mean): jitter = random.exponential() * Double(mean.nanoseconds)
    case .normal(let deviation): jitter = abs(random.normal()) * Double(deviation.nanoseconds)
    case .pareto(let least): jitter = random.pareto() * Double(least.nanoseconds)
    }
    guard let most = conditions.mostJitter else { return jitter }
    return min(jitter, Double(most.nanoseconds))
  }

  private mutating func afterStall(_ arrival: Instant, _ stalls: LinkConditions.Stalls) -> Instant {
    func next(after time: Instant) -> (from: Instant, to: Instant) {
      let wait = Int64(random.exponential() * Double(stalls.mean.nanoseconds))
      let from = time + .nanoseconds(wait)
      return (from, from + stalls.length)
    }
    var present = stall ?? next(after: arrival)
    while present.to <= arrival { present = next(after: present.to) }
    stall = present
    return arrival >= present.from ? present.to : arrival
  }
}
