package import Primitives

/// What the receiver of a call's media knows of the path to it: the rate that arrives, the loss
/// before any repair, how long packets wait on the way, and how long pictures wait before it.
///
/// Allocates nothing but once.
package struct ReceivedPath: Sendable {
  /// Of the last second, IP and UDP included: bit/s.
  package private(set) var rate = 0.0
  private var loss = ArrivalLoss()
  private var transits = TransitTimes()
  private var slices = [Slice](repeating: Slice(), count: Self.sliceCount)
  private var nextSlice = 0
  private var slice = Slice()
  private var turned: Instant?
  private var lastPacket: Instant?
  private var lastWait: Instant?

  private struct Slice {
    var byteCount = 0
    var nanoseconds: UInt64 = 0
  }

  package init() {}

  // MARK: Inputs

  /// A packet opened.
  ///
  /// - Parameter byteCount: of the datagram.
  package mutating func recordPacket(byteCount: Int, now: Instant) {
    slice.byteCount += byteCount + Self.headerByteCount
    lastPacket = now
  }

  /// An audio frame came.
  ///
  /// - Parameter end: media time at its end, in steps of 10 ms: nothing can leave before that.
  package mutating func noteSound(end: UInt16, now: Instant) {
    transits.noteSound(mediaTime: Int64(end) * 10_000_000, now: now)
  }

  /// A part of a picture came.
  ///
  /// - Parameter mediaTime: of the picture, in 10 ms / 256.
  package mutating func notePicture(_ mediaTime: UInt32, now: Instant) {
    transits.notePicture(mediaTime: Int64(mediaTime) * 10_000_000 / 256, now: now)
  }

  /// To be called every 100 ms or so.
  ///
  /// - Parameter arrivals: what `FeedbackRecorder` has counted.
  package mutating func turn(_ arrivals: ArrivalCount, now: Instant) {
    loss.turn(arrivals, now: now)
    transits.turn(now: now)
    if transits.pictureWait > Self.limitingWait { lastWait = now }
    defer { turned = now }
    guard let turned else { return slice = Slice() }
    slice.nanoseconds = now.nanoseconds(since: turned)
    slices[nextSlice] = slice
    nextSlice = (nextSlice + 1) % Self.sliceCount
    slice = Slice()
    let nanoseconds = slices.reduce(0) { $0 + $1.nanoseconds }
    let byteCount = slices.reduce(0) { $0 + $1.byteCount }
    rate = nanoseconds == 0 ? 0 : Double(byteCount) * 8e9 / Double(nanoseconds)
  }

  // MARK: Getters

  /// Share of the packets of the last second that did not come, 0...1; `nil` while it is not known.
  package var lossRate: Double? { loss.rate }

  /// The queue on the way, in microseconds; 0 while nothing tells.
  package var queueDelay: Double { transits.queueDelay }

  /// How much later than usual pictures leave their sender, in microseconds; 0 while nothing tells.
  package var pictureWait: Double { transits.pictureWait }

  /// Whether the sender would send more: pictures wait there, or have waited in the last second.
  package var isLimiting: Bool {
    guard let lastWait, let turned else { return false }
    return turned - lastWait < .seconds(1)
  }

  /// For the machine that asks the other side to leave its video out. How long the queue is counts
  /// in a test alone: else its sender sees it as well, and whose it is.
  ///
  /// - Parameter isTesting: video is left out, and what comes is padding.
  package func sighting(isTesting: Bool, now: Instant) -> FallbackMachine.Sighting {
    // What arrives is what the path carries only where more was to come.
    let isKnown = isTesting || isLimiting
    let isHeard = lastPacket.map { now - $0 < Self.longestPause } ?? false
    return FallbackMachine.Sighting(
      estimate: isKnown ? rate * (isTesting ? 1.05 : 1) : .infinity, loss: lossRate ?? 0,
      queueDelay: isTesting ? queueDelay : 0, isHeard: isHeard || !isTesting, deliveryRate: rate)
  }

  /// A path of which nothing is asked: no reason to leave anything out.
  package static var quiet: FallbackMachine.Sighting {
    FallbackMachine.Sighting(
      estimate: .infinity, loss: 0, queueDelay: 0, isHeard: true, deliveryRate: 0)
  }

  /// 150 ms. A sender encodes no picture while more than two frames of 33 ms wait; on a line of 70
  /// kbit/s the parts of a picture waited for 1.3 s and more (`SubscribeFallbackTests`).
  private static let limitingWait = 150_000.0
  /// Pings come each second.
  private static let longestPause = Duration.milliseconds(2_500)
  private static let sliceCount = 10
  /// IPv4 and UDP.
  private static let headerByteCount = 28
}

/// What of the other side's packets did not come in the last second: read from what
/// `FeedbackRecorder` counts.
private struct ArrivalLoss: Sendable {
  /// Share that did not come, 0...1; `nil` before the first second is over.
  private(set) var rate: Double?
  private var began: (time: Instant, count: ArrivalCount)?

