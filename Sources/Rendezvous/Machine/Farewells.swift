import Primitives

/// A sealed CLOSE of a session that is no longer kept.
struct Farewell: Sendable {
  var bytes: [UInt8]
  var path: DatagramPath
}

/// CLOSE packets on their way: each three times, 50 ms apart (docs/protocol/session.md §8).
struct Farewells {
  static let roundCount = 3
  static let pace = Duration.milliseconds(50)
  /// Each round; beyond it sessions end without a word, and time out at the other end.
  private static let limit = 4096

  /// One queue a round, so that each is in the order of its moments.
  private var rounds = (0..<roundCount).map { _ in
    BoundedQueue<(due: Instant, farewell: Farewell)>(limit: limit)
  }

  mutating func append(_ farewell: Farewell, _ round: Int, now: Instant) {
    _ = rounds[round].append((now + Self.pace * round, farewell))
  }

  mutating func popDue(now: Instant) -> Farewell? {
    for round in rounds.indices {
      if let first = rounds[round].first, first.due <= now {
        return rounds[round].popFirst()?.farewell
      }
    }
    return nil
  }

  var nextDeadline: Instant? {
    rounds.reduce(nil) { earliest($0, $1.first?.due) }
  }
}

/// Saying good-bye to everyone: three rounds over all slots, 50 ms apart. With patience, those with
/// something under way are left out at first, and three rounds over all come when nobody has any
/// more, or when patience ends.
struct GoingAway: Sendable {
  private var round = 0
  private var slot: UInt32 = 0
  private var due: Instant
  /// Until when the busy ones are left out; `nil` = nobody is, any more.
  private var patienceEnd: Instant?

  init(now: Instant, patience: Duration) {
    due = now
    patienceEnd = patience > .zero ? now + patience : nil
  }

  /// Whether those with something under way are still served.
  var isPatient: Bool { patienceEnd != nil }
  var isDone: Bool { areRoundsOver && !isPatient }

  var nextDeadline: Instant? { areRoundsOver ? patienceEnd : due }

  /// Whether those with nothing under way are told for the last time: nothing is begun for them any
  /// more, as it would be waited for in vain.
  var isForgetting: Bool { isPatient && round == Farewells.roundCount - 1 }

  private var areRoundsOver: Bool { round == Farewells.roundCount }

  /// - Parameter busyCount: How many clients have something under way.
  mutating func noteTime(busyCount: Int, now: Instant) {
    guard let patienceEnd, busyCount == 0 || patienceEnd <= now else { return }
    self = GoingAway(now: now, patience: .zero)
  }

  mutating func nextSlot(of count: Int, now: Instant) -> UInt32? {
    guard !areRoundsOver, due <= now else { return nil }
    if Int(slot) >= count {
      round += 1
      slot = 0
      due = due + Farewells.pace
      return nil
    }
    defer { slot += 1 }
    return slot
  }
}
