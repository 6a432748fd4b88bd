import Congestion
import Primitives
import Wire

/// The packets with MSG that are on their way to one client, at most 32, and what FEEDBACK says
/// became of them (docs/protocol/frames.md §2, RFC 9002 §6.1).
struct FlightRing: Sendable {
  private static let capacity = 32

  private var numbers = InlineArray<32, UInt32>(repeating: 0)
  /// When each was sent, in nanoseconds; 0 is an empty place.
  private var times = InlineArray<32, UInt64>(repeating: 0)
  private(set) var roundTrip = RoundTripEstimator()
  private var largestReported: UInt32?
  private(set) var count = 0

  /// Notes a packet; `false` when 32 are under way already.
  mutating func record(_ number: UInt32, now: Instant) -> Bool {
    for place in 0..<Self.capacity where times[place] == 0 {
      numbers[place] = number
      times[place] = max(1, now.nanoseconds)
      count += 1
      return true
    }
    return false
  }

  /// Takes one number that a FEEDBACK reports as received; whether it was under way.
  mutating func acknowledge(_ number: UInt32) -> Bool {
    largestReported = max(largestReported ?? number, number)
    guard let place = place(of: number) else { return false }
    times[place] = 0
    count -= 1
    return true
  }

  /// Takes the RTT sample of a FEEDBACK, before its numbers are acknowledged.
  mutating func takeSample(_ header: FeedbackHeader, now: Instant) {
    guard header.delay != .max, let place = place(of: header.largest) else { return }
    let delay = UInt64(header.delay) * FeedbackHeader.nanosecondsPerTick
    let elapsed = now.nanoseconds(since: Instant(nanoseconds: times[place]))
    roundTrip.add(elapsed > delay ? elapsed &- delay : 0)
  }

  /// One packet that counts as lost by now: three numbers or 9/8 of the RTT behind one that was
  /// reported. Call until `nil`.
  mutating func takeLost(now: Instant) -> UInt32? {
    guard count > 0, let largest = largestReported else { return nil }
    for place in 0..<Self.capacity where times[place] != 0 && numbers[place] < largest {
      let age = now.nanoseconds(since: Instant(nanoseconds: times[place]))
      guard largest - numbers[place] >= 3 || age >= roundTrip.lossDelay else { continue }
      times[place] = 0
      count -= 1
      return numbers[place]
    }
    return nil
  }

  /// When the next packet grows old enough to count as lost; `nil` while none is behind.
  var nextDeadline: Instant? {
    guard count > 0, let largest = largestReported else { return nil }
    var oldest: UInt64?
    for place in 0..<Self.capacity where times[place] != 0 && numbers[place] < largest {
      oldest = min(oldest ?? .max, times[place])
    }
    return oldest.map { Instant(nanoseconds: $0 &+ roundTrip.lossDelay) }
  }

  /// Forgets a packet whose fragments went again in others.
  mutating func forgetOldest() {
    var oldest: Int?
    for place in 0..<Self.capacity where times[place] != 0 {
      if let best = oldest, times[best] <= times[place] { continue }
      oldest = place
    }
    guard let oldest else { return }
    times[oldest] = 0
    count -= 1
  }

  private func place(of number: UInt32) -> Int? {
    for place in 0..<Self.capacity where times[place] != 0 && numbers[place] == number {
      return place
    }
    return nil
  }
}
