import Primitives
import Wire

/// One direction of a probe: its packets, and how far its ramp and its load have come.
struct ProbeSide: Sendable {
  /// A train: asked for of the other end, or sent from here.
  struct Train: Sendable {
    var id: UInt8
    var rate: Double
    var payloadByteCount: Int
    var count: Int
    var part: TestPackets.Part
    var began: Instant
    /// When it should have been sent.
    var ends: Instant
    /// Index of its first packet; for the other end's trains a lower bound.
    var first: Int
  }

  let direction: LineDirection
  let isProbed: Bool
  /// What the test may send, in bit/s: what is expected, or the other end's own limit.
  private(set) var expected: Double
  /// The other end's own limit, where that is less than what is expected.
  private(set) var otherLimit: Double?
  var packets = TestPackets()
  /// The newest train; an ended one stays until the next.
  private(set) var train: Train?
  /// Where lost packets of trains belong.
  private(set) var parts: [UInt8: TestPackets.Part] = [:]
  /// When something of this direction last arrived, or was reported.
  private var lastNews = Instant.zero
  /// What the next train of the ramp will have, in bit/s; `nil` when the ramp is over.
  private(set) var nextRampRate: Double?
  /// What a train of the ramp had that was sent again, because it may have had bad luck.
  private var doubtedRate: Double?
  /// What the ramp showed.
  private(set) var rough: Double?
  private var isSaturated = false
  private var control: LoadControl?
  /// Index of the first packet of the loaded part.
  private var loadedFrom = 0
  /// What was to be sent under load.
  private var order = SendingOrder()

  init(_ direction: LineDirection, plan: ProbePlan) {
    self.direction = direction
    isProbed = plan.probes(direction)
    expected = Double(plan.expected(direction))
    let isRamped = isProbed && plan.measuresBandwidth
    let share = min(Self.mostAtFirst, expected / 16)
    nextRampRate = isRamped ? max(Self.firstRate, share) : nil
    if let rate = nextRampRate { nextRampRate = min(rate, expected) }
  }

  /// The other end sends at most so many bit/s.
  mutating func limit(to rate: Double) {
    guard rate < expected, rate > 0 else { return }
    expected = rate
    otherLimit = rate
    nextRampRate = nextRampRate.map { min($0, rate) }
  }

  // MARK: - Packets

  /// A packet that the other end sent came.
  mutating func appendArrival(
    _ sequence: UInt32, _ entry: TestPackets.Entry, ecn: UInt8, now: Instant
  ) {
    if entry.train == train?.id { lastNews = now }
    var entry = entry
    entry.ecn = ecn
    if ecn == ECNField.congestionExperienced { packets.marked += 1 }
    if ecn == ECNField.notCapable { packets.bleached += 1 }
    packets.noteReceived(sequence, entry)
  }

  /// The other end reported a packet of ours.
  mutating func confirmArrival(_ sequence: UInt32, at arrival: Int64, now: Instant) {
    let newTrain = packets.noteArrival(sequence, at: arrival)
    if newTrain == train?.id { lastNews = now }
  }

  mutating func begin(_ train: Train) {
    self.train = train
    parts[train.id] = train.part
  }

  mutating func endTrain() { train = nil }

  // MARK: - Ramp and steady part

  /// What the line carries roughly, as far as it may be used, in bit/s.
  var roughRate: Double? { rough.map { min($0, expected) } }

  /// Draws the lesson of a ramp's train, and sets the next one's rate.
  mutating func concludeRamp(of train: Train) {
    guard let verdict = TrainVerdict(entries(of: train), idleLoss: idleLoss) else {
      // Nearly nothing came: far too much, or the line is down.
      return endRamp()
    }
    if verdict.isDoubtful, doubtedRate != train.rate {
      // The same once more: a line that loses much must not look like a slow one.
      doubtedRate = train.rate
      return
    }
    rough = max(verdict.rate, (rough ?? 0) * 0.4)
    isSaturated = verdict.isSaturated
    let isTop = verdict.sentRate >= expected * 0.97
    nextRampRate = verdict.isSaturated || isTop ? nil : min(expected, verdict.sentRate * 2.5)
  }

