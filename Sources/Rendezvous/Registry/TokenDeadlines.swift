import Primitives

/// When the access tokens of sessions end: at most one moment a session, the soonest first.
///
/// A binary heap, and where in it each session stands: a renewal moves its entry, so that nobody
/// can make it longer than the table of sessions.
struct TokenDeadlines {
  private var heap: [(at: Instant, slot: UInt32)] = []
  private var places: [UInt32: Int] = [:]

  var count: Int { heap.count }
  var nextDeadline: Instant? { heap.first?.at }

  subscript(slot: UInt32) -> Instant? { places[slot].map { heap[$0].at } }

  /// Sets the end of a session's token, in place of the one before.
  mutating func set(_ slot: UInt32, at end: Instant) {
    remove(slot)
    heap.append((end, slot))
    places[slot] = heap.count - 1
    rise(heap.count - 1)
  }

  mutating func remove(_ slot: UInt32) {
    guard let place = places.removeValue(forKey: slot) else { return }
    let last = heap.removeLast()
    guard place < heap.count else { return }
    put(last, at: place)
    rise(place)
    sink(place)
  }

  /// A session whose token has ended; it is forgotten here.
  mutating func popDue(now: Instant) -> UInt32? {
    guard let first = heap.first, first.at <= now else { return nil }
    remove(first.slot)
    return first.slot
  }

  private mutating func put(_ entry: (at: Instant, slot: UInt32), at place: Int) {
    heap[place] = entry
    places[entry.slot] = place
  }

  private mutating func rise(_ start: Int) {
    var place = start
    while place > 0 {
      let parent = (place - 1) / 2
      guard heap[place].at < heap[parent].at else { return }
      exchange(place, parent)
      place = parent
    }
  }

  private mutating func sink(_ start: Int) {
    var place = start
    while true {
      var least = place
      for child in [2 * place + 1, 2 * place + 2]
      where child < heap.count && heap[child].at < heap[least].at {
        least = child
      }
      guard least != place else { return }
      exchange(place, least)
      place = least
    }
  }

  private mutating func exchange(_ one: Int, _ other: Int) {
    let entry = heap[one]
    put(heap[other], at: one)
    put(entry, at: other)
  }
}
