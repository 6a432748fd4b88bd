/// Which numbers have been seen, out of the newest `64 * wordCount` (RFC 6479: a ring of words
/// instead of a shifted bitmap, so that advancing costs no more than it clears).
///
/// Station 14 of the house tour; next is `CallLink+Inbound.swift`.
package struct ReplayWindow<let wordCount: Int>: Sendable {
  private var words = InlineArray<wordCount, UInt64>(repeating: 0)
  /// One more than the highest number seen; 0 before the first.
  private var end: UInt64 = 0

  package init() {}

  package static var size: UInt64 { UInt64(64 * wordCount) }

  /// The highest number seen.
  package var highest: UInt64? { end == 0 ? nil : end - 1 }

  /// Whether `number` is new: neither seen nor so old that nobody knows. Changes nothing, because
  /// nothing has proven the number yet; mutating because a look at the array without the right to
  /// change it is a look at a copy of it, 1 KiB a packet.
  package mutating func accepts(_ number: UInt64) -> Bool {
    if number >= end { return number < .max }
    if end - number > Self.size { return false }
    let words = words.mutableSpan
    return words[Self.word(number)] & Self.bit(number) == 0
  }

  /// Marks `number` as seen, after its packet has opened. Returns whether it is the highest yet.
  package mutating func insert(_ number: UInt64) -> Bool {
    let isHighest = number >= end
    if isHighest {
      guard number < .max else { return false }
      advance(to: number)
    } else {
      guard accepts(number) else { return false }
    }
    var words = words.mutableSpan
    words[Self.word(number)] |= Self.bit(number)
    return isHighest
  }

  /// Forgets what the numbers `end ... number` will stand for from now on.
  private mutating func advance(to number: UInt64) {
    var words = words.mutableSpan
    if number - end >= Self.size {
      for index in 0..<wordCount { words[index] = 0 }
    } else {
      var next = end
      while next <= number {
        if next & 63 == 0 && number - next >= 63 {
          words[Self.word(next)] = 0
          next += 64
        } else {
          words[Self.word(next)] &= ~Self.bit(next)
          next += 1
        }
      }
    }
    end = number + 1
  }

  private static func word(_ number: UInt64) -> Int {
    Int((number >> 6) % UInt64(wordCount))
  }

  private static func bit(_ number: UInt64) -> UInt64 { 1 << (number & 63) }
}

/// Between peers (docs/protocol/session.md §6): 8192 numbers, 1 KiB.
package typealias PeerReplayWindow = ReplayWindow<128>
