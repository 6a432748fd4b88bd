package import Primitives
package import Wire

/// Every packet under way, and what FEEDBACK says became of it (docs/protocol/frames.md §2, RFC
/// 9002 §6.1). A ring of fixed size; after construction nothing is allocated.
///
/// Use: `record` what is sent; `handle` each FEEDBACK and each timeout, then `poll` until `nil`.
///
/// Station 9 of the house tour; next is `CallPath`.
package struct SentPacketHistory: Sendable {
  package private(set) var roundTrip = RoundTripEstimator()
  package private(set) var quality = PathQuality()
  /// Of packets that elicit FEEDBACK and are neither reported nor lost.
  package private(set) var bytesInFlight = 0
  /// The sample that the last FEEDBACK gave, in nanoseconds.
  package private(set) var latestSample: UInt64?
  /// Whether the last FEEDBACK told of any packet for the first time.
  package private(set) var hasNews = false
  /// For how long, by the last FEEDBACK, something has been missing that was sent after all that
  /// arrived: nanoseconds. As long as nothing has news the path carries nothing.
  package private(set) var overdue: UInt64 = 0

  private var ring: [SentPacketEntry]
  private let mask: UInt64
  private var epochs = InlineArray<4, EpochSpan>(repeating: EpochSpan())
  private var newestNumber: UInt64 = 0
  private var clock = ArrivalClock()
  /// Serial numbers count packets over all epochs, in the order of sending.
  private var nextSerial: UInt64 = 0
  /// Every packet before it has met its fate.
  private var oldestOpen: UInt64 = 0
  /// Every packet before it is reported or below one that is.
  private var reportedEnd: UInt64 = 0
  /// Where fates may wait for `poll`.
  private var pollStart: UInt64 = 0
  private var pollEnd: UInt64 = 0
  private var lossDeadline: Instant?
  /// Outcomes of packets that had to make room.
  private var evicted: [PacketOutcome] = []

  /// - Parameter capacity: Packets remembered, a power of two: 2048 are 64 KiB, and 2 s of the
  ///   fastest stream that we send (8 Mbit/s).
  package init(capacity: Int = 2048) {
    precondition(capacity > 0 && capacity & (capacity - 1) == 0, "capacity is a power of two")
    ring = Array(repeating: SentPacketEntry(), count: capacity)
    mask = UInt64(capacity - 1)
  }

  // MARK: Inputs

  /// Notes a packet that was sent; numbers rise. When an open packet has to make room (nothing was
  /// reported for 2048 packets) it counts as lost.
  package mutating func record(_ packet: SentPacket) {
    let serial = assignSerial(packet.number)
    ring[slot(serial)] = SentPacketEntry(packet)
    quality.noteSent(byteCount: packet.byteCount)
    if packet.elicitsFeedback { bytesInFlight += packet.byteCount }
  }

  /// A packet has this number whose fate says nothing of the path: it may be reported, and counts
  /// as neither sent nor lost.
  package mutating func skip(_ number: UInt64) { _ = assignSerial(number) }

  /// Takes a FEEDBACK. `packet` is the one that it was read from. Throws when it reports numbers
  /// that were never sent; one about an epoch long gone is ignored.
  package mutating func handle(
    _ frame: FeedbackFrame, in packet: Span<UInt8>, now: Instant
  ) throws(WireError) {
    latestSample = nil
    hasNews = false
    overdue = 0
    let header = frame.header
    let epoch = Int(header.epoch & 3)
    guard epochs[epoch].isUsed else { throw .invalid("feedback epoch", at: 0) }
    guard header.largest < epochs[epoch].end else {
      throw .invalid("feedback on a number never sent", at: 0)
    }
    quality.noteReport()
    let largestTicks = clock.unwrap(header.arrival)
    takeSample(header, in: epoch, now: now)
    var entries = frame.entries(in: packet)
    while let entry = entries.next() {
      guard entry.isReceived else { continue }
      let ticks = largestTicks &+ Int64(Int32(bitPattern: entry.arrival &- header.arrival))
      acknowledge(
        entry.number, in: epoch, ticks: ticks,
        isCongestionExperienced: entry.isCongestionExperienced)
    }
    if !hasNews { overdue = missingTime(header, in: epoch) }
    detectLosses(now: now)
  }

  /// Declares lost what has become old enough. Harmless when early.
  package mutating func handleTimeout(now: Instant) {
    guard let lossDeadline, lossDeadline <= now else { return }
    detectLosses(now: now)
  }

  // MARK: Outputs

  /// The next packet whose fate is decided, in the order of sending.
  package mutating func poll() -> PacketOutcome? {
    if !evicted.isEmpty { return evicted.removeFirst() }
    while pollStart < pollEnd {
      let index = slot(pollStart)
      pollStart += 1
      if let outcome = ring[index].takeOutcome() { return outcome }
    }
    return nil
  }

  package var nextDeadline: Instant? { lossDeadline }

  /// Packets recorded that are neither reported nor lost.
  package var hasOpenPackets: Bool { oldestOpen < nextSerial }

  // MARK: Serial numbers

  private func slot(_ serial: UInt64) -> Int { Int(truncatingIfNeeded: serial & mask) }

  private mutating func assignSerial(_ number: UInt64) -> UInt64 {
    let epoch = UInt32(truncatingIfNeeded: number >> 32)
    let low = UInt32(truncatingIfNeeded: number)
    precondition(nextSerial == 0 || number > newestNumber, "packet numbers rise")
    let index = Int(epoch & 3)
    if !epochs[index].isUsed || epochs[index].epoch != epoch {
      epochs[index] = EpochSpan(epoch: epoch, offset: nextSerial &- UInt64(low))
    }
    let serial = epochs[index].offset &+ UInt64(low)
    // Numbers used up without a packet leave places that match none.
    while nextSerial <= serial {
      makeRoom(for: nextSerial)
      ring[slot(nextSerial)] = SentPacketEntry()
      nextSerial += 1
    }
    epochs[index].end = low &+ 1
    newestNumber = number
    return serial
  }

  private mutating func makeRoom(for serial: UInt64) {
    guard serial > mask else { return }
    let oldest = serial - mask - 1
    if oldestOpen == oldest {
      let index = slot(oldest)
      if ring[index].state == .open {
        lose(oldest)
        if let outcome = ring[index].takeOutcome() { evicted.append(outcome) }
      }
      settle(ring[index])
      oldestOpen += 1
    }
    pollStart = max(pollStart, oldest + 1)
    pollEnd = max(pollEnd, pollStart)
  }

  // MARK: Fates

  /// RTT = now − time sent − the reported delay, if the largest number is reported for the first
  /// time (RFC 9002 §5.1). A delay that cannot be true gives no sample.
  private mutating func takeSample(_ header: FeedbackHeader, in epoch: Int, now: Instant) {
    guard let serial = serial(of: header.largest, in: epoch), header.delay < .max else { return }
    let entry = ring[slot(serial)]
    let elapsed = now.nanoseconds(since: Instant(nanoseconds: entry.sent))
    let delay = UInt64(header.delay) * FeedbackHeader.nanosecondsPerTick
    guard entry.state == .open, elapsed >= delay else { return }
    latestSample = elapsed - delay
    roundTrip.add(elapsed - delay)
  }

  /// How long before the report the first packet after the largest reported one should have come,
  /// had it taken the same time.
  private func missingTime(_ header: FeedbackHeader, in epoch: Int) -> UInt64 {
    guard let serial = serial(of: header.largest, in: epoch) else { return 0 }
    let waited = UInt64(header.delay) * FeedbackHeader.nanosecondsPerTick
    var next = serial + 1
    while next < nextSerial {
      let entry = ring[slot(next)]
      next += 1
      guard entry.state != .none, entry.elicitsFeedback else { continue }
      let behind = entry.sent &- min(entry.sent, ring[slot(serial)].sent)
      return waited &- min(waited, behind)
    }
    return 0
  }

  private mutating func acknowledge(
    _ number: UInt32, in epoch: Int, ticks: Int64, isCongestionExperienced: Bool
  ) {
    guard let serial = serial(of: number, in: epoch) else { return }
    epochs[epoch].noteReported(number)
    reportedEnd = max(reportedEnd, serial + 1)
    let index = slot(serial)
    let byteCount = Int(ring[index].byteCount)
    switch ring[index].state {
    case .open:
      if ring[index].elicitsFeedback { bytesInFlight -= byteCount }
      quality.noteAcknowledged(
        byteCount: byteCount, isCongestionExperienced: isCongestionExperienced)
      ring[index].state = .acknowledged
    case .lost:
      quality.noteSpurious(byteCount: byteCount)
      ring[index].state = .acknowledged
    case .lostAndTold:
      quality.noteSpurious(byteCount: byteCount)
      ring[index].state = .acknowledgedLate
    case .none, .acknowledged, .acknowledgedLate, .told: return
    }
    hasNews = true
    ring[index].arrival = ticks
    ring[index].isCongestionExperienced = isCongestionExperienced
    willPoll(serial)
  }

  /// RFC 9002 §6.1: lost is what was sent before a reported packet and is three numbers below one
  /// of its epoch, or old enough.
  private mutating func detectLosses(now: Instant) {
    lossDeadline = nil
    let lossDelay = roundTrip.lossDelay
    for serial in oldestOpen..<max(oldestOpen, reportedEnd) {
      let entry = ring[slot(serial)]
      guard entry.state == .open else { continue }
      let (due, overflow) = entry.sent.addingReportingOverflow(lossDelay)
      let deadline = Instant(nanoseconds: overflow ? .max : due)
      let span = epochs[Int(truncatingIfNeeded: entry.number >> 32 & 3)]
      if span.isBehind(entry.number, by: Self.packetThreshold) || deadline <= now {
        lose(serial)
      } else {
        lossDeadline = earliest(lossDeadline, deadline)
      }
    }
    while oldestOpen < reportedEnd, ring[slot(oldestOpen)].state != .open {
      settle(ring[slot(oldestOpen)])
      oldestOpen += 1
    }
  }

  private mutating func lose(_ serial: UInt64) {
    let index = slot(serial)
    let byteCount = Int(ring[index].byteCount)
    if ring[index].elicitsFeedback { bytesInFlight -= byteCount }
    ring[index].state = .lost
    quality.noteLost(byteCount: byteCount)
    willPoll(serial)
  }

  private mutating func settle(_ entry: SentPacketEntry) {
    guard entry.state != .none else { return }
    quality.noteInOrder(isLost: entry.isLost)
  }

  private mutating func willPoll(_ serial: UInt64) {
    pollStart = pollStart < pollEnd ? min(pollStart, serial) : serial
    pollEnd = max(pollEnd, serial + 1)
  }

  /// The serial number of a packet that is still in the ring.
  private func serial(of number: UInt32, in epoch: Int) -> UInt64? {
    let serial = epochs[epoch].offset &+ UInt64(number)
    let transportNumber = UInt64(epochs[epoch].epoch) << 32 | UInt64(number)
    guard serial < nextSerial, ring[slot(serial)].number == transportNumber else { return nil }
    return serial
  }

  /// kPacketThreshold (RFC 9002 §6.1.1).
  private static let packetThreshold: UInt32 = 3
}
