internal import Primitives

/// When the numbers of each call are due: every 2 s, or as set, from its own beginning, whatever
/// other calls do. Pure.
struct StatisticsSchedule<ID: Hashable & Comparable> {
  private var deadlines: [ID: Instant] = [:]
  /// From one report of a call's numbers to the next.
  private(set) var interval = Duration.seconds(2)

  /// The call's media begins; changes nothing for a call that is there already.
  mutating func begin(_ id: ID, now: Instant) {
    deadlines[id] = deadlines[id] ?? now + interval
  }

  mutating func end(_ id: ID) { deadlines[id] = nil }

  /// The calls whose numbers are due, in the order of their IDs. Each is due again one interval
  /// after it was due; of several times that were missed together one is made up.
  mutating func popDue(at now: Instant) -> [ID] {
    let due = deadlines.filter { $0.value <= now }.keys.sorted()
    for id in due {
      guard var next = deadlines[id] else { continue }
      repeat { next = next + interval } while next <= now
      deadlines[id] = next
    }
    return due
  }

  var next: Instant? { deadlines.values.min() }

  /// Holds from now on, for all calls.
  mutating func setInterval(_ interval: Duration, now: Instant) {
    self.interval = interval
    for id in deadlines.keys { deadlines[id] = now + interval }
  }
}
