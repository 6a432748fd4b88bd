import Primitives

/// VIDEO_TEST, both ways (docs/protocol/calling.md §5): while a receiver has asked for audio alone,
/// it says when the sender is to fill the path, so that it sees whether video fits again.
struct ReturnTest: Sendable {
  /// What the other side was told last, in bit/s, and when.
  private var told: (rate: UInt32, at: Instant)?
  /// What the other side has asked for, in bit/s, and until when that holds.
  private var asked: (rate: Double, until: Instant)?

  /// - Parameter wanted: a rate in bit/s; `nil` for no test.
  /// - Returns: what to tell, if anything.
  mutating func poll(_ wanted: Double?, now: Instant) -> UInt32? {
    let rate = wanted.map { UInt32(min(max($0, 0), 4e9)) } ?? 0
    let last = told?.rate ?? 0
    let isDue = rate > 0 && told.map { now - $0.at >= Self.repetition } ?? true
    guard rate != last || isDue else { return nil }
    told = (rate, now)
    return rate
  }

  mutating func handle(_ rate: Double, now: Instant) {
    asked = rate > 0 ? (rate, now + Self.life) : nil
  }

  func asked(now: Instant) -> Double? {
    asked.flatMap { now < $0.until ? $0.rate : nil }
  }

  /// A test goes on as long as it is asked for again.
  private static let repetition = Duration.seconds(1)
  private static let life = Duration.seconds(3)
}
