import Primitives
package import Tokens
package import Wire

/// Seats whose members lost the right to them, as long as an older grant might open them again.
package struct EndedSeats: Sendable {
  /// Oldest first, one of a uid in a channel.
  private var seats: [EndedSeat] = []
  private let limit: Int

  /// - Parameter limit: Of more the oldest one makes room, of the channel that has most: who ends
  ///   many in channels of its own opens nobody else's.
  package init(limit: Int) { self.limit = limit }

  package var all: [EndedSeat] { seats }

  package mutating func insert(_ seat: EndedSeat) {
    var seat = seat
    seats.removeAll { former in
      guard former.channel == seat.channel, former.uid == seat.uid else { return false }
      seat.until = max(seat.until, former.until)
      return true
    }
    if seats.count >= limit, let largest = seats.mostFrequent(\.channel),
      let oldest = seats.firstIndex(where: { $0.channel == largest })
    {
      seats.remove(at: oldest)
    }
    seats.append(seat)
  }

  /// Forgets those for which no grant can be good any more.
  package mutating func end(unixMilliseconds: UInt64) {
    seats.removeAll { $0.until <= unixMilliseconds }
  }

  /// Whether a grant is one of those that are worth nothing.
  package func contains(_ claim: SeatClaim) -> Bool {
    seats.contains {
      $0.channel == claim.channel && $0.uid == claim.uid && claim.expires <= $0.until
    }
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
