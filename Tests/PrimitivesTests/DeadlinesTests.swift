import Primitives
import Testing

@Suite struct DeadlinesTests {
  private enum Timer: CaseIterable { case ring, connect, erase }

  private func at(_ milliseconds: UInt64) -> Instant {
    Instant(nanoseconds: milliseconds * 1_000_000)
  }

  @Test func `the soonest timer is due first, each once`() {
    var deadlines = Deadlines<Timer>()
    #expect(deadlines.next == nil)
    deadlines.set(.ring, at: at(30))
    deadlines.set(.connect, at: at(10))
    deadlines.set(.erase, at: at(20))
    #expect(deadlines.next == at(10) && deadlines[.erase] == at(20))
    let early = deadlines.popDue(at: at(9))
    #expect(early == nil)
    var order: [Timer] = []
    while let timer = deadlines.popDue(at: at(25)) { order.append(timer) }
    #expect(order == [.connect, .erase])
    #expect(deadlines.next == at(30))
  }

  @Test func `of two at one moment the one declared first comes first`() {
    var deadlines = Deadlines<Timer>()
    deadlines.set(.erase, at: at(5))
    deadlines.set(.ring, at: at(5))
    let first = deadlines.popDue(at: at(5))
    let second = deadlines.popDue(at: at(5))
    #expect(first == .ring && second == .erase)
  }

  @Test func `a timer that is set again or cancelled has no old deadline`() {
    var deadlines = Deadlines<Timer>()
    deadlines.set(.ring, at: at(5))
    deadlines.set(.ring, at: at(50))
    let early = deadlines.popDue(at: at(49))
    #expect(early == nil)
    deadlines.set(.erase, at: at(60))
    deadlines.cancel(.ring)
    #expect(deadlines.next == at(60) && deadlines[.ring] == nil)
    deadlines.cancelAll()
    let late = deadlines.popDue(at: at(100))
    #expect(late == nil && deadlines.next == nil)
  }
}
