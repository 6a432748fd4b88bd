import Congestion
import Primitives
import Testing

@Suite struct NetworkGradeTests {
  @Test func `thresholds are those that people know`() {
    #expect(NetworkGrade(loss: 0.01, roundTrip: 150, jitter: 20) == .excellent)
    #expect(NetworkGrade(loss: 0.011, roundTrip: 20, jitter: 1) == .good)
    #expect(NetworkGrade(loss: 0, roundTrip: 251, jitter: 1) == .poor)
    #expect(NetworkGrade(loss: 0, roundTrip: 20, jitter: 61) == .bad)
    #expect(NetworkGrade(loss: 0.16, roundTrip: 20, jitter: 1) == .veryBad)
    #expect(NetworkGrade(loss: 0, roundTrip: 20, jitter: 1, headroom: 0.5) == .poor)
    #expect(NetworkGrade(loss: .nan, roundTrip: 20, jitter: 1) == .veryBad)
    #expect(NetworkGrade.unknown.rawValue == 0 && NetworkGrade.down.rawValue == 6)
  }

  @Test func `a worse line never has a better grade`() {
    var random = RandomSource(seed: 11)
    for _ in 0..<20_000 {
      let loss = random.unit() * 0.3
      let roundTrip = random.unit() * 900
      let jitter = random.unit() * 150
      let headroom = random.unit() * 1.5
      let grade = NetworkGrade(
        loss: loss, roundTrip: roundTrip, jitter: jitter, headroom: headroom)
      let worse = NetworkGrade(
        loss: loss + random.unit() * 0.1, roundTrip: roundTrip + random.unit() * 300,
        jitter: jitter + random.unit() * 50, headroom: headroom - random.unit())
      #expect(worse >= grade)
      #expect((NetworkGrade.excellent...NetworkGrade.veryBad).contains(grade))
    }
  }

  @Test func `a grade comes every two seconds, from the second on, and silence is down`() {
    var now = Instant(nanoseconds: 0)
    var grader = NetworkGrader(now: now)
    let fine = NetworkGrader.Measurement(loss: 0, roundTrip: 30, jitter: 2)
    var grades: [NetworkGrade] = []
    for step in 1...40 {
      now = now + .milliseconds(250)
      if step <= 20 { grader.noteHeard(now: now) }
      if let grade = grader.handleTimeout(fine, now: now) { grades.append(grade) }
    }
    #expect(grades == [.unknown, .excellent, .excellent, .excellent, .down])
    grader.noteHeard(now: now)
    #expect(grader.nextDeadline == now + .seconds(2))
  }

  /// Both ways are graded by machines of their own; each sees its line get worse and worse, in
  /// steps that chance chooses, until nothing comes any more.
  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `grades never improve while the line worsens`(seed: UInt64) {
    var random = RandomSource(seed: seed)
    for _ in 0..<50 {
      var now = Instant(nanoseconds: 0)
      var grader = NetworkGrader(now: now)
      var line = NetworkGrader.Measurement(loss: 0, roundTrip: 20, jitter: 1, headroom: 2)
      var grades: [NetworkGrade] = []
      let silence = 20 + random.next() % 60
      for step in 0..<120 as Range<UInt64> {
        now = now + .seconds(1)
        line.loss = min(1, line.loss + random.unit() * 0.01)
        line.roundTrip += random.unit() * 20
        line.jitter += random.unit() * 3
        line.headroom = line.headroom.map { $0 - random.unit() * 0.05 }
        let isMeasured = step < silence && random.unit() < 0.9
        if step < silence { grader.noteHeard(now: now) }
        if let grade = grader.handleTimeout(isMeasured ? line : nil, now: now) {
          grades.append(grade)
        }
      }
      let known = grades.drop { $0 == .unknown }
      #expect(known.count > 20 && known.last == .down)
      #expect(zip(known, known.dropFirst()).allSatisfy { $0 <= $1 }, "seed \(seed): \(grades)")
    }
  }
}
