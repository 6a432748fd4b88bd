import Primitives
import Testing
import Wire

@testable import Peer

/// Which access token is shown when, and how long the one that holds lasts.
struct TokenWatchTests {
  private static let one: [UInt8] = [1]
  private static let two: [UInt8] = [2]
  private static let three: [UInt8] = [3]

  private static func at(_ seconds: Int64) -> Instant { .zero + .seconds(seconds) }

  /// One that holds from second 0 on, for so many ms.
  private static func holding(_ milliseconds: UInt32 = 3_600_000) -> TokenWatch {
    var watch = TokenWatch(one)
    _ = watch.accept(one, milliseconds: milliseconds, now: .zero)
    return watch
  }

  @Test func `one is under way at a time, and its answer is its own`() {
    var watch = Self.holding()
    watch.replace(with: Self.two)
    #expect(watch.isFresh)
    #expect(watch.show(now: Self.at(1)) == Self.two)
    watch.replace(with: Self.three)
    #expect(!watch.isFresh)
    #expect(watch.show(now: Self.at(1)) == nil)
    #expect(watch.takeAsked(now: Self.at(2)) == Self.two)
    #expect(watch.takeAsked(now: Self.at(2)) == nil, "nobody asked")
    #expect(watch.refuse(Self.two, .subject, now: Self.at(2)) == true)
    #expect(watch.isFresh)
    #expect(watch.show(now: Self.at(2)) == Self.three)
    #expect(watch.takeAsked(now: Self.at(3)) == Self.three)
    #expect(watch.accept(Self.three, milliseconds: 60_000, now: Self.at(3)) == true)
    #expect(watch.end == Self.at(63) && !watch.isFresh && watch.retryAt == nil)
  }

  @Test func `one that nobody answered is shown again, and at the end it is tried`() {
    var watch = Self.holding(60_000)
    watch.replace(with: Self.two)
    #expect(watch.show(now: Self.at(1)) == Self.two)
    #expect(watch.nextDeadline(hasSession: true) == Self.at(10))
    #expect(watch.takeRetry(now: Self.at(9)) == false)
    #expect(watch.takeRetry(now: Self.at(10)) == true)
    #expect(watch.takeRetry(now: Self.at(10)) == false, "once")
    #expect(watch.show(now: Self.at(10)) == Self.two)
    #expect(watch.isOver(now: Self.at(61)))
    watch.forgetEnd()
    #expect(watch.isUntried && watch.best == Self.two)
  }

  @Test func `a new session waits for no answer of the one before`() {
    var watch = Self.holding()
    watch.replace(with: Self.two)
    _ = watch.show(now: Self.at(1))
    watch.forgetAsked(now: Self.at(2))
    #expect(watch.retryAt == nil)
    #expect(watch.accept(Self.one, milliseconds: 3_000_000, now: Self.at(2)) == false)
    #expect(watch.isFresh)
    #expect(watch.show(now: Self.at(2)) == Self.two)
  }

  @Test func `after a refusal the one before is taken, and after its end none`() {
    var watch = Self.holding(60_000)
    watch.replace(with: Self.two)
    _ = watch.show(now: Self.at(1))
    _ = watch.takeAsked(now: Self.at(1))
    #expect(watch.refuse(Self.two, .signature, now: Self.at(1)) == true)
    #expect(watch.best == Self.one && !watch.isFresh && !watch.isUntried)
    watch.forgetEnd()
    #expect(!watch.isUntried)
  }

  /// Method: attempts with a token that is refused, and then with the one before it.
  @Test func `an attempt is repeated with the other token, and then no more`() {
    var watch = Self.holding()
    watch.replace(with: Self.two)
    #expect(watch.refuse(Self.two, .signature, now: Self.at(1)) == true)
    #expect(watch.mayBegin(after: Self.two) && watch.best == Self.one)
    #expect(watch.refuse(Self.one, .signature, now: Self.at(2)) == false)
    #expect(!watch.mayBegin(after: Self.one))
    var first = TokenWatch(Self.one)
    #expect(first.refuse(Self.one, .signature, now: .zero) == true)
    #expect(!first.mayBegin(after: Self.one) && first.best == Self.one)
    first.replace(with: Self.two)
    #expect(first.mayBegin(after: Self.one) && first.best == Self.two)
  }

  @Test func `one whose time has not begun is told once, and shown each 10 s`() {
    var watch = Self.holding()
    watch.replace(with: Self.two)
    for round in Int64(0)..<3 {
      let now = Self.at(10 * round)
      #expect(watch.takeRetry(now: now) == (round > 0))
      #expect(watch.isFresh)
      #expect(watch.show(now: now) == Self.two)
      #expect(watch.takeAsked(now: now) == Self.two)
      #expect(watch.refuse(Self.two, .notYetValid, now: now) == (round == 0))
      #expect(!watch.isFresh && watch.best == Self.one)
      #expect(watch.retryAt == now + .seconds(10))
    }
    watch.forgetEnd()
    #expect(watch.isUntried && watch.best == Self.two)
    watch.replace(with: Self.three)
    #expect(watch.retryAt == nil && watch.isFresh && watch.best == Self.three)
  }

  @Test func `after too many requests there is a second of silence`() {
    var watch = Self.holding()
    watch.replace(with: Self.two)
    _ = watch.show(now: .zero)
    _ = watch.takeAsked(now: .zero)
    watch.retry(now: .zero)
    #expect(watch.retryAt == Self.at(1))
    #expect(watch.takeRetry(now: Self.at(1)) == true)
    #expect(watch.show(now: Self.at(1)) == Self.two)
  }

  /// Method: a token of 60 days, and a registration each hour; no answer can tell of more than 49.7
  /// days.
  @Test func `a token of many weeks lasts until its end`() {
    let life: Int64 = 60 * 86_400_000
    var watch = Self.holding(.max)
    for hour in Int64(1)..<(60 * 24) {
      let left = life - hour * 3_600_000
      let now = Self.at(hour * 3600)
      #expect(watch.takeWarning(now: now) == nil, "hour \(hour)")
      #expect(!watch.isOver(now: now), "hour \(hour)")
      _ = watch.accept(Self.one, milliseconds: UInt32(clamping: left), now: now)
    }
    #expect(watch.end == Instant.zero + .milliseconds(life))
  }

  /// An answer that was late on its way makes the end look later.
  @Test func `of two answers about one token the earlier end counts`() {
    var watch = Self.holding(60_000)
    _ = watch.accept(Self.one, milliseconds: 59_000, now: Self.at(5))
    #expect(watch.end == Self.at(60))
    _ = watch.accept(Self.one, milliseconds: 50_000, now: Self.at(6))
    #expect(watch.end == Self.at(56))
    #expect(watch.left(now: Self.at(26)) == nil, "not told yet")
    #expect(watch.takeWarning(now: Self.at(26)) == .seconds(30))
    #expect(watch.takeWarning(now: Self.at(27)) == nil)
    #expect(watch.left(now: Self.at(27)) == .seconds(29))
  }
}
