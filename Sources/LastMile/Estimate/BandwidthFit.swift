/// The bandwidth of one direction from the packets of its loaded part (docs/protocol/probe.md §5).
struct BandwidthFit: Sendable {
  /// Bits of IP packets a second.
  var rate: Double
  /// Half of the 95 % interval, as a share of the rate.
  var error: Double
  /// Whether a queue stood at the bottleneck; if not, `rate` is what was carried.
  var isBusy: Bool
  /// The service was less even than that of a line of constant rate.
  var isUnsteady: Bool
  /// Jitter held packets up, and explains how uneven the service was.
  var isHeldUp = false
  /// What the gaps of packets that jitter held up speak for, in bit/s.
  private var reach: (low: Double, high: Double)?

  /// - Parameters:
  ///   - entries: The loaded part, in the order of sending.
  ///   - base: Delay without a queue at this pace, in ns.
  ///   - calm: Packets lost, of how many, at rates that the line carries.
  ///   - longest: The longest delay seen anywhere in the test, in ns.
  ///   - before: What was sent before, at a rate that the line carries.
  ///   - idle: Echoes, which are far from each other: their delays are the jitter's own.
  init?(
    _ entries: [TestPackets.Entry], base: Double, calm: (lost: Int, sent: Int), longest: Double,
    before: [TestPackets.Entry] = [], idle: [TestPackets.Entry] = []
  ) {
    guard let size = entries.first?.byteCount else { return nil }
    let points = Self.points(entries)
    let busy = Self.longestBusy(points, base: base)
    guard let last = busy.last, let first = busy.first, busy.count >= Self.fewest,
      last.arrival - first.arrival >= Self.shortest
    else {
      // The load grows while no queue shows.
      let late = Array(points.suffix(max(Self.fewest, points.count / 2)))
      guard let fit = Self(carried: late, bits: Double(size) * 8e9, calm: calm) else { return nil }
      self = fit
      widen(entries, idle: idle, bits: Double(size) * 8e9)
      return
    }
    let most = Self.longestDelay(busy) - base
    let fit = Self(
      busy: busy, bits: Double(size) * 8e9, calm: calm,
      mayOverflow: most > 0.75 * (longest - base))
    guard let fit else { return nil }
    self = fit
    let same = before.filter { $0.byteCount == size }
    let sent = max(0, calm.sent - same.count)
    refine(
      Self.packets(same + entries), busy: busy, bits: Double(size) * 8e9,
      longestWait: max(Self.longestDelay(points[...]) - base, 1e6),
      calm: (min(sent, max(0, calm.lost - same.count { !$0.isReceived })), sent))
    // Jitter delays close packets longer than those that are far apart, by a part of its size.
    error += Self.shift * Self.spread(before) / (last.arrival - first.arrival)
    widen(entries, idle: idle, bits: Double(size) * 8e9)
  }

  /// Standard deviation of the delays, in ns.
  private static func spread(_ entries: [TestPackets.Entry]) -> Double {
    let delays = entries.lazy.filter(\.isReceived).map { Double($0.delay) }
    let count = Double(max(1, delays.count))
    let mean = delays.reduce(0, +) / count
    return (delays.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / count).squareRoot()
  }

  /// Ends of the 95 % interval, in bit/s.
  var low: Double { min(rate * (1 - error), reach?.low ?? .infinity) }
  var high: Double { max(rate * (1 + error), reach?.high ?? 0) }

  /// Replays what was sent, and takes that for the answer unless it explains the times far worse
  /// than a straight line does: then the bottleneck is no queue of constant rate.
  private mutating func refine(
    _ packets: [QueueReplay.Packet], busy: ArraySlice<Point>, bits: Double, longestWait: Double,
    calm: (lost: Int, sent: Int)
  ) {
    guard let overSent = LineFit(busy.map { ($0.number, $0.arrival) }),
      let overReceived = LineFit(busy.map { ($0.rank, $0.arrival) }),
      overSent.slope > 0, overReceived.slope > 0.9 * overSent.slope,
      let replay = QueueReplay(
        packets, services: (0.93 * overSent.slope)...(1.07 * overReceived.slope),
        gap: Self.gap(busy), longestWait: longestWait, calm: calm)
    else { return }
    let line = min(overSent.residual, overReceived.residual) / Double(busy.count)
    guard replay.variance < Self.worse * line + Self.alike else { return }
    rate = bits / replay.service
    let half = max(replay.longest - replay.service, replay.service - replay.shortest)
    // Of few independent samples the normal variable's quantile is too small, about as Student's.
    let few = 1 + Self.student / replay.independentCount
    error = max(half / replay.service * few + Self.resolution, isUnsteady ? error : 0)
    isUnsteady = isUnsteady || error > Self.unsteady
  }

