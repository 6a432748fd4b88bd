/// Those who read an endpoint's events. Belongs to the endpoint's actor.
struct EventReaders {
  private var continuations: [Int: AsyncStream<EndpointEvent>.Continuation] = [:]
  private var next = 0
  /// Nothing happens any more.
  private(set) var hasEnded = false

  /// - Returns: the reader's number, for `remove`.
  mutating func add(_ continuation: AsyncStream<EndpointEvent>.Continuation) -> Int {
    defer { next += 1 }
    continuations[next] = continuation
    return next
  }

  mutating func remove(_ number: Int) { continuations[number] = nil }

  /// In the order in which they came.
  func tell(_ event: EndpointEvent) {
    for number in continuations.keys.sorted() { continuations[number]?.yield(event) }
  }

  /// After the last event.
  mutating func finish() {
    hasEnded = true
    for number in continuations.keys.sorted() { continuations[number]?.finish() }
    continuations.removeAll()
  }
}
