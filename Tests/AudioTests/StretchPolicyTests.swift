import Testing

@testable import Audio

struct StretchPolicyTests {
  static func situation(excess: Int, leftover: Int = 0) -> StretchSituation {
    var situation = StretchSituation()
    situation.excess = excess * 48
    situation.leftover = leftover * 48
    situation.pullsSinceLast = 20
    return situation
  }

  @Test func `counts what could be saved in whole pulls`() {
    let policy = StretchPolicy()
    #expect(policy.surplus(Self.situation(excess: 4)) == 0)
    #expect(policy.surplus(Self.situation(excess: 4, leftover: 3)) == 3 * 48)
    #expect(policy.surplus(Self.situation(excess: 14, leftover: 3)) == 13 * 48)
    #expect(policy.surplus(Self.situation(excess: -5, leftover: 6)) == 0)
    // Pulls in pairs: one pull less costs nothing, the next one 10 ms.
    var paired = Self.situation(excess: 4)
    paired.gainByOne = 240
    #expect(policy.surplus(paired) == 240)
  }

  @Test func `cuts long pauses for little and shorter ones for much`() {
    let policy = StretchPolicy()
    #expect(policy.cut(pause: 960, before: 0, surplus: 480) == 0)
    #expect(policy.cut(pause: 960, before: 9600, surplus: 480) == 480)
    #expect(policy.cut(pause: 4800, before: 0, surplus: 480) == 0)
    #expect(policy.cut(pause: 4800, before: 0, surplus: 4800) == 4800 - 1920)
    #expect(policy.cut(pause: 7000, before: 0, surplus: 4800, mayWait: true) == 0)
    #expect(policy.cut(pause: 9600, before: 0, surplus: 4800, mayWait: true) == 4800)
    #expect(policy.cut(pause: 9600, before: 0, surplus: 9600, mayWait: true) == 4800)
  }

  @Test func `asks less of a splice in speech the more there is to gain`() {
    let policy = StretchPolicy()
    #expect(policy.decide(Self.situation(excess: 60)) == nil)
    let large = policy.decide(Self.situation(excess: 150))
    #expect(large?.leastCorrelation == 0.9 && large?.direction == .shorten)
    let larger = policy.decide(Self.situation(excess: 400))
    #expect(larger?.leastCorrelation == 0.6)
    var hasty = Self.situation(excess: 60)
    hasty.haste = 100_000
    #expect(policy.decide(hasty)?.leastCorrelation == 0.9)
    hasty.mayWait = true
    #expect(policy.decide(hasty) == nil)
  }

  @Test func `waits for a pause with what is less than the delay that stays`() {
    let policy = StretchPolicy()
    var situation = Self.situation(excess: 60)
    situation.target = 100 * 48
    situation.haste = 100_000
    #expect(policy.decide(situation) == nil)
    situation.haste = 500_000
    #expect(policy.decide(situation)?.leastCorrelation == 0.9)
    var large = Self.situation(excess: 150)
    large.target = 200 * 48
    #expect(policy.decide(large) == nil)
  }

  @Test func `puts much into sure pauses only`() {
    let policy = StretchPolicy()
    var situation = Self.situation(excess: -80)
    situation.isPassive = true
    situation.passiveRun = 1920
    #expect(policy.decide(situation) == nil)
    situation.passiveRun = 2880
    #expect(policy.decide(situation)?.direction == .lengthen)
  }

  @Test func `lengthens in pauses, and in speech only for a clock that drifts`() {
    let policy = StretchPolicy()
    var early = Self.situation(excess: -30)
    #expect(policy.decide(early) == nil)
    early.shortage = 100_000
    #expect(policy.decide(early)?.direction == .lengthen)
    early.pullsSinceLast = 2
    #expect(policy.decide(early) == nil)
    early.isPassive = true
    #expect(policy.decide(early) == nil)
    early.passiveRun = 960
    #expect(policy.decide(early)?.direction == .lengthen)
    #expect(policy.decide(early)?.leastCorrelation == nil)
    var far = Self.situation(excess: -60)
    far.shortage = 100_000
    #expect(policy.decide(far) == nil)
  }

  @Test func `puts a little of the next pull in beforehand where a path keeps time`() {
    let policy = StretchPolicy()
    var situation = Self.situation(excess: 0)
    #expect(policy.decide(situation) == nil)
    situation.isPassive = true
    #expect(policy.decide(situation) == nil)
    situation.passiveRun = 960
    #expect(policy.decide(situation)?.direction == .lengthen)
    #expect(policy.decide(situation)?.longest == TimeStretch.shortest)
    for place in 0..<3 {
      var other = situation
      if place == 0 { other.excess = 48 }
      if place == 1 { other.leftover = TimeStretch.shortest }
      if place == 2 { other.target = 240 }
      #expect(policy.decide(other) == nil)
    }
    // Once it is there the rest makes a whole pull.
    situation.excess = -30
    situation.leftover = TimeStretch.shortest
    #expect(policy.decide(situation)?.longest == 240 - TimeStretch.shortest)
  }

  @Test func `takes any splice before a packet is missing, and no more than is wanted in all`() {
    let policy = StretchPolicy()
    var situation = Self.situation(excess: 0)
    situation.excess = -81
    situation.shortage = 100_000
    #expect(policy.decide(situation) == nil)
    situation.excess = -82
    for (leftover, shortest, longest) in [(0, 0, 120), (60, 180, 180), (150, 120, 120)] {
      situation.leftover = leftover
      let wish = policy.decide(situation)
      #expect(wish?.leastCorrelation == nil && wish?.shortest == shortest)
      #expect(wish?.longest == longest)
    }
    // Jitter may bring it in time all the same.
    situation.target = 240
    #expect(policy.decide(situation) == nil)
  }

  @Test func `is exact in pauses, and lets a little pass in speech`() {
    let policy = StretchPolicy()
    var early = Self.situation(excess: -5)
    early.target = 100 * 48
    early.shortage = 100_000
    #expect(policy.decide(early) == nil)
    early.isPassive = true
    early.passiveRun = 960
    #expect(policy.decide(early)?.direction == .lengthen)
  }
}
