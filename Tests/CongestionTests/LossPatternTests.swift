import Primitives
import Testing

@testable import Congestion

@Suite struct LossPatternTests {
  private static func outcome(_ number: Int, _ fate: PacketOutcome.Fate) -> PacketOutcome {
    PacketOutcome(
      packet: SentPacket(
        number: UInt64(number), sent: .zero, byteCount: 1000, elicitsFeedback: true,
        hasMessages: false),
      fate: fate, arrivalTicks: 0, isCongestionExperienced: false)
  }

  /// - Parameter loses: by the packet's number.
  private static func pattern(_ count: Int, loses: (Int) -> Bool) -> LossPattern {
    var pattern = LossPattern()
    for number in 0..<count {
      pattern.add(outcome(number, loses(number) ? .lost : .acknowledged))
    }
    return pattern
  }

  @Test func `tells how much is lost and in what runs`() {
    let single = Self.pattern(2000) { $0 % 20 == 7 }
    #expect(abs(single.share - 0.05) < 0.01 && single.run == 1)
    let runs = Self.pattern(2000) { $0 % 60 < 3 }
    #expect(abs(runs.share - 0.05) < 0.01 && abs(runs.run - 3) < 0.2)
    #expect(Self.pattern(40) { $0 % 2 == 0 }.share == 0, "too few to tell")
  }

  @Test func `an outage counts as a short run, and is forgotten`() {
    let outage = Self.pattern(3000) { (500..<700).contains($0) }
    #expect(outage.share < 0.001)
    let fresh = Self.pattern(700) { (500..<700).contains($0) }
    #expect(fresh.share < 0.02 && abs(fresh.run - 8) < 0.2)
  }

  @Test func `what was only late is not lost`() {
    var pattern = Self.pattern(100) { $0 == 50 }
    #expect(pattern.share > 0)
    pattern.add(Self.outcome(50, .acknowledgedLate))
    #expect(pattern.share == 0 && pattern.run == 1)
  }
}
