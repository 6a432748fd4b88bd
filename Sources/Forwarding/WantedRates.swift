import Primitives
import Wire

/// How much of pictures the members of a channel want: counted over all of them once a second, and
/// in between only more. One that asks often costs the others nothing.
struct WantedRates: Sendable {
  /// The most, in bit/s, and whose it is; and the most of all others.
  private var first: (rate: UInt32, slot: UInt32) = (0, .max)
  private var second: UInt32 = 0
  private var countDue = Instant.zero

  /// The most that a member other than that of `slot` wants, in bit/s.
  mutating func most(without slot: UInt32, among seats: [Seat], now: Instant) -> UInt32 {
    if now >= countDue {
      (first, second) = ((0, .max), 0)
      for seat in seats where seat.pictures.isWanted(now: now) {
        _ = add(seat.pictures.wish.bitsPerSecond, of: seat.slot)
      }
      countDue = now + Self.pace
    }
    return slot == first.slot ? second : first.rate
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

  private static let pace = Duration.seconds(1)
}
