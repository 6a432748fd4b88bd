import Audio
import Primitives
import Testing
import Wire

@Suite struct MissingFramesTests {
  private static func at(_ milliseconds: UInt64) -> Instant {
    Instant(nanoseconds: milliseconds * 1_000_000)
  }

  /// Frames 0, 1 and 4 of 20 ms have come.
  private static func withHole() -> MissingFrames {
    var missing = MissingFrames()
    for number in [0, 1, 4] as [UInt64] {
      missing.notePrimary(
        mediaTime: UInt16(number * 2), steps: 2, isMarked: false, arrival: at(1000 + number * 20))
    }
    return missing
  }

  @Test func `asks for what is missing when there is time`() throws {
    var missing = Self.withHole()
    let polled = missing.poll(roundTrip: 40, slack: 100, now: Self.at(1085))
    let request = try #require(polled)
    #expect(request.entryCount == 1)
    #expect(request.entry(0).mediaTime == 4 && request.entry(0).following == 1)
    // Once a round trip.
    #expect(missing.poll(roundTrip: 40, slack: 100, now: Self.at(1090)) == nil)
    #expect(missing.framesRequested == 2)
  }

  @Test func `asks for nothing that would come too late`() {
    var missing = Self.withHole()
    #expect(missing.poll(roundTrip: 40, slack: 40, now: Self.at(1085)) == nil)
    #expect(missing.count == 0)
  }

  @Test func `a copy makes the request unnecessary`() {
    var missing = Self.withHole()
    let wasMissing = missing.noteRepair(mediaTime: 4)
    let wasThere = missing.noteRepair(mediaTime: 0)
    #expect(wasMissing && !wasThere && missing.count == 1)
  }

  @Test func `a pause is not missing`() {
    var missing = Self.withHole()
    missing.notePrimary(mediaTime: 40, steps: 2, isMarked: true, arrival: Self.at(1500))
    #expect(missing.count == 0)
  }

  /// Media time has 16 bits of 10 ms: more than five minutes look like a step back.
  @Test(arguments: [200, 400, 655, 1200] as [UInt64], [false, true])
  func `what is missing after a long pause is asked for`(seconds: UInt64, isMarked: Bool) {
    var missing = Self.withHole()
    let later = 1080 + seconds * 1000
    let step = 8 + seconds * 100
    let numbers = [UInt64(0), 1, 3].map { (step + $0 * 2, later + $0 * 20) }
    for (index, (step, time)) in numbers.enumerated() {
      let isGap = missing.notePrimary(
        mediaTime: UInt16(truncatingIfNeeded: step), steps: 2,
        isMarked: isMarked && index == 0, arrival: Self.at(time))
      #expect(isGap == (index == 2))
    }
    #expect(missing.count == 1)
  }

  @Test func `any sequence stays within its bounds`() {
    var random = RandomSource(seed: 77)
    var missing = MissingFrames()
    var now: UInt64 = 1000
    for _ in 0..<20_000 {
      now += random.next() % 30
      missing.notePrimary(
        mediaTime: UInt16(truncatingIfNeeded: now / 10 &+ random.next() % 9),
        steps: UInt16(random.next() % 7), isMarked: random.next() % 50 == 0, arrival: Self.at(now))
      _ = missing.noteRepair(mediaTime: UInt16(truncatingIfNeeded: random.next()))
      _ = missing.poll(
        roundTrip: Int(random.next() % 300), slack: Int(random.next() % 300) - 50, now: Self.at(now)
      )
      #expect(missing.count <= MissingFrames.capacity)
    }
  }
}
