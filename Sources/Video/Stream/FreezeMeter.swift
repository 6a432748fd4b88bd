package import Primitives

/// Counts freezes as W3C webrtc-stats has them (`freezeCount`, `totalFreezesDuration`:
/// `RenderedIntervals`), and tells when the picture has stood still for so long that the
/// application must know: 500 ms, as Agora has it, or two and a half of the sender's intervals
/// where it makes fewer than five pictures a second.
///
/// The whole gap counts, from the last picture before it.
package struct FreezeMeter: Sendable {
  /// The shortest gap that is told, at five pictures a second and more.
  package static let leastLimit = Duration.milliseconds(500)

  /// The longest gap that is not told.
  package private(set) var limit = leastLimit

  /// Freezes that are over.
  package private(set) var freezeCount = 0
  /// How long they were in all.
  package private(set) var totalFreezesDuration = Duration.zero
  /// From the first picture on, without the times when none was expected.
  package private(set) var activeDuration = Duration.zero
  /// Whether the present gap has been told.
  package private(set) var isFrozen = false
  private var last: Instant?
  private var rendered = RenderedIntervals()
  /// The sender's last intervals, in ms; -1 where none is known yet.
  private var intervals = InlineArray<8, Int64>(repeating: -1)
  private var intervalCount = 0

  package init() {}

  /// A picture was shown.
  ///
  /// - Parameter interval: between the sender's pictures, by its own time; `nil` where that is not
  ///   known.
  /// - Returns: how long the freeze (W3C) was that it ended, if it ended one.
  @discardableResult
  package mutating func handlePicture(now: Instant, interval: Duration? = nil) -> Duration? {
    defer {
      last = now
      appendInterval(interval)
    }
    isFrozen = false
    guard let last else { return nil }
    let gap = now - last
    activeDuration += gap
    let isFreeze = rendered.isFreeze(gap)
    rendered.append(gap)
    guard isFreeze else { return nil }
    freezeCount += 1
    totalFreezesDuration += gap
    return gap
  }

  /// - Returns: whether the present gap has just become long enough to be told.
  package mutating func handleTimeout(now: Instant) -> Bool {
    guard !isFrozen, let last, now - last > limit else { return false }
    isFrozen = true
    return true
  }

  /// No picture is expected until the next comes: muted, or fallen back to audio alone. A gap that
  /// has been told counts up to here.
  package mutating func pause(now: Instant) {
    if isFrozen { handlePicture(now: now) }
    last = nil
    isFrozen = false
  }

  /// The freezes so far, with the present one up to now.
  package func totals(now: Instant) -> (count: Int, duration: Duration, active: Duration) {
    guard isFrozen, let last, now > last else {
      return (freezeCount, totalFreezesDuration, activeDuration)
    }
    let gap = now - last
    guard rendered.isFreeze(gap) else {
      return (freezeCount, totalFreezesDuration, activeDuration + gap)
    }
    return (freezeCount + 1, totalFreezesDuration + gap, activeDuration + gap)
  }

  /// When the present gap is to be told.
  package var nextDeadline: Instant? {
    guard !isFrozen, let last else { return nil }
    return last + limit + .nanoseconds(1)
  }

  /// The median counts: a sender that was muted for a while has not become slow.
  private mutating func appendInterval(_ interval: Duration?) {
    guard let interval else { return }
    intervals[intervalCount % intervals.count] = interval.milliseconds
    intervalCount += 1
    let known = min(intervalCount, intervals.count)
    var median: Int64 = 0
    for place in 0..<known {
      let below = (0..<known).count { intervals[$0] < intervals[place] }
      let same = (0..<known).count { intervals[$0] == intervals[place] }
      if below <= (known - 1) / 2, (known - 1) / 2 < below + same { median = intervals[place] }
    }
    limit = max(Self.leastLimit, .milliseconds(median * 5 / 2))
  }

  /// The share of the active time that was frozen, 0...1.
  package var frozenFraction: Double {
    activeDuration > .zero ? totalFreezesDuration / activeDuration : 0
  }
}

/// How many pictures of a peer enter the decoder: who sends more than anybody watches takes a core
/// of this host. A picture that is left out takes those after it along, up to a key frame, which is
/// asked for.
package struct DecodePace: Sendable {
  /// Pictures in a second, and at once. Our choice: twice what a sender makes at the most.
  package static let perSecond = 120
  /// Between two key frames that are asked for. Our choice: by then as many pictures may enter
  /// again as ever.
  private static let requestInterval = Duration.seconds(1)

  /// Pictures that may enter now.
  private var allowed = Double(Self.perSecond)
  private var counted: Instant?
  private var isSkipping = false
  /// When a key frame is to be asked for; while pictures are left out.
  package private(set) var nextRequest: Instant?
  private var lastRequest: Instant?

  package init() {}

  /// Whether to ask for a key frame now: at once when a picture is left out, and then each second.
  package mutating func pollRequest(now: Instant) -> Bool {
    guard let due = nextRequest, due <= now else { return false }
    lastRequest = now
    nextRequest = now + Self.requestInterval
    return true
  }

  /// Whether the next picture enters the decoder.
  package mutating func admits(isKeyFrame: Bool, now: Instant) -> Bool {
    let limit = Double(Self.perSecond)
    if let counted, now > counted {
      allowed = min(limit, allowed + Double(now.nanoseconds(since: counted)) / 1e9 * limit)
    }
    counted = max(counted ?? now, now)
    guard allowed >= 1, isKeyFrame || !isSkipping else {
      isSkipping = true
      if nextRequest == nil {
        nextRequest = max(now, lastRequest.map { $0 + Self.requestInterval } ?? now)
      }
      return false
    }
    isSkipping = false
    nextRequest = nil
    allowed -= 1
    return true
  }
}
