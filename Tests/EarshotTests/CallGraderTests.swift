import Primitives
import Testing

@testable import Earshot

/// The two grades that a call publishes with its statistics, and those of its report.
@Suite struct CallGraderTests {
  private func numbers(
    lostThere: UInt64 = 0, lostHere: UInt64 = 0, roundTrip: Double = 30, jitter: Double = 2
  ) -> CallStatistics {
    var numbers = CallStatistics(atMs: 10_000)
    numbers.fates.sent.sound = .init(expected: 500, lost: lostThere)
    numbers.fates.received.sound = .init(expected: 500, lost: lostHere)
    numbers.received.jitterMs = jitter
    numbers.rttMs = CallStatistics.Milliseconds(p50: roundTrip, p95: roundTrip * 2)
    numbers.grade()
    return numbers
  }

  /// What a call has after `seconds` with the same losses all the time.
  private func course(_ seconds: UInt64, lostEachSecond: UInt64 = 0) -> CallStatistics {
    var numbers = CallStatistics(atMs: Int(seconds) * 1000)
    let count = CallStatistics.Fates.Count(expected: seconds * 50, lost: seconds * lostEachSecond)
    numbers.fates.sent.sound = count
    numbers.fates.received.sound = count
    numbers.fates.acknowledged = seconds * 50
    numbers.fates.heard = seconds * 50
    numbers.totalRttMs = Double(seconds) * 400
    numbers.rttMeasurements = Int(seconds) * 10
    return numbers
  }

  @Test func `of a whole call they are never better where the line is worse`() {
    var random = RandomSource(seed: 13)
    for _ in 0..<5_000 {
      let there = UInt64(random.unit() * 150)
      let here = UInt64(random.unit() * 150)
      let roundTrip = random.unit() * 900
      let jitter = random.unit() * 150
      let grade = numbers(
        lostThere: there, lostHere: here, roundTrip: roundTrip, jitter: jitter)
      let worse = numbers(
        lostThere: there + UInt64(random.unit() * 50),
        lostHere: here + UInt64(random.unit() * 50),
        roundTrip: roundTrip + random.unit() * 300, jitter: jitter + random.unit() * 50)
      #expect(worse.qualityTx >= grade.qualityTx && worse.qualityRx >= grade.qualityRx)
      #expect((1...5).contains(grade.qualityTx) && (1...5).contains(grade.qualityRx))
    }
  }

  @Test func `an outage counts in the whole call, though what it held back was never sent`() {
    var numbers = numbers()
    #expect(numbers.qualityTx == 1 && numbers.qualityRx == 1)
    numbers.received.packetsReceived = 450
    numbers.received.packetsLost = 50
    numbers.fates.sent.other = .init(expected: 1000, lost: 50)
    numbers.grade()
    #expect(numbers.qualityTx == 3 && numbers.qualityRx == 4)
  }

  @Test func `a call was at best what its worst six seconds were`() {
    var grader = CallGrader()
    var lost: UInt64 = 0
    func whole() -> CallStatistics {
      var numbers = course(600)
      numbers.grade()
      grader.adoptEnd(&numbers)
      return numbers
    }
    for second in stride(from: 2, through: 600, by: 2) as StrideThrough<UInt64> {
      if (300..<310).contains(second) { lost += 20 }
      var numbers = course(second)
      numbers.fates.sent.sound.lost = lost
      numbers.fates.received.sound.lost = lost
      grader.turn(&numbers, CallGrader.Surroundings())
      if second == 298 { #expect(whole().qualityRx == 1 && whole().qualityTx == 1) }
    }
    #expect(whole().qualityRx >= 4 && whole().qualityTx >= 4)
  }

  @Test func `a call whose pictures froze or were left out was not excellent`() {
    let grader = CallGrader()
    var numbers = course(60)
    numbers.grade()
    grader.adoptEnd(&numbers)
    #expect(numbers.qualityTx == 1 && numbers.qualityRx == 1)
    var frozen = numbers
    var video = CallStatistics.VideoInbound()
    video.activeTime = 60
    video.totalFreezesDuration = 3
    frozen.videoReceived = video
    frozen.fallbacks = [
      FallbackChange(
        .publish, isAudioOnly: true, reason: .rate, estimateBps: 0, neededBps: 0, loss: 0, atMs: 9)
    ]
    grader.adoptEnd(&frozen)
    #expect(frozen.qualityTx == 3 && frozen.qualityRx == 3)
    video.totalFreezesDuration = 0.6
    numbers.videoReceived = video
    grader.adoptEnd(&numbers)
    #expect(numbers.qualityRx == 2)
  }

  @Test func `without packets they are unknown`() {
    var numbers = CallStatistics(atMs: 10_000)
    numbers.grade()
    #expect(numbers.qualityTx == 0 && numbers.qualityRx == 0)
  }

  @Test func `the last two seconds count, and not the hour before them`() {
    var grader = CallGrader()
    for second in stride(from: 2, through: 3600, by: 2) {
      var fine = course(UInt64(second))
      grader.turn(&fine, CallGrader.Surroundings())
      #expect(fine.qualityTx == 1 && fine.qualityRx == 1)
    }
    var worse = course(3602)
    worse.fates.received.sound.lost = 12
    worse.fates.sent.sound.lost = 5
    worse.rttMeasurements = 36_040
    grader.turn(&worse, CallGrader.Surroundings())
    #expect(worse.qualityTx == 3 && worse.qualityRx == 4)
    var between = course(3603)
    grader.adopt(&between)
    #expect(between.qualityTx == 3 && between.qualityRx == 4)
    between.grade()
    #expect(between.qualityRx == 1, "the whole call was fine")
  }

  @Test func `a line that was cut is down, and what nobody sends is unknown`() {
    var grader = CallGrader()
    var numbers = course(2)
    grader.turn(&numbers, CallGrader.Surroundings())
    #expect(numbers.qualityTx == 1 && numbers.qualityRx == 1)
    grader.turn(&numbers, CallGrader.Surroundings())
    #expect(numbers.qualityTx == 6 && numbers.qualityRx == 6)
    numbers.grade()
    #expect(numbers.qualityTx == 1, "the whole call was fine")
    grader.adoptEnd(&numbers)
    #expect(numbers.qualityTx == 6 && numbers.qualityRx == 6, "but for its end")
    var idle = CallGrader.Surroundings()
    (idle.sends, idle.receives) = (false, true)
    numbers = course(6)
    grader.turn(&numbers, idle)
    #expect(numbers.qualityTx == 0 && numbers.qualityRx == 1)
    idle.receives = false
    numbers = course(8)
    grader.turn(&numbers, idle)
    #expect(numbers.qualityRx == 0)
  }

  @Test func `pictures are graded where there is no sound, and a line too narrow for them`() {
    var grader = CallGrader()
    var numbers = CallStatistics(atMs: 2000)
    numbers.fates.sent.other = .init(expected: 200, lost: 10)
    numbers.fates.received.other = .init(expected: 200, lost: 0)
    grader.turn(&numbers, CallGrader.Surroundings(limitingBitsPerSecond: 500_000))
    #expect(numbers.qualityTx == 3 && numbers.qualityRx == 1)
    grader = CallGrader()
    numbers.fates.sent.other.lost = 0
    grader.turn(&numbers, CallGrader.Surroundings(limitingBitsPerSecond: 500_000))
    #expect(numbers.qualityTx == 2, "good, at a lower rate")
  }
}
