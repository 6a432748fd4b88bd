internal import Primitives

/// Whether another grant for a relay is waited for: one question at a time, and not at the pace of
/// round trips where each answer is the wrong one.
struct GrantQuestion {
  private var isOpen = false
  private var number = 0
  /// Since when questions are counted, and how many there were.
  private var since = Instant.zero
  private var count = 0
  /// How often the one that is open was repeated.
  private var repetitions = 0

  /// A grant has come.
  mutating func close() { isOpen = false }

  /// - Returns: Its number, and how long to wait before it is asked; `nil` while one is open.
  mutating func open(after wait: Duration, now: Instant) -> (number: Int, wait: Duration)? {
    guard !isOpen else { return nil }
    if now >= since + Self.window { (since, count) = (now, 0) }
    (isOpen, number, count, repetitions) = (true, number + 1, count + 1, 0)
    return (number, count > Self.most ? max(wait, Self.window) : wait)
  }

  /// Whether that question is to be repeated.
  func isOpen(_ number: Int) -> Bool { isOpen && self.number == number }

  /// How long to wait before it is repeated. After a restart of the rendezvous the relay is back
  /// soon, and members that have their new seats at other times do not hear each other in between.
  mutating func popPace() -> Duration {
    repetitions += 1
    return repetitions <= Self.quickRepetitions ? Self.quickPace : Self.pace
  }

  /// From one question for a relay to the next.
  private static let pace = Duration.seconds(3)
  /// How late a closed endpoint is seen while waiting for that.
  static let step = Duration.milliseconds(100)
  private static let quickRepetitions = 4
  private static let quickPace = Duration.milliseconds(500)

  /// Roles may change as often within two seconds.
  private static let most = 4
  private static let window = Duration.seconds(2)
}
