/// Which of the last 256 packet numbers have been seen (RFC 6479, docs/protocol/session.md §6), in
/// 40 bytes and without a block of its own.
///
/// A client's requests are few; even a probe of 500 packets a second would have to be half a second
/// out of order to fall behind it.
struct NumberWindow: BitwiseCopyable, Sendable {
  private var bits = InlineArray<4, UInt64>(repeating: 0)
  /// The highest number seen; with bit 0 unset and `top` 0 nothing was seen yet.
  private(set) var top: UInt32 = 0

  init() {}

  /// Whether `number` was not seen and is not too old to tell. Changes nothing: the packet may be
  /// forged.
  func isFresh(_ number: UInt32) -> Bool {
    if number > top { return true }
    guard top &- number < Self.span else { return false }
    return bits[word(number)] & bit(number) == 0
  }

  /// Notes `number`, whose packet was authentic; whether it is the highest so far.
  mutating func insert(_ number: UInt32) -> Bool {
    let isFirst = top == 0 && bits[0] & 1 == 0
    let isHighest = number > top || isFirst
    if number > top {
      clear(above: top, through: number)
      top = number
    }
    bits[word(number)] |= bit(number)
    return isHighest
  }

  /// Forgets what the places of these numbers held 256 numbers ago.
  private mutating func clear(above low: UInt32, through high: UInt32) {
    if high &- low >= Self.span {
      bits = InlineArray(repeating: 0)
      return
    }
    var number = low
    while number != high {
      number &+= 1
      if number & 63 == 0, high &- number >= 63 {
        bits[word(number)] = 0
        number &+= 63
      } else {
        bits[word(number)] &= ~bit(number)
      }
    }
  }

  private func word(_ number: UInt32) -> Int { Int(number >> 6) & 3 }
  private func bit(_ number: UInt32) -> UInt64 { 1 << UInt64(number & 63) }

  private static let span: UInt32 = 256
}
