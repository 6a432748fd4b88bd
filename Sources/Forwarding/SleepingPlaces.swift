import Primitives

/// Members that wait for room on their lines, the one that is due first in front: a binary heap.
struct SleepingPlaces {
  private struct Entry: BitwiseCopyable {
    let due: Instant
    let place: PictureForwarding.Place
  }

  private var entries: [Entry] = []

  var first: Instant? { entries.first?.due }

  mutating func insert(_ place: PictureForwarding.Place, until due: Instant) {
    entries.append(Entry(due: due, place: place))
    var index = entries.count - 1
    while index > 0, entries[index].due < entries[(index - 1) / 2].due {
      entries.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  mutating func popDue(now: Instant) -> (place: PictureForwarding.Place, due: Instant)? {
    guard let entry = entries.first, entry.due <= now else { return nil }
    entries.swapAt(0, entries.count - 1)
    entries.removeLast()
    var index = 0
    while true {
      var least = index
      for child in (2 * index + 1)..<(2 * index + 3)
      where child < entries.count && entries[child].due < entries[least].due { least = child }
      guard least != index else { return (entry.place, entry.due) }
      entries.swapAt(index, least)
      index = least
    }
  }
}
