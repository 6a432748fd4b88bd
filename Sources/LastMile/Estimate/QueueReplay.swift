/// The rate of a bottleneck whose queue may have overflowed, by Bayes' rule: the times of sending
/// are played through queues of many rates and lengths, and each such queue is as likely as what
/// came of it is like what really came (docs/protocol/probe.md §5).
///
/// A loss is the queue's own where the replayed queue is full, and takes none of its time; else the
/// packet was lost behind it, and its time passed. So the times of arrival, the share that the line
/// loses without a queue, and where the losses lie all have their say, each as far as it can.
struct QueueReplay: Sendable {
  struct Packet: BitwiseCopyable {
    /// ns of the sender's clock.
    var sent: Double
    /// ns of the receiver's clock; not a number if it did not come.
    var arrival: Double
  }

  /// ns that the bottleneck takes for one packet: the median of what is likely.
  let service: Double
  /// Ends of the 95 % interval, in ns.
  let shortest: Double
  let longest: Double
  /// Mean squared distance of the times of arrival from those of the likeliest queue, in ns².
  let variance: Double
  /// Packets whose delay is their own.
  let independentCount: Double

  /// - Parameters:
  ///   - packets: All of one size, in the order of sending.
  ///   - services: Where to look, in ns.
  ///   - gap: ns between packets next to each other that left a queue, where that is known: exact
  ///     if nothing jitters.
  ///   - longestWait: ns that packets waited at most, about.
  ///   - calm: Packets lost, of how many, on the line without a queue; not among `packets`.
  init?(
    _ packets: [Packet], services: ClosedRange<Double>, gap: Double?, longestWait: Double,
    calm: (lost: Int, sent: Int)
  ) {
    guard packets.count >= Self.fewest, services.lowerBound > 0, longestWait > 0 else { return nil }
    var search = ReplaySearch(packets, calm: calm)
    let width = services.upperBound - services.lowerBound
    let step = max(width / Self.services, services.lowerBound * 0.002)
    search.tryAll(services, step: step, longestWait: longestWait)
    if let gap { search.tryLengths(at: gap, longestWait: longestWait) }
    let finest = search.refine(step: step, longestWait: longestWait)
    guard let found = search.quantiles(), let best = search.best(1, apart: 0).first else {
      return nil
    }
    service = found.middle
    shortest = max(0, found.low - finest)
    longest = found.high + finest
    variance = best.squares / Double(max(1, search.receivedCount))
    independentCount = max(4, Double(search.receivedCount) / search.correlation)
  }

  private static let fewest = 24
  /// Service times tried at first.
  private static let services = 48.0
}

/// The queues that were tried for one set of packets.
struct ReplaySearch: Sendable {
  struct Trial: BitwiseCopyable {
    /// ns for a packet.
    var service: Double
    /// ns that a packet may wait; -1: all were lost before the queue; infinite: none in it.
    var length: Double
    /// Sum of the squared distances of the times of arrival from the replayed ones, in ns².
    var squares: Double
    /// Logarithm of the likelihood of the losses.
    var losses: Double
    /// Logarithm of the part of all queues that it stands for.
    var area: Double
  }

  let receivedCount: Int
  private let packets: [QueueReplay.Packet]
  private let calm: (lost: Int, sent: Int)
  private var trials: [Trial] = []
  /// Of the newest trial.
  private var residuals: [Double] = []
  /// Packets that say as much as one whose delay is its own.
  private(set) var correlation = 4.0

  init(_ packets: [QueueReplay.Packet], calm: (lost: Int, sent: Int)) {
    self.packets = packets
    self.calm = calm
    receivedCount = packets.count { !$0.arrival.isNaN }
    residuals.reserveCapacity(packets.count)
    trials.reserveCapacity(2048)
  }

  // MARK: - Where to look

  mutating func tryAll(_ services: ClosedRange<Double>, step: Double, longestWait: Double) {
    var service = services.lowerBound
    while service <= services.upperBound {
      tryOut(service, .infinity, area: 0)
      tryOut(service, -1, area: 0)
      for share in stride(from: Self.shortest, to: Self.longest, by: Self.lengthStep) {
        tryOut(service, share * longestWait, area: 0)
      }
      service += step
    }
    estimateCorrelation()
  }

  /// Many lengths of the queue at one service time.
  mutating func tryLengths(at service: Double, longestWait: Double) {
    for share in stride(from: Self.shortest, to: Self.longest, by: Self.lengthStep / 4) {
      tryOut(service, share * longestWait, area: -4)
    }
  }

  /// Looks more closely where it is likely; ns of the last step.
  mutating func refine(step: Double, longestWait: Double) -> Double {
    var step = step
    var lengthStep = Self.lengthStep * longestWait
    var area = 0.0
    for _ in 0..<Self.refinements {
      step /= Self.zoom
      lengthStep /= 2
      area -= Logarithm.of(2 * Self.zoom)
      for start in best(4, apart: 2 * step) {
        for offset in -Self.reach...Self.reach {
          let service = start.service + Double(offset) * step
          guard service > 0 else { continue }
          guard start.length.isFinite, start.length >= 0 else {
            tryOut(service, start.length, area: area)
            continue
          }
          for part in -2...2 {
            tryOut(service, max(0, start.length + Double(part) * lengthStep), area: area)
          }
        }
      }
      estimateCorrelation()
    }
    return step
  }