  /// Where jitter held packets up, what their gaps say counts: what was replayed then met the same
  /// bottleneck, but not the same delay. Where both are far from each other either may be right.
  private mutating func widen(
    _ entries: [TestPackets.Entry], idle: [TestPackets.Entry], bits: Double
  ) {
    guard let held = HeldUpGaps(entries, most: 1.1 * bits / rate) else { return }
    let other = bits / held.service
    let distance = abs(rate / other - 1)
    let isJitter = held.isJitter(entries, idle: idle)
    isHeldUp = isJitter ? distance <= Self.near || held.isMost(of: idle) : distance <= Self.same
    isUnsteady = isUnsteady && !isHeldUp
    guard isJitter, isBusy else { return }
    let doubt = other * (held.error + Self.resolution)
    reach = (min(rate * (1 - error), other - doubt), max(rate * (1 + error), other + doubt))
    guard distance <= Self.near, held.service >= Self.shortestGap else { return }
    rate = other
    error = held.error + Self.resolution
  }

  /// Between two packets next to each other behind which a queue stood: what is usual. Exact where
  /// nothing jitters.
  private static func gap(_ points: ArraySlice<Point>) -> Double? {
    let gaps = zip(points, points.dropFirst()).compactMap { early, late in
      late.number == early.number + 1 ? late.arrival - early.arrival : nil
    }.sorted()
    guard gaps.count >= 8 else { return nil }
    let middle = gaps[gaps.count / 2]
    let near = gaps.filter { abs($0 - middle) <= 0.1 * middle }
    return near.reduce(0, +) / Double(near.count)
  }

  /// Where a lost packet's time of sending is not known, it was sent evenly between its neighbours.
  private static func packets(_ entries: [TestPackets.Entry]) -> [QueueReplay.Packet] {
    guard let first = entries.first(where: \.isReceived) else { return [] }
    var packets = entries.map {
      QueueReplay.Packet(
        sent: Double($0.sent - first.sent),
        arrival: $0.isReceived ? Double($0.arrival - first.arrival) : .nan)
    }
    var known: Int?
    for index in entries.indices where entries[index].hasSent {
      if let from = known, index > from + 1 {
        let step = (packets[index].sent - packets[from].sent) / Double(index - from)
        for between in (from + 1)..<index {
          packets[between].sent = packets[from].sent + step * Double(between - from)
        }
      }
      known = index
    }
    return packets
  }

  /// From packets behind which a queue stood.
  private init?(
    busy: ArraySlice<Point>, bits: Double, calm: (lost: Int, sent: Int), mayOverflow: Bool
  ) {
    guard let first = busy.first, let last = busy.last,
      let overSent = LineFit(busy.map { ($0.number, $0.arrival) }),
      let overReceived = LineFit(busy.map { ($0.rank, $0.arrival) }),
      overSent.slope > 0, overReceived.slope > 0
    else { return nil }
    isBusy = true
    let count = last.number - first.number + 1
    let lost = 1 - Double(busy.count) / count
    let calmCount = Double(max(1, calm.sent))
    let share = Double(calm.lost) / calmCount
    let chance = (share * (1 - share) * (1 / count + 1 / calmCount)).squareRoot()
    let doubt = mayOverflow ? 1.5 : 3.5
    if lost > share + doubt * chance + 0.005 {
      // The queue overflowed. What it took is what came out, and what the line lost behind it.
      rate = bits / overReceived.slope / max(0.2, 1 - share)
      let own = Self.quantile * overReceived.standardError / overReceived.slope
      let others = 1.96 * chance / max(0.2, 1 - share)
      error = (own * own + others * others).squareRoot() + Self.resolution
      isUnsteady = own > Self.unsteady
    } else {
      // Lost before the bottleneck only if that explains the times far better.
      let isLostBefore = overReceived.residual < 0.25 * overSent.residual
      let fit = isLostBefore ? overReceived : overSent
      rate = bits / fit.slope
      error = Self.quantile * fit.standardError / fit.slope + Self.resolution
      isUnsteady = error > Self.unsteady
    }
  }

