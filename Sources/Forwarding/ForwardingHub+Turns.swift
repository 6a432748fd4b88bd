import Primitives
import Wire

/// What waits to be written: sound, words and reports of all channels before pictures of any
/// (docs/protocol/relay.md §5).
extension ForwardingHub {
  @discardableResult
  func append(_ content: ForwardingQueue.Content, to seat: Seat) -> Bool {
    let job = ForwardingQueue.Job(slot: seat.slot, seat: seat.number, content: content)
    guard prompt.append(job, to: seat.room.prompt) else {
      counters.packetsDropped &+= 1
      return false
    }
    return true
  }

  /// A fragment for a member, as far as the parts of its address have not drawn their share: who
  /// has many seats draws no more than the pace of one address.
  @discardableResult
  func append(picture content: ForwardingQueue.Content, to seat: Seat, now: Instant) -> Bool {
    guard seat.pictures.origin.admitPicture(limits.picturesPerSecond, now: now) else {
      counters.picturesOverShare &+= 1
      return false
    }
    let job = ForwardingQueue.Job(slot: seat.slot, seat: seat.number, content: content)
    guard pictures.append(job, to: seat.room.pictures) else {
      counters.packetsDropped &+= 1
      return false
    }
    return true
  }

  /// Pictures come last, and so many at once: then the server reads what has come meanwhile.
  func nextJob(now: Instant) -> ForwardingQueue.Job? {
    if let job = prompt.popFirst() { return job }
    guard picturesLeft > 0 else {
      if pictures.waitingCount > 0 { nextDeadline = earliest(nextDeadline, now) }
      return nil
    }
    guard let job = pictures.popFirst() else { return nil }
    picturesLeft -= 1
    return job
  }
}
