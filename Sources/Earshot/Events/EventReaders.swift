/// Those who read an endpoint's events. Belongs to the endpoint's actor.
struct EventReaders {
  private var continuations: [Int: AsyncStream<EndpointEvent>.Continuation] = [:]
  private var next = 0
  /// Whether they are told of commands.
  var tracesCommands = false
  /// Nothing happens any more.
  private(set) var hasEnded = false
  private(set) var beginnings = CallBeginnings()
  /// The application's log.
  var logHandler: (@Sendable (LogEntry) -> Void)?

  /// - Returns: the reader's number, for `remove`.
  mutating func add(_ continuation: AsyncStream<EndpointEvent>.Continuation) -> Int {
    defer { next += 1 }
    continuations[next] = continuation
    return next
  }

  mutating func remove(_ number: Int) { continuations[number] = nil }

  /// In the order in which they came. Where too many wait, what a peer can say without end goes
  /// first: it must not push out what becomes of a call, which then comes later than it was. So of
  /// a flood each event pushes out one, and costs no more than another.
  mutating func publishEvent(_ event: EndpointEvent) {
    beginnings.append(event)
    if let logHandler, let entry = LogEntry(event) { logHandler(entry) }
    for number in continuations.keys.sorted() {
      var next: EndpointEvent? = event
      var left = Self.mostDropped
      while let told = next, left > 0, case .dropped(let old)? = continuations[number]?.yield(told)
      {
        next = old.isUpToPeer ? nil : old
        left -= 1
      }
    }
    if let warning = EndpointWarning(event) { publishEvent(.warning(warning)) }
  }

  /// Events that are looked at for one that may go.
  private static let mostDropped = 64

  /// After the last event.
  mutating func finish() {
    hasEnded = true
    for number in continuations.keys.sorted() { continuations[number]?.finish() }
    continuations.removeAll()
  }
}

extension EndpointEvent {
  /// One of those that a peer may cause without end.
  fileprivate var isUpToPeer: Bool {
    if case .callProgress(_, let step) = self { return step.isUpToPeer }
    return false
  }
}
