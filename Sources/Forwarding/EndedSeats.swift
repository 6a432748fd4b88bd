package import Primitives
package import Tokens
package import Wire

/// Seats whose members lost the right to them, as long as an older grant might open them again.
package struct EndedSeats: Sendable {
  /// Oldest first, one of a uid in a channel.
  private var seats: [EndedSeat] = []
  /// Until when those of each member are worth nothing, and how many each channel has.
  private var untils: [Member: UInt64] = [:]
  private var counts: [Bytes32: Int] = [:]
  /// None ends before this, in Unix milliseconds.
  private var earliest = UInt64.max
  private let limit: Int

  private struct Member: Hashable {
    let channel: Bytes32
    let uid: UInt32
  }

  /// - Parameter limit: Of more an eighth makes room at once, the oldest of the channels that have
  ///   most: who ends many in a channel of its own opens nobody else's.
  package init(limit: Int) { self.limit = limit }

  package var all: [EndedSeat] { seats }

  package mutating func insert(_ seat: EndedSeat) {
    let member = Member(channel: seat.channel, uid: seat.uid)
    var seat = seat
    if let former = untils[member] {
      seat.until = max(seat.until, former)
      remove { $0.channel == seat.channel && $0.uid == seat.uid }
    }
    if seats.count >= limit { makeRoom() }
    seats.append(seat)
    untils[member] = seat.until
    counts[seat.channel, default: 0] += 1
    earliest = min(earliest, seat.until)
  }

  /// Looking at all of them costs a millisecond: done once for an eighth it is a microsecond each.
  private mutating func makeRoom() {
    var excess = max(1, limit / 8)
    let most = level(freeing: excess)
    var kept: [EndedSeat] = []
    kept.reserveCapacity(seats.count)
    for seat in seats {
      if excess > 0, counts[seat.channel] ?? 0 > most {
        forget(seat)
        excess -= 1
      } else {
        kept.append(seat)
      }
    }
    seats = kept
  }

  /// How many a channel may keep for `number` to be free.
  private func level(freeing number: Int) -> Int {
    var (level, beyond) = (0, counts.values.max() ?? 0)
    // `level` frees enough, `beyond` does not.
    while beyond - level > 1 {
      let middle = (level + beyond) / 2
      let freed = counts.values.reduce(0) { $0 + max(0, $1 - middle) }
      if freed >= number { level = middle } else { beyond = middle }
    }
    return level
  }

  /// Forgets those for which no grant can be good any more.
  package mutating func end(unixMilliseconds: UInt64) {
    guard earliest <= unixMilliseconds else { return }
    remove { $0.until <= unixMilliseconds }
    earliest = seats.reduce(.max) { min($0, $1.until) }
  }

  /// Whether a grant is one of those that are worth nothing, or that make no host any more.
  package func contains(_ claim: SeatClaim) -> Bool {
    if let until = until(of: claim.uid, in: claim.channel), claim.expires <= until { return true }
    guard claim.role == .host else { return false }
    let until = until(of: claim.uid, in: EndedSeat.hosts(of: claim.channel))
    return until.map { claim.expires <= $0 } ?? false
  }

  /// Until when a member's grants are worth nothing; `nil` = they may be good.
  package func until(of uid: UInt32, in channel: Bytes32) -> UInt64? {
    untils[Member(channel: channel, uid: uid)]
  }

  private mutating func remove(where isOver: (EndedSeat) -> Bool) {
    for seat in seats where isOver(seat) { forget(seat) }
    seats.removeAll(where: isOver)
  }

  private mutating func forget(_ seat: EndedSeat) {
    untils[Member(channel: seat.channel, uid: seat.uid)] = nil
    let left = (counts[seat.channel] ?? 1) - 1
    counts[seat.channel] = left > 0 ? left : nil
  }
}

/// Why a member has no seat.
package enum SeatRefusal: Sendable {
  /// Its grant is worth nothing any more: a newer one may be good.
  case ended
  /// There is no room for one more.
  case full
}

extension SeatClaim {
  /// Whether this is a later grant. Those of one second have no order: answers to one question that
  /// was repeated may come either way round.
  func isLater(than other: SeatClaim) -> Bool {
    expires / 1000 > other.expires / 1000
  }
}