  mutating func endRamp() { nextRampRate = nil }

  /// A steady train was too much: its packets count as the ramp's, and the ramp's rate falls.
  mutating func retreat(from train: Train) {
    packets.reassign(train: train.id, to: .ramp)
    parts[train.id] = .ramp
    rough = rough.map { $0 * Self.retreatShare }
  }

  // MARK: - Load

  /// Begins the loaded part; its first rate in bit/s, `nil` if there is nothing to begin with.
  mutating func beginLoad(now: Instant) -> Double? {
    guard let roughRate, let base else { return nil }
    let control = LoadControl(
      centre: roughRate, ceiling: expected * Self.loadShare, base: base + heldUp, spread: spread,
      loss: idleLoss, full: (packets.longestDelay ?? base) - base,
      opening: isSaturated ? 1.06 + min(0.15, 0.6 * idleLoss) : 1.02,
      packetBits: packetBits ?? 0, now: now)
    self.control = control
    order.begin(control.rate, now: now)
    loadedFrom = packets.entries.count
    return control.rate
  }

  /// Sets the rate of the loaded train by what came of it; `nil` if none runs or none has come.
  mutating func steerLoad(roundTrip: Duration, now: Instant) -> Double? {
    guard let train, train.part == .loaded else { return nil }
    let start = packets.entries[min(loadedFrom, packets.entries.count)...].firstIndex {
      $0.train == train.id
    }
    guard let start else { return nil }
    control?.update(
      packets.entries[start...], roundTrip: Double(roundTrip.nanoseconds), now: now)
    guard let rate = control?.rate else { return nil }
    self.train?.rate = rate
    order.change(to: rate, now: now)
    return rate
  }

  // MARK: - Getters

  /// What was sent under load, as a share of what was to be sent: less than all where the host that
  /// sends is too slow. `nil` where too little was sent to say.
  var sentShare: Double? { order.share(of: packets.entries.filter { $0.part == .loaded }) }

  /// Of the steady part's packets, which the loaded part's are like.
  private var packetBits: Double? {
    packets.entries.last { $0.part == .steady }.map { 8 * Double($0.byteCount) }
  }

  /// Packets sent, and lost, while nothing of ours was in the way; up to the last that came.
  var calmLoss: (lost: Int, sent: Int) {
    var sent = 0
    var lost = 0
    var lostSince = 0
    var sentSince = 0
    for entry in packets.entries where entry.part == .idle || entry.part == .steady {
      sentSince += 1
      if entry.isReceived {
        sent += sentSince
        lost += lostSince
        sentSince = 0
        lostSince = 0
      } else {
        lostSince += 1
      }
    }
    return (lost, sent)
  }

  /// The same as a share.
  var idleLoss: Double {
    let calm = calmLoss
    return calm.sent > 0 ? Double(calm.lost) / Double(calm.sent) : 0
  }

  /// Whether nothing more can be learned of the newest train: all of it came, or what came last
  /// is some time ago.
  func isSettled(_ train: Train, roundTrip: Duration, now: Instant) -> Bool {
    let over = train.ends + roundTrip
    guard now >= train.ends else { return false }
    if now >= over + .milliseconds(700) { return true }
    let received = entries(of: train).count { $0.isReceived }
    if received >= train.count { return true }
    // The other end's trains come packet by packet, ours come to light report by report.
    let quiet = direction == .downlink ? Self.arrivalGrace : Self.reportGrace
    guard now >= lastNews + quiet else { return false }
    return received * 2 >= train.count || now >= over + .milliseconds(350)
  }

  /// The packets of a train, up to the last that came: of those after it nothing is known yet.
  func entries(of train: Train) -> [TestPackets.Entry] {
    let own = packets.entries[min(train.first, packets.entries.count)...].filter {
      $0.train == train.id
    }
    guard let last = own.lastIndex(where: \.isReceived) else { return [] }
    return Array(own[...last])
  }

