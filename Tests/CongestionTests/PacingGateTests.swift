import Primitives
import Testing

@testable import Congestion

@Suite struct PacingGateTests {
  private static func at(_ milliseconds: UInt64) -> Instant {
    Instant(nanoseconds: 1_000_000_000 + milliseconds * 1_000_000)
  }

  @Test func `what has left is waited for by all but audio and reports`() {
    var gate = PacingGate(rate: 800_000)
    gate.noteSent(byteCount: 1_000, hasMessages: true, now: Self.at(0))
    for sendClass in SendClass.allCases {
      let isUrgent = sendClass == .audio || sendClass == .feedback
      #expect(gate.admits(sendClass, bytesInFlight: 0, now: Self.at(5)) == isUrgent)
      #expect(gate.admits(sendClass, bytesInFlight: 0, now: Self.at(10)))
      let admission = gate.admission(of: sendClass, bytesInFlight: 0, now: Self.at(5))
      #expect(gate.admits(sendClass, bytesInFlight: 0, now: admission))
    }
  }

  @Test func `where enough is under way video waits and messages do not`() {
    var gate = PacingGate(rate: 8_000_000)
    gate.inFlightLimit = 5_000
    gate.noteSent(byteCount: 100, now: Self.at(0))
    #expect(gate.admits(.message, bytesInFlight: 5_000, now: Self.at(50)))
    #expect(!gate.admits(.video, bytesInFlight: 5_000, now: Self.at(50)))
    // One in 100 ms all the same, or nobody would see the end of an outage.
    #expect(gate.admits(.video, bytesInFlight: 5_000, now: Self.at(100)))
    let admission = gate.admission(of: .video, bytesInFlight: 5_000, now: Self.at(50))
    #expect(admission == Self.at(100))
  }

  @Test func `audio beyond the rate leaves messages a packet each 200 ms, and no debt`() {
    var gate = PacingGate(rate: 20_000)
    var messages = 0
    var videos = 0
    for tick in 0..<100 as Range<UInt64> {
      let now = Self.at(tick * 20)
      gate.noteSent(byteCount: 136, now: now)
      if gate.admits(.message, bytesInFlight: 0, now: now) {
        gate.noteSent(byteCount: 100, hasMessages: true, now: now)
        messages += 1
      }
      if gate.admits(.video, bytesInFlight: 0, now: now) { videos += 1 }
    }
    #expect((9...11).contains(messages), "\(messages)")
    #expect(videos == 0)
    #expect(gate.admits(.video, bytesInFlight: 0, now: Self.at(1_980 + 101)))
  }

  @Test func `no time is too early or too late to ask`() {
    var gate = PacingGate(rate: 0)
    gate.inFlightLimit = 0
    gate.noteSent(byteCount: 1 << 20, now: .zero)
    gate.noteSent(byteCount: 0, now: Instant(nanoseconds: .max))
    for sendClass in SendClass.allCases {
      _ = gate.admits(sendClass, bytesInFlight: .max, now: .zero)
      _ = gate.admission(of: sendClass, bytesInFlight: .max, now: Instant(nanoseconds: .max))
    }
  }

  @Test func `what is no rate is the slowest`() {
    for rate in [0, -1, -Double.infinity, .nan] {
      var gate = PacingGate(rate: rate)
      gate.fillRate = rate
      gate.noteSent(byteCount: 10, now: Self.at(1_000))
      #expect(gate.duration(10) == 80_000_000)
      #expect(gate.admission(of: .padding, bytesInFlight: 0, now: Self.at(1_000)) == Self.at(1_080))
    }
  }

  @Test func `padding waits until all that left has had its time at its rate`() {
    var gate = PacingGate(rate: 1_600_000)
    gate.fillRate = 800_000
    gate.noteSent(byteCount: 1_000, now: Self.at(0))
    #expect(gate.admits(.video, bytesInFlight: 0, now: Self.at(5)))
    #expect(!gate.admits(.padding, bytesInFlight: 0, now: Self.at(9)))
    #expect(gate.admission(of: .padding, bytesInFlight: 0, now: Self.at(1)) == Self.at(10))
    #expect(gate.admits(.padding, bytesInFlight: 0, now: Self.at(10)))
    // Filled all the time, and once a frame comes: no more than that in the end.
    var sent = 0
    for tick in 10..<1_010 as Range<UInt64> {
      let isFrame = tick % 100 == 0
      if isFrame || gate.admits(.padding, bytesInFlight: 0, now: Self.at(tick)) {
        gate.noteSent(byteCount: isFrame ? 4_000 : 200, now: Self.at(tick))
        sent += isFrame ? 4_000 : 200
      }
    }
    #expect((98_000...104_500).contains(sent), "\(sent)")
  }
}
