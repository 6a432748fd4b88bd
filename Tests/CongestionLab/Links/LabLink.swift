import Primitives

/// A bottleneck: policer, queue, server, loss, delay that varies, stalls; in virtual time.
struct LabLink {
  enum Fate: UInt8 { case passes, queueFull, lost, blackedOut, policed }

  struct Passage {
    var fate: Fate
    /// In the queue before the first bit was served, and when the last one was.
    var wait: UInt64 = 0
    var departure: UInt64 = 0
    var arrival: UInt64 = 0
    var isMarked = false
  }

  let spec: LinkSpec
  private var server: Server
  private var random: RandomSource
  private var jitterRandom: RandomSource
  private var stallRandom: RandomSource
  private var backlog = ByteQueue()
  private var earliestArrival: UInt64 = 0
  private var stall: (from: UInt64, to: UInt64) = (0, 0)
  private var tokens = 0.0
  private var tokenTime: UInt64 = 0

  init(_ spec: LinkSpec, random: inout RandomSource) {
    self.spec = spec
    server = Server(spec.served)
    self.random = random.split()
    jitterRandom = random.split()
    stallRandom = random.split()
    tokens = spec.policer?.burst ?? 0
    if let stalls = spec.stalls { stall.from = Self.exponential(&stallRandom, stalls.mean) }
    stall.to = stall.from + (spec.stalls?.length ?? 0)
  }

  mutating func carry(_ byteCount: Int, at now: UInt64, isECT: Bool) -> Passage {
    for (from, to) in spec.blackouts where from <= now && now < to {
      return Passage(fate: .blackedOut)
    }
    if !passesPolicer(byteCount, at: now) { return Passage(fate: .policed) }
    backlog.drop(until: now)
    let limit = Double(spec.queue) * spec.capacity.nominalRate(at: now) / 8e9
    if Double(backlog.bytes + byteCount) > max(limit, 1_600) { return Passage(fate: .queueFull) }
    let (start, end) = server.serve(byteCount, at: now)
    backlog.append(byteCount, until: end)
    var passage = Passage(fate: .passes, wait: start - now, departure: end)
    if isECT, let threshold = spec.marksAbove { passage.isMarked = passage.wait > threshold }
    let lossy = spec.lossy.first { $0.from <= now && now < $0.to }
    let loss = max(spec.loss, lossy?.share ?? 0)
    if loss > 0, random.unit() < loss {
      passage.fate = .lost
      return passage
    }
    passage.arrival = arrival(of: end, byteCount)
    return passage
  }

  private mutating func passesPolicer(_ byteCount: Int, at now: UInt64) -> Bool {
    guard let policer = spec.policer else { return true }
    tokens = min(policer.burst, tokens + Double(now - tokenTime) * policer.rate / 8e9)
    tokenTime = now
    guard tokens >= Double(byteCount) else { return false }
    tokens -= Double(byteCount)
    return true
  }

  /// Where the delay varies no packet overtakes another, nor comes sooner behind it than the line
  /// carries it: what a late one held up follows at the line's rate (NR-BPDV of RFC 8868 §4.5.1).
  private mutating func arrival(of departure: UInt64, _ byteCount: Int) -> UInt64 {
    var time = departure + spec.delay
    switch spec.jitter {
    case .none: break
    case .exponential(let mean, let most):
      time += UInt64(min(most, Self.exponential(&jitterRandom) * mean))
    case .normal(let deviation):
      time += UInt64(min(3, abs(Self.normal(&jitterRandom))) * deviation)
    }
    if let stalls = spec.stalls {
      while stall.to <= time {
        stall.from = stall.to + Self.exponential(&stallRandom, stalls.mean)
        stall.to = stall.from + stalls.length
      }
      if time >= stall.from { time = stall.to }
    }
    time = max(time, earliestArrival)
    earliestArrival = time + gap(behind: byteCount, at: departure)
    return time
  }

  private func gap(behind byteCount: Int, at time: UInt64) -> UInt64 {
    if case .none = spec.jitter { return 10_000 }
    if spec.aggregates { return 10_000 }
    guard case .steps = spec.capacity else { return 10_000 }
    let rate = spec.served.nominalRate(at: time)
    return rate > 0 ? UInt64(Double(byteCount) * 8e9 / rate) : 10_000
  }

  private static func exponential(_ random: inout RandomSource, _ mean: UInt64) -> UInt64 {
    UInt64(exponential(&random) * Double(mean))
  }

  /// Mean 1, by comparisons alone (von Neumann 1951).
  private static func exponential(_ random: inout RandomSource) -> Double {
    var whole = 0.0
    while true {
      let first = random.unit()
      var least = first
      var isOdd = true
      while true {
        let next = random.unit()
        if next >= least { break }
        least = next
        isOdd.toggle()
      }
      if isOdd { return whole + first }
      whole += 1
    }
  }

  /// Deviation 1: the sum of twelve.
  private static func normal(_ random: inout RandomSource) -> Double {
    var sum = -6.0
    for _ in 0..<12 { sum += random.unit() }
    return sum
  }
}

/// What waits in a queue, by the moment at which it leaves.
struct ByteQueue {
  private var entries: [(UInt64, Int)] = []
  private var head = 0
  private(set) var bytes = 0

  mutating func append(_ byteCount: Int, until departure: UInt64) {
    entries.append((departure, byteCount))
    bytes += byteCount
  }

  mutating func drop(until now: UInt64) {
    while head < entries.count, entries[head].0 <= now {
      bytes -= entries[head].1
      head += 1
    }
    if head > 512, head * 2 > entries.count {
      entries.removeFirst(head)
      head = 0
    }
  }
}
