import Testing

@testable import Earshot

struct PeerHeardTests {
  @Test func `keeps what the loop said last`() {
    let heard = PeerHeard()
    #expect(heard.value == 0)
    heard.set(7)
    heard.set(5_000_000_000)
    #expect(heard.value == 5_000_000_000)
  }
}
