import Primitives
import Testing

@testable import Peer

/// The way to the rendezvous by a relay (docs/decisions/0061).
@Suite struct RendezvousDetourTests {
  private let start = Instant(nanoseconds: 1_000_000_000)

  /// What of an attempt's packet also goes by the relay.
  private func copy(_ detour: inout RendezvousDetour, at now: Instant) -> [UInt8] {
    var packet: [UInt8] = []
    packet.append(addingCapacity: 10) { output in
      output.append(bytes: [1, 2, 3])
      detour.keepCopy(of: output, now: now)
    }
    var bytes: [UInt8] = []
    bytes.append(addingCapacity: 10) { output in _ = detour.takeCopy(into: &output) }
    return bytes
  }

  @Test func `an attempt goes by the relay once it has waited for its answer`() {
    var detour = RendezvousDetour()
    detour.isPossible = true
    detour.beginAttempt(now: start)
    let first = copy(&detour, at: start)
    #expect(first.isEmpty && !detour.isNeeded(now: start))
    let later = start + RendezvousDetour.patience
    let isToldOnce = detour.takeChange(now: later)
    let isToldTwice = detour.takeChange(now: later)
    #expect(isToldOnce && !isToldTwice && detour.isNeeded(now: later))
    let second = copy(&detour, at: later)
    let third = copy(&detour, at: later)
    #expect(second == [1, 2, 3] && third == second)
    detour.isPossible = false
    let none = copy(&detour, at: later)
    #expect(none.isEmpty)
  }

  @Test func `an answer that came directly ends the copies`() {
    var detour = RendezvousDetour()
    detour.isPossible = true
    detour.beginAttempt(now: start)
    detour.handleControl(byRelay: false)
    let none = copy(&detour, at: start + .seconds(5))
    #expect(none.isEmpty)
    detour.establish()
    #expect(!detour.isUsed && !detour.isNeeded(now: start + .seconds(9)))
  }

  @Test func `the session uses the way on which RESP came and follows its packets`() {
    var detour = RendezvousDetour()
    detour.isPossible = true
    detour.beginAttempt(now: start)
    detour.handleControl(byRelay: true)
    detour.establish()
    #expect(detour.isUsed && detour.isNeeded(now: start))
    detour.handleSession(byRelay: false)
    #expect(!detour.isUsed && !detour.isNeeded(now: start))
  }

  @Test func `another rendezvous is tried directly, and let in anew at the relay`() {
    var detour = RendezvousDetour()
    detour.isPossible = true
    detour.beginAttempt(now: start)
    detour.handleControl(byRelay: true)
    detour.establish()
    let isLetIn = detour.takeChange(now: start)
    detour.leave()
    detour.beginAttempt(now: start)
    let isLetOut = detour.takeChange(now: start)
    let isLetInAnew = detour.takeChange(now: start + RendezvousDetour.patience)
    #expect(isLetIn && isLetOut && isLetInAnew && !detour.isUsed)
  }
}
