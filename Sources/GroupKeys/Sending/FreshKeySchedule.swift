internal import Primitives
internal import Wire

/// When a leave makes us take a fresh key (docs/protocol/sframe.md §3).
struct FreshKeySchedule {
  private let limits: GroupKeyLimits
  private var lastFresh: Instant?
  /// When the last fresh key was made because somebody had lost the right to hear.
  private var lastUrgent: Instant?
  /// When the next fresh key must be made; `nil` while nobody has left.
  private(set) var due: Instant?
  /// When it must be in use.
  private var useBy: Instant?
  /// The next one is for somebody who has lost the right to hear.
  private var isUrgent = false

  init(limits: GroupKeyLimits) { self.limits = limits }

  /// Somebody is gone who holds our key.
  mutating func recordDeparture(_ departure: Departure, audienceCount: Int, now: Instant) {
    if departure.endsHearing {
      isUrgent = true
      schedule(
        after: lastUrgent, by: limits.removalInterval, delay: limits.removalSwitchDelay, now: now)
    } else {
      let isLarge = audienceCount > limits.largeAudience
      let interval = isLarge ? limits.largeFreshInterval : limits.freshInterval
      schedule(after: lastFresh, by: interval, delay: limits.switchDelay, now: now)
    }
  }

  private mutating func schedule(
    after last: Instant?, by interval: Duration, delay: Duration, now: Instant
  ) {
    let start = last.map { max(now, $0 + interval) } ?? now
    due = earliest(due, start)
    useBy = earliest(useBy, start + delay)
  }

  /// A fresh key is made now; until when it may be handed out before it is used.
  mutating func begin(now: Instant) -> Instant {
    defer { cancel() }
    lastFresh = now
    if isUrgent { lastUrgent = now }
    return useBy ?? now
  }

  mutating func cancel() {
    due = nil
    useBy = nil
    isUrgent = false
  }
}
