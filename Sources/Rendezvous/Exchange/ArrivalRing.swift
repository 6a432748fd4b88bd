import Primitives
import Wire

/// When the last 32 packets of a client arrived: what its next FEEDBACK says
/// (docs/protocol/frames.md §2). The server answers at once, so 32 are plenty.
struct ArrivalRing: Sendable {
  private static let capacity = 32
  private static let noNumber = UInt32.max

  private var numbers = InlineArray<32, UInt32>(repeating: noNumber)
  /// In ticks of 250 µs.
  private var ticks = InlineArray<32, UInt32>(repeating: 0)
  /// Bit i: the packet in place i carried ECN CE.
  private var marks: UInt32 = 0
  private var largest: UInt32?
  private var largestArrival = Instant.zero
  private var lowestUnreported: UInt32?
  /// Lowest number that was new in the last report: covered again, so that one lost report loses
  /// nothing.
  private var lowestOfLastReport: UInt32?
  /// A packet with PING or MSG has not been reported.
  private(set) var isDue = false

  mutating func record(
    _ number: UInt32, at arrival: Instant, isCongestionExperienced: Bool, demand: FeedbackDemand
  ) {
    if demand != .none { isDue = true }
    if let largest, number <= largest {
      guard largest &- number < UInt32(Self.capacity) else { return }
    } else {
      largest = number
      largestArrival = arrival
    }
    let place = Int(number) & (Self.capacity - 1)
    numbers[place] = number
    ticks[place] = UInt32(
      truncatingIfNeeded: arrival.nanoseconds / FeedbackHeader.nanosecondsPerTick)
    let bit: UInt32 = 1 << UInt32(place)
    marks = isCongestionExperienced ? marks | bit : marks & ~bit
    lowestUnreported = min(lowestUnreported ?? number, number)
  }

  /// The most that `write` needs.
  static let maximumByteCount = FeedbackHeader.byteCount + 31 * 2 + 4

  /// Appends the FEEDBACK that is due, if one is.
  @_lifetime(packet: copy packet)
  mutating func write(into packet: inout OutputSpan<UInt8>, now: Instant) {
    guard isDue, let largest else { return }
    isDue = false
    let low = lowestUnreported ?? largest
    let covered = largest &- min(low, lowestOfLastReport ?? low)
    let count = min(covered, UInt32(Self.capacity - 1)) &+ 1
    let delay = now.nanoseconds(since: largestArrival) / FeedbackHeader.nanosecondsPerTick
    let hasMarks = marks != 0
    let place = Int(largest) & (Self.capacity - 1)
    FeedbackHeader(
      epoch: 0, largest: largest, arrival: ticks[place], delay: UInt16(clamping: delay),
      count: UInt8(clamping: count), hasMarks: hasMarks
    ).write(to: &packet)
    writeEntries(largest, count, to: &packet)
    if hasMarks { writeMarks(largest, count, to: &packet) }
    lowestOfLastReport = low
    lowestUnreported = nil
  }

  @_lifetime(packet: copy packet)
  private func writeEntries(
    _ largest: UInt32, _ count: UInt32, to packet: inout OutputSpan<UInt8>
  ) {
    var later = ticks[Int(largest) & (Self.capacity - 1)]
    var step: UInt32 = 1
    while step < count {
      let number = largest &- step
      let place = Int(number) & (Self.capacity - 1)
      step &+= 1
      guard numbers[place] == number else {
        FeedbackEntry.write(ticksBefore: nil, to: &packet)
        continue
      }
      let before = Int32(bitPattern: later &- ticks[place])
      FeedbackEntry.write(ticksBefore: before, to: &packet)
      if FeedbackEntry.byteCount(ticksBefore: before) != nil { later = ticks[place] }
    }
  }

  @_lifetime(packet: copy packet)
  private func writeMarks(
    _ largest: UInt32, _ count: UInt32, to packet: inout OutputSpan<UInt8>
  ) {
    var byte: UInt8 = 0
    for step in 0..<count {
      let number = largest &- step
      let place = Int(number) & (Self.capacity - 1)
      if numbers[place] == number, marks >> UInt32(place) & 1 != 0 {
        byte |= 1 << UInt8(step & 7)
      }
      if step & 7 == 7 || step &+ 1 == count {
        packet.append(byte)
        byte = 0
      }
    }
  }
}
