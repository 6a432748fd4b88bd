import Connectivity
import Primitives
import Testing

/// Checks on the mere word of a peer that may be away.
@Suite struct UnprovenChecksTests {
  @Test func `a second between two words allows two checks more`() {
    var checks = UnprovenChecks()
    let start = Instant(nanoseconds: 5_000_000_000)
    checks.allowMore(now: start)
    checks.count = 100
    checks.allowMore(now: start + .milliseconds(499))
    #expect(checks.count == 100)
    checks.allowMore(now: start + .seconds(1))
    #expect(checks.count == 98)
    checks.allowMore(now: start + .seconds(11))
    #expect(checks.count == 78)
  }

  @Test func `never fewer than none`() {
    var checks = UnprovenChecks()
    checks.allowMore(now: .zero)
    checks.count = 3
    checks.allowMore(now: .zero + .seconds(600))
    #expect(checks.count == 0)
  }
}