  /// Mean delay in the steady part, in ns: what the bottleneck adds when no queue stands. Not more
  /// than the idle part's by much: the steady part may have been too much for the line.
  var base: Double? {
    let idle = meanDelay(of: .idle)
    guard let steady = meanDelay(of: .steady) else { return idle?.delay }
    guard let idle, let rough else { return steady.delay }
    let longer = max(0, steady.byteCount - idle.byteCount) * 8e9 / rough
    return min(steady.delay, idle.delay + longer + Self.baseAllowance)
  }

  /// By how much jitter that holds packets up may delay all of them where they are close, above the
  /// mean of the steady part, in ns: as long as the longest of it.
  private var heldUp: Double {
    let steady = packets.entries.filter { $0.part == .steady }
    let idle = packets.entries.filter { $0.part == .idle && $0.isReceived }
    guard let bits = packetBits, let rough, let base,
      let held = HeldUpGaps(steady, most: 1.3 * bits * 1e9 / rough),
      held.isJitter(steady, idle: idle), let longest = idle.map(\.delay).max()
    else { return 0 }
    return max(0, Double(longest) - base)
  }

  /// Standard deviation of the delays without a queue, in ns.
  var spread: Double {
    let delays = packets.entries.filter { $0.part == .steady && $0.isReceived }
      .map { Double($0.delay) }
    guard delays.count >= 8 else { return 0 }
    let mean = delays.reduce(0, +) / Double(delays.count)
    let sum = delays.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
    return (sum / Double(delays.count)).squareRoot()
  }

  private func meanDelay(of part: TestPackets.Part) -> (delay: Double, byteCount: Double)? {
    var delay = 0.0
    var bytes = 0.0
    var count = 0
    for entry in packets.entries where entry.part == part && entry.isReceived {
      delay += Double(entry.delay)
      bytes += Double(entry.byteCount)
      count += 1
    }
    return count >= 8 ? (delay / Double(count), bytes / Double(count)) : nil
  }

  /// Whether the steady part is too much for the line: its delay is far above the idle one, or it
  /// loses far more. Half of a round trip and 250 ms must have passed.
  func isOverloaded(_ train: Train, overhead: Int) -> Bool {
    let idle = packets.entries.filter { $0.part == .idle && $0.isReceived }.map {
      Double($0.delay)
    }.sorted()
    let steady = entries(of: train).suffix(60)
    let received = steady.filter(\.isReceived)
    guard idle.count >= 20, received.count >= 12, let size = received.first?.byteCount else {
      return false
    }
    let middle = idle[idle.count / 2]
    let spread = idle[idle.count * 19 / 20] - middle
    let mean = received.reduce(0) { $0 + Double($1.delay) } / Double(received.count)
    let longer = Double(size) * 8e9 / (train.rate / Self.steadyShare)
    if mean - middle > longer + 10e6 + spread / 2 { return true }
    let count = Double(steady.count)
    let share = Double(packets.entries.count { $0.part == .idle && !$0.isReceived })
    let idleShare = share / Double(max(1, packets.entries.count { $0.part == .idle }))
    let lost = 1 - Double(received.count) / count
    let chance = (max(0.02, idleShare) * (1 - idleShare) / count).squareRoot()
    return lost > idleShare + 3.5 * chance + 0.05
  }

  /// Of what the ramp showed, what the steady part sends.
  static let steadyShare = 0.75
  /// Of what is expected or shown, what the loaded part sends at most.
  static let loadShare = 1.05
  /// Of a rate that was too much, what is tried next.
  static let retreatShare = 0.7

  /// Bytes of UDP payload of a train's packets: 5 ms at its rate.
  static func payloadByteCount(rate: Double, overhead: Int) -> Int {
    let wanted = Int(rate * 0.005 / 8) - overhead
    return min(Datagram.maximumByteCount, max(160, wanted))
  }

  private static let firstRate = 250_000.0
  /// Whatever is expected: a train of 100 ms at it fills a queue of 50 kbit/s for 2 s.
  private static let mostAtFirst = 1_000_000.0
  /// ns by which jitter alone delays close packets longer than those that are far apart.
  private static let baseAllowance = 5e6
  private static let arrivalGrace = Duration.milliseconds(50)
  private static let reportGrace = Duration.milliseconds(80)
}
