package import Primitives
package import Wire

/// Remembers when packets arrived, and writes the FEEDBACK about them (docs/protocol/frames.md §2).
///
/// Station 16 of the house tour: every opened packet is noted here, and the report goes back to
/// `SentPacketHistory`.
/// After construction nothing is allocated but, at a change of epoch, one more log.
package struct FeedbackRecorder: Sendable {
  /// How long a packet with PING or MSG waits for its report.
  package static let soonDelay: UInt64 = 20_000_000
  /// 100 ms; with audio alone 200 ms. In nanoseconds.
  package static let usualInterval: UInt64 = 100_000_000
  package static let audioInterval: UInt64 = 200_000_000

  /// Between two reports however much arrives.
  package static let shortestInterval: UInt64 = 20_000_000
  /// Between two reports however little the way back carries.
  package static let longestLeast: UInt64 = 250_000_000
  /// Between two reports on what a relay sends: it has many members, and each report wakes it.
  private static let leastOfRelay: UInt64 = 50_000_000
  /// For what arrives in one go, such as a Wi-Fi burst: the report covers all of it.
  private static let gatheringDelay: UInt64 = 2_000_000
  /// A report in a packet of its own: UDP and IPv4 headers 28, ours and the tag 25, the frame 13.
  private static let reportByteCount = 66
  /// A report may cost 1/20 of what it reports.
  private static let costDivisor = 20
  /// Each report covers the one before as well, and 255 numbers at most.
  private static let reportedPacketLimit = 120

  /// Nanoseconds between reports while nothing asks for one sooner.
  package var interval: UInt64
  /// Nanoseconds between reports that are brought forward because much arrives: longer where the
  /// way back carries little, because reports must not push out what else goes there.
  package var leastInterval: UInt64 = shortestInterval {
    didSet { leastInterval = min(max(leastInterval, Self.shortestInterval), Self.longestLeast) }
  }

  /// What has come: loss on the way in is counted here and nowhere else.
  package private(set) var arrivals = ArrivalCount()

  private var current: ArrivalLog
  /// The epoch before, while its packets still come (docs/protocol/session.md §7).
  private var previous: ArrivalLog?
  private var deadline: Instant?
  private var lastReport: Instant?
  /// Since the last report: what arrived, of which media may bring the next one forward.
  private var bytesSinceReport = 0
  private var packetsSinceReport = 0
  private var silence = StreamSilence()

  package init(epoch: UInt32 = 0, interval: UInt64 = usualInterval) {
    current = ArrivalLog(epoch: epoch)
    self.interval = interval
  }

  /// Of what a relay sends.
  package static var ofRelay: FeedbackRecorder {
    var recorder = FeedbackRecorder()
    recorder.leastInterval = leastOfRelay
    return recorder
  }

  // MARK: Inputs

  /// Notes a packet that opened for the first time.
  ///
  /// - Parameters:
  ///   - number: The transport number: epoch in the upper 32 bits, packet number in the lower.
  ///   - arrival: When the kernel received it.
  ///   - demand: The greatest of its frames' demands.
  ///   - byteCount: The whole datagram's; the next report comes the sooner the more arrives.
  package mutating func record(
    _ number: UInt64, at arrival: Instant, isCongestionExperienced: Bool, demand: FeedbackDemand,
    byteCount: Int = 0
  ) {
    let epoch = UInt32(truncatingIfNeeded: number >> 32)
    if epoch > current.epoch { begin(epoch) }
    let low = UInt32(truncatingIfNeeded: number)
    let isNoted =
      if epoch == current.epoch {
        current.record(low, at: arrival, isCongestionExperienced: isCongestionExperienced)
      } else if epoch == previous?.epoch {
        previous?.record(low, at: arrival, isCongestionExperienced: isCongestionExperienced)
          ?? false
      } else {
        false
      }
    guard isNoted else { return }
    arrivals.add(number)
    bytesSinceReport += byteCount
    packetsSinceReport += 1
    switch demand {
    case .none: break
    case .soon: deadline = earliest(deadline, Self.add(Self.soonDelay, to: arrival))
    case .interval:
      silence.noteArrival(now: arrival)
      let usual = lastReport.map { Self.add(max(interval, leastInterval), to: $0) }
      deadline = earliest(deadline, max(usual ?? .zero, Self.add(Self.soonDelay, to: arrival)))
      bringForward(at: arrival)
    }
  }

  /// Enough arrived that a report costs 5 % of it at most: it goes 20 ms after the last one, or
  /// after a moment, in which the rest of what arrives together is noted too.
  private mutating func bringForward(at arrival: Instant) {
    guard let lastReport else { return }
    let cost = Self.reportByteCount + packetsSinceReport
    guard
      bytesSinceReport >= cost * Self.costDivisor
        || packetsSinceReport >= Self.reportedPacketLimit
    else { return }
    let soonest = Self.add(leastInterval, to: lastReport)
    deadline = earliest(deadline, max(soonest, Self.add(Self.gatheringDelay, to: arrival)))
  }

  /// The older epoch is reported first, and at the next opportunity.
  private mutating func begin(_ epoch: UInt32) {
    previous = current
    current = ArrivalLog(epoch: epoch)
  }

  /// The previous epoch's keys are erased: nothing of it will come any more.
  package mutating func forgetPreviousEpoch() {
    previous = nil
    if !hasUnreported { deadline = nil }
  }

  // MARK: Outputs

  /// When a FEEDBACK is due; `nil` while nothing that wants one has arrived.
  package var nextDeadline: Instant? { earliest(deadline, silence.nextDeadline) }

  package func isDue(now: Instant) -> Bool {
    guard let deadline = nextDeadline else { return false }
    return deadline <= now
  }

  /// Whether a report would say something new.
  package var hasUnreported: Bool {
    current.hasUnreported || (previous?.hasUnreported ?? false)
  }

  /// Appends one FEEDBACK of at most `room` bytes; `false` when there is nothing to report or no
  /// room. While it is still due afterwards (two epochs), call again. Write it before frames of
  /// variable length: what does not fit is reported late or never.
  @_lifetime(packet: copy packet)
  package mutating func writeReport(
    into packet: inout OutputSpan<UInt8>, room: Int, now: Instant
  ) -> Bool {
    let room = min(room, packet.freeCapacity)
    if previous?.hasUnreported ?? false {
      guard previous?.writeReport(into: &packet, room: room, now: now) ?? false else {
        return false
      }
      deadline = current.hasUnreported ? earliest(deadline, now) : nil
    } else {
      let isRepeat = silence.isDue(now: now)
      if isRepeat { silence.noteRepeat(now: now) }
      guard current.writeReport(into: &packet, room: room, isRepeat: isRepeat, now: now) else {
        return false
      }
      deadline = nil
    }
    lastReport = now
    bytesSinceReport = 0
    packetsSinceReport = 0
    return true
  }

  private static func add(_ nanoseconds: UInt64, to instant: Instant) -> Instant {
    let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(nanoseconds)
    return Instant(nanoseconds: overflow ? .max : sum)
  }
}
