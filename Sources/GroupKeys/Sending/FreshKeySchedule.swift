internal import Primitives
internal import Wire

/// When a leave makes us take a fresh key (docs/protocol/sframe.md §3).
struct FreshKeySchedule {
  private let limits: GroupKeyLimits
  private var lastFresh: Instant?
  /// When the next fresh key must be made; `nil` while nobody has left.
  private(set) var due: Instant?
  /// When it must be in use.
  private var useBy: Instant?

  init(limits: GroupKeyLimits) { self.limits = limits }

  /// Somebody is gone who holds our key.
  mutating func recordDeparture(_ departure: Departure, audienceCount: Int, now: Instant) {
    guard departure.isOrdinary else {
      due = now
      useBy = earliest(useBy, now + limits.removalSwitchDelay)
      return
    }
    let isLarge = audienceCount > limits.largeAudience
    let interval = isLarge ? limits.largeFreshInterval : limits.freshInterval
    let start = lastFresh.map { max(now, $0 + interval) } ?? now
    due = earliest(due, start)
    useBy = earliest(useBy, start + limits.switchDelay)
  }

  /// A fresh key is made now; until when it may be handed out before it is used.
  mutating func begin(now: Instant) -> Instant {
    defer { cancel() }
    lastFresh = now
    return useBy ?? now
  }

  mutating func cancel() {
    due = nil
    useBy = nil
  }
}
