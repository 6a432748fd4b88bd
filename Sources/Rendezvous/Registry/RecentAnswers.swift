import Primitives

/// The RESPs of the last 10 s, by the INIT that each answered (docs/protocol/session.md §2): a
/// repeated INIT gets the same bytes without a second key agreement.
struct RecentAnswers {
  private static let life = Duration.seconds(10)
  private var order: BoundedQueue<(key: Bytes16, due: Instant)>
  private var answers: [Bytes16: (bytes: [UInt8], due: Instant)] = [:]

  /// - Parameter limit: About 300 bytes each.
  init(limit: Int) { order = BoundedQueue(limit: limit) }

  var count: Int { answers.count }

  mutating func find(_ key: Bytes16, now: Instant) -> [UInt8]? {
    forgetOld(now: now)
    return answers[key]?.bytes
  }

  mutating func insert(_ bytes: [UInt8], for key: Bytes16, now: Instant) {
    forgetOld(now: now)
    if order.count == order.limit, let oldest = order.popFirst() { answers[oldest.key] = nil }
    let due = now + Self.life
    _ = order.append((key, due))
    answers[key] = (bytes, due)
  }

  mutating func forgetOld(now: Instant) {
    while let first = order.first, first.due <= now {
      _ = order.popFirst()
      answers[first.key] = nil
    }
  }
}
