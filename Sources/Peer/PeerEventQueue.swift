/// Events that nobody has polled yet.
struct PeerEventQueue {
  private var events: [PeerEvent] = []
  private var next = 0
  private let limit: Int

  init(limit: Int) { self.limit = limit }

  /// Nobody polls: the owner is gone, and memory must not grow for it.
  var isFull: Bool { events.count >= limit }

  /// Whether less than half of the places is taken: what peers say waits otherwise.
  var hasRoomForWords: Bool { events.count < limit / 2 }

  mutating func append(_ event: PeerEvent) { events.append(event) }

  /// The next one; after the last, `nil`, and the places are free again.
  mutating func poll() -> PeerEvent? {
    guard next < events.count else {
      if !events.isEmpty { events.removeAll(keepingCapacity: true) }
      next = 0
      return nil
    }
    defer { next += 1 }
    return events[next]
  }
}
