/// The timers of one machine, each with a name, so that a log can say why the machine woke.
package struct Deadlines<Timer: CaseIterable & Hashable & Sendable>: Sendable {
  private var due: [(timer: Timer, at: Instant?)]

  package init() { due = Timer.allCases.map { ($0, nil) } }

  /// The soonest deadline; `nil` when no timer runs.
  package var next: Instant? {
    var least: Instant?
    for entry in due { least = earliest(least, entry.at) }
    return least
  }

  package subscript(timer: Timer) -> Instant? {
    due.first { $0.timer == timer }?.at
  }

  package mutating func set(_ timer: Timer, at deadline: Instant) {
    for index in due.indices where due[index].timer == timer { due[index].at = deadline }
  }

  package mutating func cancel(_ timer: Timer) {
    for index in due.indices where due[index].timer == timer { due[index].at = nil }
  }

  package mutating func cancelAll() {
    for index in due.indices { due[index].at = nil }
  }

  /// Stops and returns the soonest timer that is due at `now`; call until it gives `nil`.
  package mutating func popDue(at now: Instant) -> Timer? {
    var found: Int?
    for index in due.indices {
      guard let at = due[index].at, at <= now else { continue }
      if let best = found, let bestAt = due[best].at, bestAt <= at { continue }
      found = index
    }
    guard let found else { return nil }
    due[found].at = nil
    return due[found].timer
  }
}
