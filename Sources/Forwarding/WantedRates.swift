import Primitives
import Wire

/// How much of pictures the members of a channel want and their lines carry: counted over all of
/// them twice a second, and in between only more. One that asks often costs the others nothing.
struct WantedRates: Sendable {
  /// The most, in bit/s, and whose it is; and the most of all others.
  private var first: (rate: UInt32, slot: UInt32) = (0, .max)
  private var second: UInt32 = 0
  private var countDue = Instant.zero
  private var hasCounted = false
  /// What the hosts know.
  private var told: (first: UInt32, second: UInt32) = (0, 0)

  /// The most that a member other than that of `slot` wants, in bit/s.
  mutating func most(without slot: UInt32, among seats: [Seat], now: Instant) -> UInt32 {
    countAgain(seats, now: now)
    return slot == first.slot ? second : first.rate
  }

  /// Counts over all of them, when that is due.
  mutating func countAgain(_ seats: [Seat], now: Instant) {
    guard now >= countDue else { return }
    countDue = now + Self.pace
    (first, second) = ((0, .max), 0)
    for seat in seats where seat.pictures.isWanted(now: now) {
      _ = add(seat.pictures.wanted(now: now), of: seat.slot)
    }
    hasCounted = true
  }

  /// Whether the last count is news to hosts; once for each.
  mutating func popNews() -> Bool {
    guard hasCounted else { return false }
    hasCounted = false
    guard Self.isOther(first.rate, told.first) || Self.isOther(second, told.second) else {
      return false
    }
    told = (first.rate, second)
    return true
  }

  private static func isOther(_ rate: UInt32, _ told: UInt32) -> Bool {
    let (rate, told) = (Double(rate), Double(told))
    return rate < told * 0.95 || rate > told * 1.05
  }

  /// A member wants so much.
  ///
  /// - Returns: Whether a host may not have known that anybody else wants pictures.
  mutating func add(_ rate: UInt32, of slot: UInt32) -> Bool {
    let isFirst = second == 0 && rate > 0
    if slot == first.slot {
      first.rate = max(first.rate, rate)
    } else if rate > first.rate {
      second = first.rate
      first = (rate, slot)
    } else {
      second = max(second, rate)
    }
    return isFirst
  }

  private static let pace = Duration.milliseconds(500)
}
