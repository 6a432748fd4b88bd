package import Primitives

/// What a recorded line could carry: each entry is a millisecond at which 1500 bytes may leave, the
/// format of Mahimahi's `mm-link`. After the last entry it begins again.
package struct DeliveryTrace: Sendable {
  /// Bytes that one opportunity carries, headers included.
  package static let opportunityByteCount = 1500
  /// Half a day of a fast line; a longer file is not a trace.
  package static let maxEntries = 10_000_000

  /// Milliseconds from the start, never falling.
  package let milliseconds: [UInt32]
  /// Milliseconds after which it begins again: the last entry, at least 1.
  package let period: UInt64

  /// - Returns: `nil` when there is no entry, or when one is smaller than that before it.
  package init?(milliseconds: [UInt32]) {
    guard let last = milliseconds.last, milliseconds.count <= Self.maxEntries,
      zip(milliseconds, milliseconds.dropFirst()).allSatisfy({ $0 <= $1 })
    else { return nil }
    self.milliseconds = milliseconds
    period = UInt64(max(1, last))
  }

  /// One number a line; empty lines are skipped.
  package init?(text: some StringProtocol) {
    var entries: [UInt32] = []
    for line in text.split(whereSeparator: \.isNewline) {
      guard let value = UInt32(line), entries.count < Self.maxEntries else { return nil }
      entries.append(value)
    }
    self.init(milliseconds: entries)
  }

  /// Bits a second over one period.
  package var meanBitsPerSecond: Double {
    Double(milliseconds.count * Self.opportunityByteCount * 8) * 1000 / Double(period)
  }

  /// When opportunity `index` comes, counted on over all periods.
  package func time(of index: UInt64) -> Instant {
    let (round, place) = index.quotientAndRemainder(dividingBy: UInt64(milliseconds.count))
    let milliseconds = round * period + UInt64(milliseconds[Int(place)])
    return Instant(nanoseconds: milliseconds * 1_000_000)
  }

  /// The first opportunity that does not come before `time`.
  package func index(notBefore time: Instant) -> UInt64 {
    let wanted = (time.nanoseconds + 999_999) / 1_000_000
    // The round before may end in the very millisecond in which the next begins.
    let round = wanted / period > 0 ? wanted / period - 1 : 0
    var low = round * UInt64(milliseconds.count)
    var high = low + 2 * UInt64(milliseconds.count)
    while low < high {
      let middle = (low + high) / 2
      if self.time(of: middle) < time { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// How far a transmitter has come in a trace.
  package struct Place: Sendable, BitwiseCopyable {
    private var index: UInt64 = 0
    private var bytesLeft = DeliveryTrace.opportunityByteCount
    /// The trace runs from its own start or from the first datagram on.
    private var start: Instant?

    package init() {}

    /// When the last byte leaves; `nil` when the queue has no room.
    package mutating func depart(
      _ byteCount: Int, at now: Instant, over traced: LinkConditions.TracedRate
    ) -> Instant? {
      let trace = traced.trace
      let start = self.start ?? traced.start ?? now
      self.start = start
      let elapsed = Instant(nanoseconds: now.nanoseconds(since: start))
      let first = trace.index(notBefore: elapsed)
      var place = self
      if place.index < first {  // The queue is empty; what was not used is gone.
        place.index = first
        place.bytesLeft = DeliveryTrace.opportunityByteCount
      }
      guard hasRoom(byteCount, place, first, elapsed, traced) else { return nil }
      var need = byteCount
      while need > place.bytesLeft {
        need -= place.bytesLeft
        place.index += 1
        place.bytesLeft = DeliveryTrace.opportunityByteCount
      }
      place.bytesLeft -= need
      self = place
      return start + .nanoseconds(Int64(trace.time(of: place.index).nanoseconds))
    }

    private func hasRoom(
      _ byteCount: Int, _ place: Place, _ first: UInt64, _ elapsed: Instant,
      _ traced: LinkConditions.TracedRate
    ) -> Bool {
      switch traced.queue {
      case .time(let limit):
        let wait = traced.trace.time(of: place.index).nanoseconds(since: elapsed)
        return place.index == first || wait <= UInt64(max(0, limit.nanoseconds))
      case .bytes(let limit):
        let opportunity = DeliveryTrace.opportunityByteCount
        let ahead = Int(clamping: place.index - first) * opportunity
        return ahead + opportunity - place.bytesLeft + byteCount <= limit
      }
    }
  }
}
