import Primitives
import Testing
import Wire

@testable import Connectivity

@Suite struct PathSearchTests {
  /// When CANDIDATES are sent, in ms after `start`.
  private func times(
    of search: inout PathSearch, until end: Int64,
    _ act: (inout PathSearch, Int64) -> Void = { _, _ in }
  ) -> [Int64] {
    var times: [Int64] = []
    for millisecond in 0...end {
      let now = start + .milliseconds(millisecond)
      act(&search, millisecond)
      if search.poll(now: now) { times.append(millisecond) }
    }
    return times
  }

  @Test func `new own addresses are told at once, then after 250 and 500 ms and each second`() {
    var search = PathSearch()
    search.begin(.ownAddresses, now: start)
    #expect(times(of: &search, until: 4_000) == [0, 250, 750, 1_750, 2_750, 3_750])
  }

  @Test func `after mere silence the checks have 150 ms, unless the own address is new`() {
    var search = PathSearch()
    search.begin(.silence, now: start)
    #expect(times(of: &search, until: 1_000) == [150, 400, 900])
    var other = PathSearch()
    other.begin(.silence, now: start)
    let told = times(of: &other, until: 1_000) { search, time in
      if time == 52 { search.noteNewAddress(now: start + .milliseconds(52)) }
    }
    #expect(told == [52, 302, 802])
  }

  @Test func `ends with an answer, or with the silence that began it`() {
    var search = PathSearch()
    #expect(!search.isActive)
    search.begin(.silence, now: start)
    search.settle(lastAnswer: start, isSilent: true)
    #expect(search.isActive, "that answer was before")
    search.settle(lastAnswer: start, isSilent: false)
    #expect(!search.isActive && search.nextDeadline == nil)
    search.begin(.ownAddresses, now: start)
    search.settle(lastAnswer: nil, isSilent: false)
    #expect(search.isActive, "the peer still sends to the old address")
    search.begin(.silence, now: start + .seconds(1))
    #expect(search.nextDeadline == start, "the greater cause stays")
    search.settle(lastAnswer: start + .milliseconds(1), isSilent: true)
    #expect(!search.isActive)
  }
}

@Suite struct HearingTests {
  private func hearing(spacing: Int64, _ expectation: Hearing.Expectation) -> (Hearing, Instant) {
    var hearing = Hearing()
    hearing.begin(expectation, now: start)
    var now = start
    for _ in 0..<100 {
      now = now + .milliseconds(spacing)
      hearing.notePacket(now: now)
    }
    return (hearing, now)
  }

  @Test(arguments: [(10, 200), (20, 200), (40, 200), (60, 300), (200, 400)] as [(Int64, Int64)])
  func `silence is five missing packets, 200 ms at least and 400 at most`(
    spacing: Int64, limit: Int64
  ) throws {
    let (hearing, last) = hearing(spacing: spacing, .media)
    let silentAt = try #require(hearing.silentAt(.standard))
    #expect(abs((silentAt - last).milliseconds - limit) <= 5)
  }

  @Test func `who sends no media has a second and a half, who is not in a call for ever`() {
    let (muted, last) = hearing(spacing: 1_000, .keepAlive)
    #expect(muted.silentAt(.standard) == last + .milliseconds(1_500))
    #expect(hearing(spacing: 20, .nothing).0.silentAt(.standard) == nil)
    #expect(Hearing().silentAt(.standard) == nil)
  }
}