  // MARK: - One queue

  private mutating func tryOut(_ service: Double, _ length: Double, area: Double) {
    var trial = replay(service, length)
    trial.area = area
    trials.append(trial)
  }

  private mutating func replay(_ service: Double, _ length: Double) -> Trial {
    residuals.removeAll(keepingCapacity: true)
    var free = -Double.infinity
    var zero: Double?
    var sum = 0.0
    var squares = 0.0
    var surprises = 0.0
    var lost = 0
    for packet in packets {
      let start = max(packet.sent, free)
      let excess = start - packet.sent - length
      if packet.arrival.isNaN {
        if length < 0 {
          lost += 1
        } else if excess <= 0 {
          lost += 1
          free = start + service
        }
        continue
      }
      free = start + service
      if length >= 0, excess > 0 { surprises += min(1, excess / service) }
      let distance = packet.arrival - free
      let residual = distance - (zero ?? distance)
      zero = zero ?? distance
      residuals.append(residual)
      sum += residual
      squares += residual * residual
    }
    squares = max(0, squares - sum * sum / Double(max(1, residuals.count)))
    return Trial(
      service: service, length: length, squares: squares,
      losses: lossLikelihood(lost) - Self.surprise * surprises, area: 0)
  }

  /// Of so many losses behind the queue, and those of the calm line, all with one chance.
  private func lossLikelihood(_ lost: Int) -> Double {
    let hits = Double(lost + calm.lost)
    let rest = Double(receivedCount + calm.sent - calm.lost)
    guard hits > 0, rest > 0 else { return 0 }
    return hits * Logarithm.of(hits / (hits + rest)) + rest * Logarithm.of(rest / (hits + rest))
  }

  // MARK: - What is likely

  private func likelihood(_ trial: Trial) -> Double {
    let count = Double(max(1, receivedCount))
    let variance = trial.squares / count + Self.leastVariance
    return trial.losses - 0.5 * count / correlation * Logarithm.of(variance)
  }

  /// The likeliest trials, no two of which are within `apart` ns.
  func best(_ count: Int, apart: Double) -> [Trial] {
    var found: [Trial] = []
    for (trial, _) in trials.map({ ($0, likelihood($0)) }).sorted(by: { $0.1 > $1.1 }) {
      if found.allSatisfy({ abs($0.service - trial.service) > apart }) { found.append(trial) }
      if found.count == count { break }
    }
    return found
  }

  /// What neighbours have in common (the integrated autocorrelation time of Sokal 1989): 1 + twice
  /// the sum of the best trial's autocorrelations, up to the first that is next to nothing.
  private mutating func estimateCorrelation() {
    guard let best = best(1, apart: 0).first else { return }
    _ = replay(best.service, best.length)
    let count = residuals.count
    guard count > 8 else { return }
    let mean = residuals.reduce(0, +) / Double(count)
    for index in residuals.indices { residuals[index] -= mean }
    let variance = residuals.reduce(0) { $0 + $1 * $1 }
    guard variance > 0 else { return }
    var sum = 1.0
    var lag = 1
    // Of a fast train hundreds are alike: the longer the lag, the fewer of them are looked at.
    while lag < count / 4 {
      let step = max(1, lag / 16)
      var product = 0.0
      for index in 0..<(count - lag) { product += residuals[index] * residuals[index + lag] }
      guard product > 0.05 * variance else { break }
      sum += 2 * Double(step) * product / variance
      lag += step
    }
    correlation = max(1, 1.2 * sum - 0.2)
  }

  /// Median and 95 % interval of the service time, every trial weighted by its likelihood and by
  /// what it stands for.
  func quantiles() -> (low: Double, middle: Double, high: Double)? {
    let weights = trials.map { likelihood($0) + $0.area }
    guard let most = weights.max() else { return nil }
    let order = trials.indices.sorted { trials[$0].service < trials[$1].service }
    let total = weights.reduce(0) { $0 + Logarithm.exponential($1 - most) }
    var sum = 0.0
    var found: [Double] = []
    for index in order {
      sum += Logarithm.exponential(weights[index] - most)
      while found.count < Self.quantiles.count, sum >= Self.quantiles[found.count] * total {
        found.append(trials[index].service)
      }
    }
    return found.count == 3 ? (found[0], found[1], found[2]) : nil
  }

  private static let quantiles = [0.025, 0.5, 0.975]
  /// Lengths tried, as shares of the longest wait.
  private static let shortest = 0.3
  private static let longest = 1.26
  private static let lengthStep = 0.08
  private static let refinements = 3
  private static let zoom = 6.0
  private static let reach = 6
  /// (20 µs)²: what clocks and their steps leave open.
  private static let leastVariance = 4e8
  /// Cost of a packet's having come though the replayed queue was full by a packet or more.
  private static let surprise = 4.0
}
