/// The service time of a line whose jitter holds packets up: those behind a late one follow as fast
/// as the line is, and never faster (NR-BPDV of RFC 8868). So many gaps between neighbours are
/// alike, and hardly any is shorter. Where jitter leaves packets free to come at once, or to
/// overtake each other, nothing of the kind is seen.
struct HeldUpGaps: Sendable, BitwiseCopyable {
  /// ns for a packet.
  let service: Double
  /// Half of its 95 % interval, as a share.
  let error: Double

  /// - Parameters:
  ///   - entries: Of one size, in the order of sending.
  ///   - most: A gap that is surely longer than the service time, in ns.
  init?(_ entries: [TestPackets.Entry], most: Double) {
    var gaps: [Double] = []
    gaps.reserveCapacity(entries.count)
    for (early, late) in zip(entries, entries.dropFirst())
    where early.isReceived && late.isReceived {
      gaps.append(Double(late.arrival &- early.arrival))
    }
    guard gaps.count >= Self.fewest else { return nil }
    gaps.sort()
    guard let alike = Self.densest(gaps, from: 0.4 * most, to: most),
      Double(alike.count) >= Self.leastShare * Double(gaps.count), alike.count >= Self.fewest,
      Double(alike.startIndex) <= Self.mostShorter * Double(gaps.count)
    else { return nil }
    let count = Double(alike.count)
    let mean = alike.reduce(0, +) / count
    let scatter = alike.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / count
    service = mean
    error = (2 * (scatter / count).squareRoot() + Self.clock / count.squareRoot()) / mean
  }

  /// Whether most packets of the idle line wait, as by jitter: behind somebody's bursts few do.
  func isMost(of idle: [TestPackets.Entry]) -> Bool {
    let delays = idle.filter(\.isReceived).map(\.delay).sorted()
    guard let least = delays.first else { return false }
    return Double(delays[delays.count / 2] &- least) > Self.leastWait * service
  }

  /// Whether jitter as on the idle line explains how often packets were held up anew.
  ///
  /// A packet is held up anew if its own delay is longer than what the one before it left: the less
  /// likely, the longer that is. Somebody else's packets do it whatever the delay is.
  func isJitter(_ loaded: [TestPackets.Entry], idle: [TestPackets.Entry]) -> Bool {
    let echoes = idle.filter(\.isReceived)
    guard let least = echoes.map(\.delay).min(), let size = loaded.first?.byteCount,
      let echo = echoes.first, echoes.count >= Self.fewestEchoes
    else { return false }
    let waits = echoes.map { Double($0.delay &- least) }.sorted()
    let zero = Double(least) - service * Double(echo.byteCount) / Double(size)
    var free = -Double.infinity
    var before: Double?
    var seen = 0.0
    var expected = 0.0
    for entry in loaded {
      let departure = max(Double(entry.sent) + zero, free) + service
      let arrival = entry.isReceived ? Double(entry.arrival) : .infinity
      // A queue that overflowed is shorter than a replay without end.
      free = min(departure, arrival)
      if entry.isReceived, let before, before + service - free > Self.step {
        expected += Self.chance(ofMore: before + service - free, among: waits)
        if arrival > before + service + 2 * Self.step { seen += 1 }
      }
      before = entry.isReceived ? arrival : nil
    }
    return seen < Self.most * (expected + 1)
  }

  /// Of a wait longer than one; never 0, as few were seen.
  private static func chance(ofMore wait: Double, among waits: [Double]) -> Double {
    let above = waits.count - (waits.firstIndex { $0 > wait } ?? waits.count)
    return Double(above + 1) / Double(waits.count + 2)
  }

  /// The most values that are alike, between two bounds.
  private static func densest(
    _ sorted: [Double], from low: Double, to high: Double
  ) -> ArraySlice<Double>? {
    var best: Range<Int>?
    var first = sorted.firstIndex { $0 >= low } ?? sorted.count
    var last = first
    while first < sorted.count, sorted[first] <= high {
      let end = sorted[first] + 2 * max(step, alikeShare * sorted[first])
      while last < sorted.count, sorted[last] <= end { last += 1 }
      if last - first > best?.count ?? 0 { best = first..<last }
      first += 1
    }
    return best.map { sorted[$0] }
  }

  private static let fewest = 16
  /// Of all gaps, those that are alike, at least, and those that are shorter, at most.
  private static let leastShare = 0.2
  private static let mostShorter = 0.04
  /// ns: the step of times on the wire, and what hosts add. Gaps so far from each other are alike.
  private static let step = 30e3
  private static let clock = 16e3
  /// The same, as a share of the gap.
  private static let alikeShare = 0.005
  private static let fewestEchoes = 8
  /// Of the service time.
  private static let leastWait = 0.25
  /// Jitter of eight shapes has less than 1.5 times what is expected in 98 of 100 probes.
  private static let most = 1.5
}
