package import Primitives

/// What is to happen, in order of time; things of one instant come out in the order they went in.
///
/// Inlinable: unspecialised it would cost a simulated call a tenth of its time.
package struct EventQueue<Payload> {
  @usableFromInline struct Entry {
    @usableFromInline var time: Instant
    @usableFromInline var order: UInt64
    @usableFromInline var payload: Payload

    @inlinable init(time: Instant, order: UInt64, payload: Payload) {
      self.time = time
      self.order = order
      self.payload = payload
    }

    @inlinable func isBefore(_ other: Entry) -> Bool {
      time == other.time ? order < other.order : time < other.time
    }
  }

  @usableFromInline var heap: [Entry] = []
  @usableFromInline var count: UInt64 = 0

  @inlinable package init() {}

  @inlinable package var isEmpty: Bool { heap.isEmpty }
  @inlinable package var nextTime: Instant? { heap.first?.time }

  @inlinable package mutating func push(_ payload: Payload, at time: Instant) {
    heap.append(Entry(time: time, order: count, payload: payload))
    count += 1
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].isBefore(heap[parent]) else { break }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  /// The first payload, if its time is not after `now`.
  @inlinable package mutating func pop(at now: Instant) -> Payload? {
    guard let first = heap.first, first.time <= now else { return nil }
    let last = heap.removeLast()
    guard !heap.isEmpty else { return first.payload }
    heap[0] = last
    var parent = 0
    while true {
      var least = parent
      let (left, right) = (2 * parent + 1, 2 * parent + 2)
      if left < heap.count, heap[left].isBefore(heap[least]) { least = left }
      if right < heap.count, heap[right].isBefore(heap[least]) { least = right }
      guard least != parent else { break }
      heap.swapAt(parent, least)
      parent = least
    }
    return first.payload
  }
}
