import Primitives
import Wire

/// Whose pictures are kept (docs/protocol/relay.md §5): of those who send some now, as many as the
/// relay has memory for.
extension ForwardingHub {
  /// Whether there is memory for a host's pictures, as far as needed another host's.
  func keepsPictures(of seat: Seat, now: Instant) -> Bool {
    if let part = seat.pictures.store?.part {
      part.touch(now: now)
      return true
    }
    if let until = seat.pictures.refusedUntil, now < until { return false }
    giveBackPictureMemory(now: now)
    if let part = makePart(for: seat, now: now) {
      seat.pictures.store = PictureStore(capacity: limits.fragments, part)
      seat.pictures.refusedUntil = nil
      ownDeadline = earliest(ownDeadline, pictureMemory.nextIdle)
      return true
    }
    let isNew = seat.pictures.refusedUntil == nil
    seat.pictures.refusedUntil = now + limits.pictureRefusal
    // It hears that nobody wants them.
    if isNew, seat.pictures.isConcerned { append(.wants, to: seat) }
    return false
  }

  private func makePart(for seat: Seat, now: Instant) -> PictureMemory.Part? {
    guard seat.room.pictureSourceCount < limits.pictureSources else { return nil }
    if pictureMemory.isFull, let slot = pictureMemory.slotToDisplace(for: seat.pictures.origin) {
      self.seat(slot)?.pictures.store = nil
      counters.picturesDisplaced &+= 1
    }
    return pictureMemory.makePart(seat.slot, seat.pictures.origin, now: now)
  }

  /// Whether a host has shown pictures for which there was no memory, and is none now.
  func isUnserved(_ seat: Seat, now: Instant) -> Bool {
    guard seat.pictures.refusedUntil != nil else { return false }
    giveBackPictureMemory(now: now)
    let hasRoom =
      seat.room.pictureSourceCount < limits.pictureSources
      && pictureMemory.allows(seat.pictures.origin)
      && (!pictureMemory.isFull
        || pictureMemory.slotToDisplace(for: seat.pictures.origin) != nil)
    if hasRoom { seat.pictures.refusedUntil = nil }
    return !hasRoom
  }

  func giveBackPictureMemory(now: Instant) {
    for slot in pictureMemory.idleSlots(now: now) { seat(slot)?.pictures.store = nil }
    ownDeadline = earliest(ownDeadline, pictureMemory.nextIdle)
  }
}
