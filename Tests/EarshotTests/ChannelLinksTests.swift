import Primitives
import Testing

@testable import Earshot

/// Who of a channel calls whom.
@Suite struct ChannelLinksTests {
  private static func user(_ number: UInt64, _ role: ChannelRole) -> ChannelUser {
    ChannelUser(
      uid: UInt32(number), id: PeerID(word0: number, word1: 0, word2: 0, word3: 0), role: role)
  }

  @Test func `who has no seat calls those as well who would call it, when they had time to`() {
    let now = Instant(nanoseconds: 0)
    var links = ChannelLinks(own: Self.user(5, .host).id, checks: false)
    links.add(Self.user(3, .host))
    links.setCallsAll(true, now: now)
    #expect(links.nextToDial(own: .host, now: now) == nil)
    #expect(links.nextRetry(own: .host) == now + .seconds(1))
    #expect(links.nextToDial(own: .host, now: now + .seconds(1))?.uid == 3)
    links.setCallsAll(false, now: now)
    #expect(links.nextToDial(own: .host, now: now + .seconds(2)) == nil)
    #expect(links.nextRetry(own: .host) == nil)
    // At the other end.
    links.add(Self.user(9, .host))
    #expect(links.caller(Self.user(9, .host).id, own: .host) == nil)
    #expect(links.caller(Self.user(9, .host).id, own: .host, isSeatless: true) == 9)
    #expect(links.caller(Self.user(5, .host).id, own: .host, isSeatless: true) == nil)
    let call = CallID(bytes: Array(repeating: 7, count: 16))
    links.begin(call, with: 9, isSeatless: true)
    #expect(links.seatless == [call])
    links.end(call, now: now)
    #expect(links.seatless.isEmpty)
  }

  @Test func `of two the lesser ID calls, and the audience calls no audience`() {
    let now = Instant(nanoseconds: 0)
    var links = ChannelLinks(own: Self.user(5, .host).id, checks: false)
    for user in [Self.user(3, .host), Self.user(8, .audience), Self.user(9, .host)] {
      links.add(user)
    }
    #expect(links.nextToDial(own: .host, now: now)?.uid == 8)
    #expect(links.nextToDial(own: .audience, now: now)?.uid == 9)
    #expect(links.caller(Self.user(3, .host).id, own: .audience) == 3)
    #expect(links.caller(Self.user(9, .host).id, own: .host) == nil)
    #expect(links.caller(Self.user(4, .host).id, own: .host) == nil)
    let call = CallID(bytes: Array(repeating: 1, count: 16))
    links.begin(call, with: 9)
    #expect(links.nextToDial(own: .audience, now: now) == nil)
    links.end(call, now: now)
    #expect(links.nextToDial(own: .audience, now: now) == nil)
    #expect(links.nextRetry(own: .host) == now + .milliseconds(200))
    links.begin(call, with: 9)
    links.end(call, now: now)
    #expect(links.nextRetry(own: .host) == now + .seconds(1))
    #expect(links.nextToDial(own: .audience, now: now + .seconds(1))?.uid == 9)
    #expect(links.remove(9) == nil && links.metCount == 3)
  }

  @Test func `a call that both made at once goes on under another ID`() {
    let now = Instant(nanoseconds: 0)
    var links = ChannelLinks(own: Self.user(5, .host).id, checks: false)
    links.add(Self.user(9, .host))
    let calls = (1...3).map { CallID(bytes: Array(repeating: $0, count: 16)) }
    links.begin(calls[0], with: 9)
    links.replace(calls[0], by: calls[1])
    links.replace(calls[2], by: calls[0])
    #expect(links.calls == [calls[1]] && links.uid(of: calls[1]) == 9)
    links.end(calls[0], now: now)
    #expect(links.nextToDial(own: .host, now: now) == nil, "the call goes on")
    links.end(calls[1], now: now)
    #expect(links.nextToDial(own: .host, now: now + .seconds(1))?.uid == 9)
  }

  /// Who is in a call with a former stay can neither be called, nor call.
  @Test(arguments: [3, 9, 5] as [UInt64])
  func `the end of a former stay begins the calls anew that failed beside it`(who: UInt64) {
    let now = Instant(nanoseconds: 0)
    var links = ChannelLinks(own: Self.user(5, .host).id, checks: false)
    links.add(Self.user(9, .host))
    var former = Self.user(who, .host)
    former.uid = 70
    links.add(former)
    let call = CallID(bytes: Array(repeating: 1, count: 16))
    if who != 5 { links.begin(call, with: 70) }
    for _ in 0..<4 { links.fail(9, now: now) }
    #expect(links.nextToDial(own: .host, now: now + .milliseconds(3_900))?.uid != 9)
    #expect(links.remove(70) == (who == 5 ? nil : call))
    let isMeant = who != 3
    #expect((links.nextToDial(own: .host, now: now)?.uid == 9) == isMeant)
    // From there on it is spaced as at first.
    links.fail(9, now: now)
    #expect((links.nextRetry(own: .host) == now + .milliseconds(200)) == isMeant)
  }

  @Test func `a call of who joined anew is one of the new stay`() {
    var links = ChannelLinks(own: Self.user(5, .host).id, checks: false)
    links.add(Self.user(3, .host))
    var newer = Self.user(3, .host)
    newer.uid = 70
    links.add(newer)
    #expect(links.caller(newer.id, own: .host) == 70)
  }

  @Test func `where tokens are needed nobody is linked whose token we have not checked`() {
    let now = Instant(nanoseconds: 0)
    var links = ChannelLinks(own: Self.user(5, .host).id, checks: true)
    links.add(Self.user(8, .host))
    links.add(Self.user(3, .host))
    #expect(links.nextToDial(own: .host, now: now) == nil)
    #expect(links.caller(Self.user(3, .host).id, own: .host) == nil)
    links.check(8, isGenuine: true)
    links.check(3, isGenuine: false)
    #expect(links.nextToDial(own: .host, now: now)?.uid == 8)
    #expect(links.caller(Self.user(3, .host).id, own: .host) == nil)
    links.setAudience(8)
    #expect(links.nextToDial(own: .audience, now: now) == nil)
  }
}
