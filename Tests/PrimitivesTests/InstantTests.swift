import Primitives
import Testing

@Suite struct InstantTests {
  @Test func `stays within its range`() {
    let last = Instant(nanoseconds: .max)
    #expect(last + .seconds(1) == last)
    #expect(Instant.zero - .seconds(1) == .zero)
    #expect(Instant(nanoseconds: 5).nanoseconds(since: Instant(nanoseconds: 7)) == 0)
  }

  @Test func `differences have a sign`() {
    let (early, late) = (Instant(nanoseconds: 1_000), Instant(nanoseconds: 3_500))
    #expect(late - early == .nanoseconds(2_500) && early - late == .nanoseconds(-2_500))
    #expect(early < late && early + .nanoseconds(2_500) == late)
  }

  @Test func `a duration beyond 292 years is clamped`() {
    #expect(Duration.seconds(Int64.max).nanoseconds == .max)
    #expect(Duration.seconds(Int64.min + 1).nanoseconds == .min)
  }
}
