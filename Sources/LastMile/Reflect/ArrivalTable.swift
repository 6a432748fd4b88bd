import Primitives
import Wire

/// When the last 8192 PROBE_PACKETs of a run arrived, for PROBE_REPORT (docs/protocol/probe.md §1).
struct ArrivalTable: Sendable {
  private struct Arrival: BitwiseCopyable {
    var sequence: UInt32
    var ticks: UInt32
  }

  static let capacity: UInt32 = 8192
  /// No run has so many packets.
  private static let none = UInt32.max

  private var ring = [Arrival](
    repeating: Arrival(sequence: none, ticks: 0), count: Int(capacity))
  /// One more than the highest number that came.
  private(set) var end: UInt32 = 0
  private(set) var receivedCount: UInt32 = 0
  private var duplicateCount: UInt32 = 0
  private var reorderedCount: UInt32 = 0
  private var markedCount: UInt32 = 0
  private var bleachedCount: UInt32 = 0
  private(set) var oldestUnreported: Instant?

  init() {}

  mutating func record(_ sequence: UInt32, ecn: UInt8, at now: Instant) {
    guard sequence < Self.none, UInt64(sequence) < UInt64(end) + UInt64(Self.capacity) else {
      return
    }
    if sequence < end {
      guard end - sequence <= Self.capacity else { return }
      if find(sequence) != nil {
        duplicateCount &+= 1
        return
      }
      reorderedCount &+= 1
    } else {
      end = sequence + 1
    }
    let ticks = now.nanoseconds / ProbeReportFrame.nanosecondsPerTick
    ring[Int(sequence % Self.capacity)] = Arrival(
      sequence: sequence, ticks: UInt32(truncatingIfNeeded: ticks))
    receivedCount &+= 1
    if ecn == ECNField.congestionExperienced { markedCount &+= 1 }
    if ecn == ECNField.notCapable { bleachedCount &+= 1 }
    oldestUnreported = oldestUnreported ?? now
  }

  private func find(_ sequence: UInt32) -> UInt32? {
    let arrival = ring[Int(sequence % Self.capacity)]
    return arrival.sequence == sequence ? arrival.ticks : nil
  }

  /// Writes a report from `reported` on: all of it if it was asked for by name, else what is
  /// newest if not all fits.
  @_lifetime(packet: copy packet)
  mutating func writeReport(
    run: UInt32, from reported: UInt32, isAskedFor: Bool, sentCount: UInt32, room: Int,
    into packet: inout OutputSpan<UInt8>
  ) {
    let limit = UInt32(
      min(ProbeReportFrame.maximumCount, max(0, room - ProbeReportFrame.headerByteCount) / 2))
    var first = max(min(reported, end), end - min(end, Self.capacity))
    if !isAskedFor { first = max(first, newestRun(downTo: max(first, end - min(end, limit)))) }
    let (entries, arrival) = entries(from: first, limit: limit)
    ProbeReportFrame(
      run: run, first: first, arrival: arrival ?? 0,
      duplicateCount: UInt16(clamping: duplicateCount),
      reorderedCount: UInt16(clamping: reorderedCount), sentCount: sentCount,
      markedCount: UInt16(clamping: markedCount), bleachedCount: UInt16(clamping: bleachedCount)
    ).writeHeader(to: &packet, count: entries.count)
    for entry in entries { packet.append(littleEndian: entry) }
    oldestUnreported = nil
  }

  /// Where the entries can begin so that they reach the newest: not before a gap in time that no
  /// entry can say.
  private func newestRun(downTo lowest: UInt32) -> UInt32 {
    var later: UInt32?
    var sequence = end
    while sequence > lowest {
      if let ticks = find(sequence - 1) {
        if let later,
          !ProbeReportFrame.differences.contains(Int32(bitPattern: later &- ticks))
        {
          return sequence
        }
        later = ticks
      }
      sequence -= 1
    }
    return lowest
  }

  private func entries(
    from first: UInt32, limit: UInt32
  ) -> (entries: [UInt16], arrival: UInt32?) {
    var entries: [UInt16] = []
    var base: UInt32?
    var last: UInt32 = 0
    for sequence in first..<max(first, min(end, first &+ limit)) {
      guard let ticks = find(sequence) else {
        entries.append(ProbeReportFrame.missing)
        continue
      }
      let difference = base == nil ? 0 : Int32(bitPattern: ticks &- last)
      guard ProbeReportFrame.differences.contains(difference) else { break }
      entries.append(UInt16(clamping: difference + ProbeReportFrame.bias))
      base = base ?? ticks
      last = ticks
    }
    return (entries, base)
  }
}
