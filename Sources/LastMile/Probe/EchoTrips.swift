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

/// When the next echo is due: an even pace while echoes are sent at all.
struct EchoPace: Sendable, BitwiseCopyable {
  private(set) var nextDeadline: Instant?
  private let interval: Duration

  /// At most a third of the line, and at most one in 10 ms.
  ///
  /// - Parameters:
  ///   - byteCount: Of an echo's IP packet.
  ///   - rate: What the slower direction is expected to carry, in bit/s.
  init(byteCount: Int, rate: Double) {
    interval = .nanoseconds(Int64(max(10e6, Double(byteCount) * 8 * 3e9 / rate)))
  }

  mutating func start(at first: Instant) { nextDeadline = first }

  mutating func stop() { nextDeadline = nil }

  func isDue(now: Instant) -> Bool { nextDeadline.map { $0 <= now } ?? false }

  /// Counts one echo as sent. At most one that a late timer missed is made up for.
  mutating func advance(now: Instant) {
    guard let due = nextDeadline, due <= now else { return }
    nextDeadline = max(due, now - interval) + interval
  }
}