  /// From packets that met no queue: at least that much. Where far more is lost than on the calm
  /// line, the rate is limited without a queue (a policer, RFC 2475 §2.3.3.4): then that is it.
  private init?(carried points: [Point], bits: Double, calm: (lost: Int, sent: Int)) {
    guard let carried = LineFit(points.map { ($0.sent, $0.arrival) }),
      let offered = LineFit(points.map { ($0.number, $0.sent) }), carried.slope > 0,
      offered.slope > 0
    else { return nil }
    rate = bits / offered.slope / max(1, carried.slope)
    error = Self.quantile * carried.standardError + Self.resolution
    isBusy = false
    isUnsteady = false
    guard let first = points.first, let last = points.last else { return }
    let doubt = LossDoubt(
      received: points.count, of: Int(last.number - first.number) + 1, calm: calm)
    guard doubt.lost > doubt.share + 3.5 * doubt.chance + 0.02 else { return }
    isBusy = true
    rate *= (1 - doubt.lost) / max(0.2, 1 - doubt.share)
    error += 1.96 * doubt.chance / max(0.2, 1 - doubt.share)
  }

  /// Loss under load beside that of the calm line.
  private struct LossDoubt {
    var lost: Double
    var share: Double
    /// Standard deviation of their difference, if both are one.
    var chance: Double

    init(received: Int, of count: Int, calm: (lost: Int, sent: Int)) {
      lost = 1 - Double(received) / Double(max(1, count))
      let calmCount = Double(max(1, calm.sent))
      share = Double(calm.lost) / calmCount
      let pooled = max(share, 1 / calmCount)
      chance =
        (pooled * max(0, 1 - pooled) * (1 / Double(max(1, count)) + 1 / calmCount)).squareRoot()
    }
  }

  private struct Point {
    /// Of the packet among those sent, and among those received.
    var number: Double
    var rank: Double
    var sent: Double
    var arrival: Double
  }

  private static func points(_ entries: [TestPackets.Entry]) -> [Point] {
    guard let first = entries.first(where: \.isReceived) else { return [] }
    var points: [Point] = []
    points.reserveCapacity(entries.count)
    for (index, entry) in entries.enumerated() where entry.isReceived {
      points.append(
        Point(
          number: Double(index), rank: Double(points.count),
          sent: Double(entry.sent - first.sent),
          arrival: Double(entry.arrival - first.arrival)))
    }
    let zero = Double(first.delay)
    for index in points.indices { points[index].sent -= zero }
    return points
  }

  /// The longest stretch in which the delay, smoothed over 2 × 8 neighbours, is above the base.
  private static func longestBusy(_ points: [Point], base: Double) -> ArraySlice<Point> {
    var sums = [0.0]
    for point in points { sums.append(sums[sums.count - 1] + point.arrival - point.sent) }
    var best = points[0..<0]
    var start: Int?
    for index in 0...points.count {
      var isBusy = false
      if index < points.count {
        let low = max(0, index - neighbours)
        let high = min(points.count, index + neighbours + 1)
        isBusy = (sums[high] - sums[low]) / Double(high - low) - base > threshold
      }
      if isBusy {
        start = start ?? index
      } else if let from = start {
        if index - from > best.count { best = points[from..<index] }
        start = nil
      }
    }
    return best
  }

  private static func longestDelay(_ points: ArraySlice<Point>) -> Double {
    var longest = -Double.infinity
    let delays = points.map { $0.arrival - $0.sent }
    for start in delays.indices.dropLast(4) {
      longest = max(longest, delays[start..<(start + 5)].reduce(0, +) / 5)
    }
    return longest
  }

  /// Of the jitter's standard deviation. Tuned: `tools/probe-accuracy --shapes`.
  private static let shift = 0.25
  /// Divided by the independent samples. Tuned: `tools/probe-accuracy --shapes`.
  private static let student = 5.0
  /// The rates by gaps and by the replay may be so far apart, as a share, where jitter explains it:
  /// the replay takes delay that jitter builds up under load for slow service.
  private static let near = 0.1
  /// ns: shorter gaps are but a few steps of the times on the wire, and less sure than the replay.
  private static let shortestGap = 500e3
  /// Rates that differ by less leave nothing for anybody else.
  private static let same = 0.03
  private static let neighbours = 8
  /// ns of queue.
  private static let threshold = 4e6
  private static let fewest = 24
  /// ns.
  private static let shortest = 200e6
  /// 97.5th percentile of Student's t with 8 degrees of freedom.
  private static let quantile = 2.306
  /// What the wire's steps and single packets leave open.
  private static let resolution = 0.0003
  /// A replay may be so much worse than a line, as a factor and in ns².
  private static let worse = 2.0
  private static let alike = 4e12
  /// A half width, of a line's or a replay's interval, beyond which the rate was not steady.
  private static let unsteady = 0.05
}