  mutating func turn(_ count: ArrivalCount, now: Instant) {
    guard let began, count.received >= began.count.received else {
      self.began = (now, count)
      return
    }
    let received = count.received - began.count.received
    let isEnough = received >= Self.fewest
    guard now - began.time >= (isEnough ? .seconds(1) : Self.longest) else { return }
    self.began = (now, count)
    // Numbers of two epochs say nothing about each other; nor do so few.
    guard isEnough, let expected = count.expected(since: began.count) else {
      if !isEnough { rate = nil }
      return
    }
    rate = max(0, 1 - Double(received) / Double(expected))
  }

  private static let fewest: UInt64 = 10
  private static let longest = Duration.seconds(3)
}

/// How long what comes was on its way, by the sender's media time: only differences mean anything,
/// as the clocks do not agree. Sound leaves when it was spoken; pictures wait for their turn.
struct TransitTimes: Sendable {
  /// In microseconds.
  private(set) var queueDelay = 0.0
  private(set) var pictureWait = 0.0
  /// Of the first that came, in nanoseconds: the others count from it.
  private var reference: Int64?
  private var sound = LeastTransit()
  private var picture = LeastTransit()
  /// The latest media time of sound, as a time of this host; and how many came since that were
  /// earlier.
  private var newest: Int64?
  private var earlierCount = 0

  mutating func noteSound(mediaTime: Int64, now: Instant) {
    var transit = relative(mediaTime, now)
    let time = Int64(clamping: now.nanoseconds) &- transit
    if let newest, time < newest {
      earlierCount += 1
    } else {
      newest = time
      earlierCount = 0
    }
    // Repeated frames come beside new ones.
    if earlierCount >= Self.mostEarlier {
      restart(at: Int64(clamping: now.nanoseconds) &- mediaTime)
      transit = 0
    }
    sound.addTransit(transit, now: now)
  }

  mutating func notePicture(mediaTime: Int64, now: Instant) {
    let transit = relative(mediaTime, now)
    picture.addTransit(transit, now: now)
  }

  mutating func turn(now: Instant) {
    sound.turn(now: now)
    picture.turn(now: now)
    // Where no sound tells, whether pictures wait before the path or on it is the same.
    queueDelay = sound.delay ?? picture.delay ?? 0
    pictureWait = max(0, (picture.delay ?? 0) - (sound.delay ?? 0))
  }

  /// Media time wraps, so the difference to the first is the one nearest to it.
  private mutating func relative(_ mediaTime: Int64, _ now: Instant) -> Int64 {
    let transit = Int64(clamping: now.nanoseconds) &- mediaTime
    guard let reference else {
      self.reference = transit
      return 0
    }
    var difference = (transit &- reference) % Self.wrap
    if difference > Self.wrap / 2 { difference -= Self.wrap }
    if difference < -Self.wrap / 2 { difference += Self.wrap }
    guard abs(difference) > Self.longest else { return difference }
    restart(at: transit)
    return 0
  }

  /// The sender has begun a new time line.
  private mutating func restart(at transit: Int64) {
    self = TransitTimes()
    reference = transit
  }

  /// 65 536 steps of 10 ms (docs/protocol/frames.md §5, §10).
  private static let wrap: Int64 = 655_360_000_000
  private static let longest: Int64 = 10_000_000_000
  private static let mostEarlier = 10
}

/// The least transit time of the last quarter of a second, and of the last quarter of a minute.
struct LeastTransit: Sendable {
  private var recent: (now: Int64?, before: Int64?) = (nil, nil)
  private var long: (now: Int64?, before: Int64?) = (nil, nil)
  private var recentBegan: Instant?
  private var longBegan: Instant?

  /// The one above the other, in microseconds; `nil` while nothing comes.
  var delay: Double? {
    guard let standing = Self.least(recent.now, recent.before),
      let base = Self.least(long.now, long.before)
    else { return nil }
    return Double(standing - base) / 1_000
  }

  mutating func addTransit(_ transit: Int64, now: Instant) {
    recent.now = Self.least(recent.now, transit)
    long.now = Self.least(long.now, transit)
  }

  mutating func turn(now: Instant) {
    if now - (recentBegan ?? .zero) >= Self.short {
      recent = (nil, recent.now)
      recentBegan = now
    }
    if now - (longBegan ?? .zero) >= Self.longest {
      long = (nil, long.now ?? long.before)
      longBegan = now
    }
  }

  private static func least(_ one: Int64?, _ other: Int64?) -> Int64? {
    guard let one else { return other }
    return other.map { min(one, $0) } ?? one
  }

  private static let short = Duration.milliseconds(250)
  /// Clocks differ by 0.1 ms a second at most, so the base errs by 3 ms.
  private static let longest = Duration.seconds(15)
}
