package import Primitives

/// Tells when the picture stood still: more than 500 ms from one shown picture to the next.
///
/// The whole gap counts, from the last picture before it. W3C webrtc-stats `freezeCount` and
/// `totalFreezesDuration`, with a fixed limit where that has three times the mean interval.
package struct FreezeMeter: Sendable {
  package static let limit = Duration.milliseconds(500)

  /// Freezes that are over.
  package private(set) var freezeCount = 0
  /// How long they were in all.
  package private(set) var totalFreezesDuration = Duration.zero
  /// From the first picture on, without the times when none was expected.
  package private(set) var activeDuration = Duration.zero
  /// Whether the present gap has become a freeze.
  package private(set) var isFrozen = false
  private var last: Instant?

  package init() {}

  /// A picture was shown.
  ///
  /// - Returns: how long the freeze was that it ended, if it ended one.
  @discardableResult
  package mutating func handlePicture(now: Instant) -> Duration? {
    defer { last = now }
    isFrozen = false
    guard let last else { return nil }
    let gap = now - last
    activeDuration += gap
    guard gap > Self.limit else { return nil }
    freezeCount += 1
    totalFreezesDuration += gap
    return gap
  }

  /// - Returns: whether a freeze has just become one.
  package mutating func handleTimeout(now: Instant) -> Bool {
    guard !isFrozen, let last, now - last > Self.limit else { return false }
    isFrozen = true
    return true
  }

  /// No picture is expected until the next comes: muted, or fallen back to audio alone. A gap that
  /// has become a freeze counts up to here.
  package mutating func pause(now: Instant) {
    if isFrozen { handlePicture(now: now) }
    last = nil
    isFrozen = false
  }

  /// When the present gap becomes a freeze.
  package var nextDeadline: Instant? {
    guard !isFrozen, let last else { return nil }
    return last + Self.limit + .nanoseconds(1)
  }

  /// The share of the active time that was frozen, 0...1.
  package var frozenFraction: Double {
    activeDuration > .zero ? totalFreezesDuration / activeDuration : 0
  }
}
