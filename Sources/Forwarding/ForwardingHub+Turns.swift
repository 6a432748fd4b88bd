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

  /// Pictures come last, and so many at once: then the server reads what has come meanwhile.
  func nextJob(now: Instant) -> ForwardingQueue.Job? {
    if let job = prompt.popFirst() { return job }
    guard picturesLeft > 0 else {
      if pictures.hasReady { ownDeadline = earliest(ownDeadline, now) }
      return nil
    }
    guard let job = pictures.popFirst(self, now: now) else { return nil }
    picturesLeft -= 1
    return job
  }
}
