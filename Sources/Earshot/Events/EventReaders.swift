/// Those who read an endpoint's events. Belongs to the endpoint's actor.
struct EventReaders {
  private var continuations: [Int: AsyncStream<EndpointEvent>.Continuation] = [:]
  /// The call of each reader that reads of one call alone.
  private var calls: [Int: CallID] = [:]
  private var next = 0
  /// Whether they are told of commands.
  var tracesCommands = false
  /// Nothing happens any more.
  private(set) var hasEnded = false
  private(set) var beginnings = CallBeginnings()
  /// The application's log.
  var logHandler: (@Sendable (LogEntry) -> Void)?

  /// - Parameter call: To read of it alone until it is over, also under another ID that it goes
  ///   on by; `nil` = everything.
  /// - Returns: the reader's number, for `remove`.
  mutating func add(
    _ continuation: AsyncStream<EndpointEvent>.Continuation, of call: CallID? = nil
  ) -> Int {
    defer { next += 1 }
    continuations[next] = continuation
    calls[next] = call
    return next
  }

  mutating func remove(_ number: Int) {
    continuations[number] = nil
    calls[number] = nil
  }

  /// In the order in which they came. Where too many wait, what a peer can say without end goes
  /// first: it must not push out what becomes of a call, which then comes later than it was. So of
  /// a flood each event pushes out one, and costs no more than another.
  mutating func publishEvent(_ event: EndpointEvent) {
    beginnings.append(event)
    if let logHandler, let entry = LogEntry(event) { logHandler(entry) }
    for number in continuations.keys.sorted() {
      if let call = calls[number], event.callID != call { continue }
      var next: EndpointEvent? = event
      var left = Self.mostDropped
      while let told = next, left > 0, case .dropped(let old)? = continuations[number]?.yield(told)
      {
        next = old.isUpToPeer ? nil : old
        left -= 1
      }
      if calls[number] != nil { followCall(of: number, event) }
    }
    if let warning = EndpointWarning(event) { publishEvent(.warning(warning)) }
  }

  /// What a reader of one call reads after this event of it.
  private mutating func followCall(of number: Int, _ event: EndpointEvent) {
    switch event {
    case .callProgress(_, .replaced(let new)): calls[number] = new
    case .callEnded:
      continuations[number]?.finish()
      remove(number)
    default: break
    }
  }

  /// Events that are looked at for one that may go.
  private static let mostDropped = 64

  /// After the last event.
  mutating func finish() {
    hasEnded = true
    for number in continuations.keys.sorted() { continuations[number]?.finish() }
    continuations.removeAll()
    calls.removeAll()
  }
}

extension EndpointEvent {
  /// One of those that a peer may cause without end.
  fileprivate var isUpToPeer: Bool {
    if case .callProgress(_, let step) = self { return step.isUpToPeer }
    return false
  }
}
