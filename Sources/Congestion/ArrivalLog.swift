import Primitives
import Wire

/// The arrivals of one epoch: a ring of the last 256 numbers, as many as a FEEDBACK may cover.
struct ArrivalLog: Sendable {
  /// What is known of the number in one place of the ring; 12 bytes.
  private struct Arrival: BitwiseCopyable {
    var number: UInt32
    /// In ticks of 250 µs, wraps.
    var ticks: UInt32
    var isCongestionExperienced: Bool
  }

  private static let capacity = 256
  /// Numbers end at 2^31 (docs/protocol/session.md §6), so this is none.
  private static let noNumber = UInt32.max

  let epoch: UInt32
  private var ring: [Arrival]
  private var largest: UInt32?
  /// When `largest` arrived.
  private var largestArrival = Instant.zero
  /// The lowest number that arrived since the last report, and the one before that: each report
  /// covers what was new in the report before it.
  private var lowestUnreported: UInt32?
  private var lowestOfLastReport: UInt32?

  init(epoch: UInt32) {
    self.epoch = epoch
    ring = Array(
      repeating: Arrival(number: Self.noNumber, ticks: 0, isCongestionExperienced: false),
      count: Self.capacity)
  }

  var hasUnreported: Bool { lowestUnreported != nil }

  /// `false` for a number too old to be reported, or noted before.
  mutating func record(
    _ number: UInt32, at arrival: Instant, isCongestionExperienced: Bool
  ) -> Bool {
    guard number != Self.noNumber else { return false }
    if let largest, number <= largest {
      guard largest - number < UInt32(FeedbackHeader.maximumCount), !isReceived(number) else {
        return false
      }
    } else {
      largest = number
      largestArrival = arrival
    }
    ring[Int(number) & (Self.capacity - 1)] = Arrival(
      number: number,
      ticks: UInt32(
        truncatingIfNeeded: arrival.nanoseconds / FeedbackHeader.nanosecondsPerTick),
      isCongestionExperienced: isCongestionExperienced)
    lowestUnreported = min(lowestUnreported ?? number, number)
    return true
  }

  private func isReceived(_ number: UInt32) -> Bool {
    ring[Int(number) & (Self.capacity - 1)].number == number
  }

  private func arrival(_ number: UInt32) -> Arrival? {
    let arrival = ring[Int(number) & (Self.capacity - 1)]
    return arrival.number == number ? arrival : nil
  }

  // MARK: Writing

  /// - Parameter isRepeat: Nothing new need have arrived: the last report is made again.
  @_lifetime(packet: copy packet)
  mutating func writeReport(
    into packet: inout OutputSpan<UInt8>, room: Int, isRepeat: Bool = false, now: Instant
  ) -> Bool {
    guard let largest, let newest = arrival(largest),
      let low = lowestUnreported ?? (isRepeat ? largest : nil)
    else { return false }
    let wanted = min(
      UInt64(largest - min(low, lowestOfLastReport ?? low)) + 1,
      UInt64(FeedbackHeader.maximumCount))
    let extent = measure(from: newest, count: UInt32(wanted), room: room)
    guard extent.count > 0 else { return false }
    let delay = now.nanoseconds(since: largestArrival) / FeedbackHeader.nanosecondsPerTick
    FeedbackHeader(
      epoch: UInt8(truncatingIfNeeded: epoch), largest: largest, arrival: newest.ticks,
      delay: UInt16(clamping: delay), count: UInt8(clamping: extent.count),
      hasMarks: extent.hasMarks
    ).write(to: &packet)
    writeEntries(from: newest, count: extent.count, to: &packet)
    if extent.hasMarks { writeMarks(largest, count: extent.count, to: &packet) }
    if lowestUnreported != nil { lowestOfLastReport = low }
    lowestUnreported = nil
    return true
  }

  /// How many numbers of the `count` wanted a report of `room` bytes can cover, and whether one of
  /// them needs the ECN bitmap. Ends early at a gap in time that an entry cannot express.
  private func measure(
    from newest: Arrival, count: UInt32, room: Int
  ) -> (count: UInt32, hasMarks: Bool) {
    var byteCount = FeedbackHeader.byteCount
    var hasMarks = newest.isCongestionExperienced
    var ticks = newest.ticks
    guard byteCount + 1 <= room else { return (0, false) }
    for step in 1..<max(count, 1) {
      var entryByteCount = 1
      let next = arrival(newest.number - step)
      if let next {
        let before = Int32(bitPattern: ticks &- next.ticks)
        if let length = FeedbackEntry.byteCount(ticksBefore: before) {
          entryByteCount = length
          ticks = next.ticks
        } else if before > 0 {
          return (step, hasMarks)
        }
      }
      // Room for the bitmap is kept from the start: a mark may turn up further down.
      guard byteCount + entryByteCount + (Int(step) + 8) / 8 <= room else {
        return (step, hasMarks)
      }
      byteCount += entryByteCount
      if let next, next.isCongestionExperienced { hasMarks = true }
    }
    return (count, hasMarks)
  }

  @_lifetime(packet: copy packet)
  private func writeEntries(
    from newest: Arrival, count: UInt32, to packet: inout OutputSpan<UInt8>
  ) {
    var ticks = newest.ticks
    for step in 1..<max(count, 1) {
      guard let next = arrival(newest.number - step) else {
        FeedbackEntry.write(ticksBefore: nil, to: &packet)
        continue
      }
      let before = Int32(bitPattern: ticks &- next.ticks)
      FeedbackEntry.write(ticksBefore: before, to: &packet)
      if FeedbackEntry.byteCount(ticksBefore: before) != nil { ticks = next.ticks }
    }
  }

  @_lifetime(packet: copy packet)
  private func writeMarks(
    _ largest: UInt32, count: UInt32, to packet: inout OutputSpan<UInt8>
  ) {
    var byte: UInt8 = 0
    for step in 0..<count {
      if let arrival = arrival(largest - step), arrival.isCongestionExperienced {
        byte |= 1 << UInt8(step & 7)
      }
      if step & 7 == 7 || step == count - 1 {
        packet.append(byte)
        byte = 0
      }
    }
  }
}
