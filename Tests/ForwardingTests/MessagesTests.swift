import Primitives
import Testing
import Tokens
import Wire

@testable import Forwarding

/// Hosts' messages for all members (docs/protocol/relay.md §3): to whom they go, and how many.
@Suite struct MessagesTests {
  private func slots(_ relay: Relay, _ slot: UInt32) -> [UInt32]? {
    relay.hub.takeData(byteCount: 40, of: slot, now: relay.now)?.slots
  }

  @Test func `a message goes to the others of its channel that understand it`() {
    let relay = Relay()
    relay.join(1, uid: 71)
    relay.join(2, .audience)
    relay.join(3)
    relay.join(4, takesData: false)
    relay.join(5, in: Relay.milk)
    #expect(slots(relay, 1)?.sorted() == [2, 3])
    #expect(relay.hub.takeData(byteCount: 40, of: 1, now: relay.now)?.uid == 71)
    #expect(slots(relay, 2) == nil && slots(relay, 9) == nil)
    #expect(relay.hub.counters.messagesNotAllowed == 2)
    #expect(relay.hub.counters.messagesForwarded == 4)
    let claim = SeatClaim(channel: Relay.tea, uid: 71, role: .audience)
    #expect(relay.hub.renew(1, by: claim))
    #expect(slots(relay, 1) == nil)
  }

  /// Goal: one host makes at most 60 messages a second, and 4096 copies of them.
  @Test(arguments: [2, 50, 500] as [UInt32])
  func `a host that floods makes no more than its share`(members: UInt32) {
    let relay = Relay()
    for slot in 1...members { relay.join(slot) }
    var copies = 0
    let seconds = 10
    for _ in 0..<(seconds * 1000) {
      copies += slots(relay, 1)?.count ?? 0
      relay.now = relay.now + .milliseconds(1)
      // The others are there.
      if relay.now.nanoseconds % 1_000_000_000 == 0 {
        for slot in 2...members { relay.receive(slot) { _ in } }
      }
    }
    let others = Int(members) - 1
    #expect(copies <= min(60 * others, 4096) * (seconds + 1) + 2 * others, "\(copies)")
    #expect(copies >= min(60 * others, 4096) * seconds * 9 / 10, "\(copies)")
    #expect(relay.hub.counters.tooMany > 9000)
  }
}
