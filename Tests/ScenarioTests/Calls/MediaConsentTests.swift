import Primitives
import Testing

@testable import Peer

/// When media stops, what asks for leave meanwhile, and what waits to be said on the path.
@Suite struct MediaConsentTests {
  private static let start = Instant(nanoseconds: 1_000_000_000)

  @Test func `media stops after fifteen seconds without a packet and starts with the next`() {
    var consent = MediaConsent(now: Self.start)
    #expect(consent.isGiven(now: Self.start + .milliseconds(14_999)))
    #expect(!consent.isGiven(now: Self.start + .seconds(15)))
    consent.handlePacket(now: Self.start + .seconds(17))
    #expect(consent.isGiven(now: Self.start + .seconds(17)))
  }

  @Test func `packets that answer nothing carry it for thirty seconds`() {
    var consent = MediaConsent(now: Self.start)
    for second in 1...40 { consent.handlePacket(now: Self.start + .seconds(Int64(second))) }
    #expect(!consent.isGiven(now: Self.start + .seconds(40)))
    consent.handleAnswer(now: Self.start + .seconds(41))
    #expect(consent.isGiven(now: Self.start + .seconds(41)))
  }

  @Test func `four times a second a PING asks while it is stopped, and never before`() {
    var consent = MediaConsent(now: Self.start)
    var pings = 0
    for step in 0..<2_000 where consent.pollPing(now: Self.start + .milliseconds(10) * step) {
      pings += 1
    }
    #expect(pings == 20)
    #expect(consent.nextPing > Self.start + .seconds(19))
  }

  @Test func `what waits for the path is bounded and said once`() {
    var signals = PathSignals()
    signals.append([1, 2])
    signals.append([1, 2])
    signals.append([])
    signals.append([UInt8](repeating: 1, count: 1_200))
    for number in UInt8(3)...9 { signals.append([number]) }
    var said: [[UInt8]] = []
    while let body = signals.removeFirst() { said.append(body) }
    #expect(said == [[1, 2], [3], [4], [5]])
    signals.append([7])
    signals.removeAll()
    let none = signals.removeFirst()
    #expect(none == nil)
  }
}
