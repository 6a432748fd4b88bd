internal import Primitives
internal import Synchronization

/// Decides how long sound must wait for its pictures: those take longer to encode, to pace and to
/// put together, and a picture can only be held, never hurried.
///
/// Once a second it looks at how late nine of ten pictures were. Sound waits only where that is
/// more than people would bear, and gives the time back slowly.
struct LipBalance: Sendable {
  /// What the sound is to wait beyond its own needs.
  private(set) var hold = Duration.zero
  private var late: [Int64] = []
  private var since: Instant?

  /// A picture was ready so much later than its sound was heard; negative: it had to wait.
  ///
  /// - Returns: the new hold, if it changes.
  mutating func recordOffset(_ offset: Duration, now: Instant) -> Duration? {
    let began = since ?? now
    since = began
    guard now >= began else { return nil }
    if late.count < Self.mostPictures { late.append(offset.nanoseconds) }
    guard now - began >= .seconds(1), late.count >= Self.leastPictures else { return nil }
    let sorted = late.sorted()
    let most = Duration.nanoseconds(sorted[sorted.count * 9 / 10])
    late.removeAll(keepingCapacity: true)
    since = now
    let next = Self.next(hold, most)
    guard next != hold else { return nil }
    hold = next
    // The sound takes a while to follow.
    since = now + .seconds(1)
    late.removeAll(keepingCapacity: true)
    return next
  }

  private static func next(_ hold: Duration, _ most: Duration) -> Duration {
    if most > bearable { return min(hold + most - aim, longest) }
    if most < .zero, hold > .zero { return max(.zero, hold - min(.zero - most, give)) }
    return hold
  }

  /// Of the 40 ms that sound and picture may be apart, less what one picture differs from another.
  private static let bearable = Duration.milliseconds(30)
  private static let aim = Duration.milliseconds(15)
  private static let give = Duration.milliseconds(10)
  /// Beyond that a conversation suffers more than the picture gains.
  private static let longest = Duration.milliseconds(120)
  private static let mostPictures = 120
  private static let leastPictures = 5
}

/// What the sound is to wait for its picture, from the video's thread to the audio's.
final class PictureHold: Sendable {
  private let nanoseconds = Atomic<Int64>(0)
  var value: Int64 { nanoseconds.load(ordering: .relaxed) }
  func set(_ value: Int64) { nanoseconds.store(value, ordering: .relaxed) }
}
