internal import Primitives

/// When the numbers of each call are due: every 2 s from its own beginning, whatever other calls
/// do. Pure.
struct StatisticsSchedule<ID: Hashable & Comparable> {
  private var deadlines: [ID: Instant] = [:]

  /// The call's media begins; changes nothing for a call that is there already.
  mutating func begin(_ id: ID, now: Instant) {
    deadlines[id] = deadlines[id] ?? now + Self.interval
  }

  mutating func end(_ id: ID) { deadlines[id] = nil }

  /// The calls whose numbers are due, in the order of their IDs. Each is due again 2 s after it was
  /// due; of several times that were missed together one is made up.
  mutating func popDue(at now: Instant) -> [ID] {
    let due = deadlines.filter { $0.value <= now }.keys.sorted()
    for id in due {
      guard var next = deadlines[id] else { continue }
      repeat { next = next + Self.interval } while next <= now
      deadlines[id] = next
    }
    return due
  }

  var next: Instant? { deadlines.values.min() }

  /// From one report of a call's numbers to the next.
  private static var interval: Duration { .seconds(2) }
}
