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
}
