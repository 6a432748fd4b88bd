import Primitives

/// Round trips of the echoes on the idle line.
struct EchoTrips: Sendable {
  /// Nanoseconds, in the order of arrival.
  private(set) var idle: [Int64] = []
  /// The last one, of any phase; ns.
  private(set) var latest: Int64?
  /// Echoes sent on the idle line.
  private(set) var sentCount = 0

  mutating func countSent() { sentCount += 1 }

  /// - Parameter isIdle: Whether nothing of the probe's load was in its way.
  mutating func append(_ roundTrip: Int64, isIdle: Bool) {
    latest = roundTrip
    if isIdle { idle.append(roundTrip) }
  }

  /// The round trip, with what may come on top of it: the longest of the last 64.
  var roundTrip: Duration {
    guard !idle.isEmpty else { return .nanoseconds(latest ?? Self.unknown) }
    return .nanoseconds(idle.suffix(64).max() ?? 0)
  }

  var isEmpty: Bool { idle.isEmpty }

  /// Before the first answer, ns.
  private static let unknown: Int64 = 300_000_000
}

/// When the next echo is due.
///
/// Nobody knows yet what the line carries: an echo every 30 ms fits into 40 kbit/s, and is slow
/// enough for the least that may be expected. The first ones go in pairs, two at once. Of these the
/// slower direction makes a distance, by which the second answer comes later than the first. A pair
/// that is close, or comes in the other order, shows a line that an echo every 10 ms fills to less
/// than half. Jitter may part pairs as well: of five it rarely parts all.
struct EchoPace: Sendable, BitwiseCopyable {
  private(set) var nextDeadline: Instant?
  private var interval: Duration
  /// At most a third of what is expected, and at most one in 10 ms.
  private let leastInterval: Duration
  /// Echoes of pairs that were sent.
  private var pairedCount = 0
  /// The last answer's echo, and its round trip in ns.
  private var answered: (number: Int, trip: Int64)?

  /// - Parameters:
  ///   - byteCount: Of an echo's IP packet.
  ///   - rate: What the slower direction is expected to carry, in bit/s.
  init(byteCount: Int, rate: Double) {
    let bits = Double(8 * byteCount)
    leastInterval = .nanoseconds(Int64(max(10e6, bits * 3e9 / rate)))
    interval = max(leastInterval, Self.firstInterval)
  }

  mutating func start(at first: Instant) { nextDeadline = first }

  mutating func stop() { nextDeadline = nil }

  func isDue(now: Instant) -> Bool { nextDeadline.map { $0 <= now } ?? false }

  /// Whether the line may be a narrow one, for all that is known.
  var isSlow: Bool { interval > leastInterval }

  /// Whether the next echo is the second of a pair: it waits for the first one on a slow line.
  var isSecondOfPair: Bool { isSlow && pairedCount < Self.mostPaired && pairedCount % 2 == 1 }

  /// Counts one echo as sent. At most one that a late timer missed is made up for.
  mutating func advance(now: Instant) {
    guard let due = nextDeadline, due <= now else { return }
    guard isSlow, pairedCount < Self.mostPaired else {
      nextDeadline = max(due, now - interval) + interval
      return
    }
    pairedCount += 1
    // Two take the time of two.
    let next = max(due, now - interval) + interval * 2
    nextDeadline = pairedCount % 2 == 1 ? due : next
  }

  /// An echo was answered.
  ///
  /// - Parameters:
  ///   - number: Of the echo among what was sent.
  ///   - trip: Nanoseconds.
  mutating func handleAnswer(to number: Int, isSecondOfPair: Bool, trip: Int64) {
    defer { answered = (number, trip) }
    guard isSecondOfPair, let first = answered, first.number + 1 == number,
      trip - first.trip < Self.closest
    else { return }
    interval = leastInterval
  }

  private static let firstInterval = Duration.milliseconds(30)
  private static let mostPaired = 10
  /// ns: an echo at 200 kbit/s.
  private static let closest: Int64 = 4_500_000
}
