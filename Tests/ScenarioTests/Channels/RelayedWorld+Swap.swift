import Tokens
import Wire

@testable import Forwarding
@testable import Rendezvous

/// A relay that gives out what one member sends as another's.
extension RelayedWorld {
  /// From now on the relay says of two members' seats that each is the other's.
  func swapSeats(_ one: UInt32, _ other: UInt32) {
    guard let hub = relay.channels.hub else { return }
    var seats: [Seat] = []
    for slot in 0..<64 as Range<UInt32> {
      if let seat = hub.seat(slot), seat.isTaken { seats.append(seat) }
    }
    guard let first = seats.first(where: { $0.claim.uid == one }),
      let second = seats.first(where: { $0.claim.uid == other })
    else { return }
    (first.claim.uid, second.claim.uid) = (other, one)
    // All are told anew whose the frames of a source are.
    for seat in seats {
      seat.sentSound.forget(first.source)
      seat.sentSound.forget(second.source)
    }
  }
}
