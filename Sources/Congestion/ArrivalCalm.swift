import Primitives

/// Whether what arrives tells its sender nothing new: all of it has come for a while, unmarked, and
/// it is one stream of sound (docs/protocol/frames.md §2).
struct ArrivalCalm: Sendable, BitwiseCopyable {
  private var next: UInt64?
  /// When something was missing, late, marked or no sound for the last time; when the first packet
  /// came.
  private var lastTrouble = Instant.zero
  /// Since the last report.
  private var packetCount: UInt64 = 0
  private var reported = Instant.zero
  /// More than one host was heard between the last two reports.
  private var wasBusy = false

  /// A packet has come for the first time.
  ///
  /// - Parameters:
  ///   - number: The transport number.
  ///   - isSound: It is as long as a frame of sound is, and unmarked.
  mutating func noteArrival(_ number: UInt64, isSound: Bool, now: Instant) {
    if number != next || !isSound { lastTrouble = now }
    next = max(next ?? 0, number &+ 1)
    packetCount += 1
  }

  mutating func noteReport(now: Instant) {
    wasBusy = isBusy(beyond: 0, now: now)
    (reported, packetCount) = (now, 0)
  }

  func holds(now: Instant) -> Bool {
    !wasBusy && lastTrouble + Self.patience <= now && !isBusy(beyond: Self.together, now: now)
  }

  /// More has come since the last report than the frames of one host, and some.
  private func isBusy(beyond count: UInt64, now: Instant) -> Bool {
    let elapsed = now.nanoseconds(since: reported)
    return packetCount > count + elapsed / 1_000_000 * Self.mostPerSecond / 1000
  }

  /// After trouble.
  private static let patience = Duration.seconds(5)
  /// Packets; one host says 50 a second, and 100 in frames of 10 ms, which count as more than one.
  private static let mostPerSecond: UInt64 = 75
  /// What may come together.
  private static let together: UInt64 = 8
}
