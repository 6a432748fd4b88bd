import Primitives
import Testing

@testable import Congestion

/// What a receiver knows of the path to it.
@Suite struct ReceivedPathTests {
  /// Packets of 72 bytes (100 on the line) each 20 ms with sound, and a picture each 40 ms.
  private struct Line {
    var path = ReceivedPath()
    var arrivals = ArrivalCount()
    var now = Instant.zero + .seconds(100)
    var number: UInt64 = 0
    var step: UInt16 = 65_000

    mutating func run(
      _ duration: Duration, queue: Duration = .zero, wait: Duration? = .milliseconds(20),
      lossOneIn: UInt64 = .max, hasSound: Bool = true
    ) {
      for _ in 0..<Int(duration.milliseconds / 20) {
        now = now + .milliseconds(20)
        step &+= 2
        number += 1
        if number % lossOneIn != 0 {
          arrivals.add(number)
          path.recordPacket(byteCount: 72, now: now + queue)
          if hasSound { path.noteSound(end: step, now: now + queue) }
        }
        if let wait, step & 2 == 0 {
          let behind = UInt16((wait + queue).milliseconds / 10)
          path.notePicture(UInt32(step &- behind) << 8 & 0xFF_FFFF, now: now)
        }
        if number % 5 == 0 { path.turn(arrivals, now: now + queue) }
      }
    }
  }

  @Test func `the rate is that of the last second, with all headers`() {
    var line = Line()
    line.run(.seconds(3))
    #expect(abs(line.path.rate - 40_000) < 1, "\(line.path.rate)")
    #expect(line.path.lossRate == 0)
    #expect(!line.path.isLimiting)
    let sighting = line.path.sighting(isTesting: false, now: line.now)
    #expect(sighting.estimate == .infinity && sighting.isHeard)
    #expect(line.path.sighting(isTesting: true, now: line.now).estimate < 50_000)
  }

  @Test func `a queue is what stands above the least of late`() {
    var line = Line()
    line.run(.seconds(3))
    #expect(line.path.queueDelay == 0)
    line.run(.seconds(2), queue: .milliseconds(120))
    #expect(line.path.queueDelay == 120_000, "\(line.path.queueDelay)")
    // Whose queue it is nobody can tell, and a still picture needs little.
    #expect(!line.path.isLimiting)
    line.run(.seconds(1))
    #expect(line.path.queueDelay == 0 && !line.path.isLimiting)
    // What stands for long is the path.
    line.run(.seconds(40), queue: .milliseconds(120))
    #expect(line.path.queueDelay == 0)
  }

  @Test func `a path limits where pictures wait at their sender`() {
    var line = Line()
    // A slow encoder is no narrow path.
    line.run(.seconds(3), wait: .milliseconds(200))
    #expect(line.path.pictureWait == 0 && !line.path.isLimiting)
    line.run(.seconds(2), wait: .milliseconds(400))
    #expect(line.path.pictureWait == 200_000, "\(line.path.pictureWait)")
    #expect(line.path.queueDelay == 0 && line.path.isLimiting)
    #expect(line.path.sighting(isTesting: false, now: line.now).estimate < 41_000)
    line.run(.milliseconds(800), wait: nil)
    #expect(line.path.pictureWait == 0 && line.path.isLimiting)
    line.run(.seconds(1), wait: nil)
    #expect(!line.path.isLimiting)
  }

  @Test func `without sound the pictures tell`() {
    var line = Line()
    line.run(.seconds(3), hasSound: false)
    line.run(.seconds(2), queue: .milliseconds(300), hasSound: false)
    #expect(line.path.queueDelay == 300_000 && line.path.isLimiting)
  }

  @Test func `loss is counted by numbers, and forgotten when too little comes to tell`() {
    var line = Line()
    line.run(.seconds(4), lossOneIn: 4)
    #expect(abs((line.path.lossRate ?? 0) - 0.25) < 0.03, "\(line.path.lossRate ?? -1)")
    for _ in 0..<80 {
      line.now = line.now + .milliseconds(100)
      line.path.turn(line.arrivals, now: line.now)
    }
    #expect(line.path.lossRate == nil && line.path.rate == 0)
    #expect(!line.path.sighting(isTesting: true, now: line.now).isHeard)
  }

  @Test func `a count tells what was sent since another one, in one epoch`() {
    var count = ArrivalCount()
    let none = count
    for number in [3, 5, 4, 9] as [UInt64] { count.add(number) }
    #expect(count.received == 4 && count.newest == 9)
    #expect(count.expected(since: none) == nil && count.expected(since: count) == nil)
    let earlier = count
    count.add(21)
    #expect(count.expected(since: earlier) == 12)
    count.add(1 << 32)
    #expect(count.expected(since: earlier) == nil, "another epoch")
  }

  @Test func `a sender that begins a new time line begins a new base`() {
    var line = Line()
    line.run(.seconds(3))
    line.step &+= 20_000
    line.run(.seconds(3))
    #expect(line.path.queueDelay == 0 && !line.path.isLimiting)
    // Half a second back: no queue can grow so fast.
    line.step &-= 50
    line.run(.seconds(1))
    #expect(line.path.queueDelay == 0 && !line.path.isLimiting)
  }
}
