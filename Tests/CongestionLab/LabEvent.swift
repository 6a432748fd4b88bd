/// What is to happen, by time and then by the order in which it was said.
struct LabEvent {
  enum Kind: UInt8 {
    case begin, frame, audio, senderWake, receiverWake, control, hop, senderTimer, retransmission
  }

  var time: UInt64
  var order: UInt64 = 0
  var kind: Kind
  /// Of a flow.
  var flow: Int32
  /// Of a packet in the pool.
  var packet: Int32 = -1

  func isBefore(_ other: LabEvent) -> Bool {
    time == other.time ? order < other.order : time < other.time
  }
}

/// A heap of events.
struct LabCalendar {
  private var heap: [LabEvent] = []
  private var count: UInt64 = 0

  mutating func push(_ event: LabEvent) {
    var event = event
    event.order = count
    count += 1
    heap.append(event)
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].isBefore(heap[parent]) else { break }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  mutating func pop() -> LabEvent? {
    guard let first = heap.first, let last = heap.popLast() else { return nil }
    guard !heap.isEmpty else { return first }
    heap[0] = last
    var parent = 0
    while true {
      var child = 2 * parent + 1
      guard child < heap.count else { break }
      if child + 1 < heap.count, heap[child + 1].isBefore(heap[child]) { child += 1 }
      guard heap[child].isBefore(heap[parent]) else { break }
      heap.swapAt(parent, child)
      parent = child
    }
    return first
  }
}
