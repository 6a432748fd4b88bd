import Primitives
import Testing

@testable import Congestion

@Suite struct PacerTests {
  private static func at(_ microseconds: UInt64) -> Instant {
    Instant(nanoseconds: 1_000_000_000 + microseconds * 1_000)
  }

  /// Everything that leaves until `end`, with the time in microseconds.
  private static func drain(
    _ pacer: inout Pacer, from: UInt64, to end: UInt64, inFlight: Int = 0
  ) -> [(UInt64, PacedPacket)] {
    var all: [(UInt64, PacedPacket)] = []
    var time = from
    while time <= end {
      while let packet = pacer.next(now: at(time), bytesInFlight: inFlight) {
        all.append((time, packet))
      }
      time += 100
    }
    return all
  }

  @Test func `a key frame leaves at the rate, not at once`() {
    var pacer = Pacer(rate: 2_400_000)
    for token in 0..<30 as Range<UInt32> {
      let isQueued = pacer.enqueue(.video, byteCount: 1_200, token: token, now: Self.at(0))
      #expect(isQueued)
    }
    #expect(pacer.videoDelay == 120_000_000)
    let sent = Self.drain(&pacer, from: 0, to: 200_000)
    #expect(sent.map(\.1.token) == Array(0..<30))
    // 4 ms each, ahead of time by 1 ms, and by 1 ms that a timer may have been late.
    for (index, (time, _)) in sent.enumerated() where index > 0 {
      #expect(time + 2_000 >= UInt64(index) * 4_000 && time <= UInt64(index) * 4_000)
    }
    #expect(pacer.nextDeadline(now: Self.at(200_000), bytesInFlight: 0) == nil)
  }

  @Test func `audio waits for nobody, and the others for audio`() {
    var pacer = Pacer(rate: 1_000_000)
    for token in 0..<10 as Range<UInt32> {
      _ = pacer.enqueue(.video, byteCount: 1_200, token: token, now: Self.at(0))
    }
    _ = Self.drain(&pacer, from: 0, to: 1_000)
    _ = pacer.enqueue(.audio, byteCount: 125, token: 99, now: Self.at(1_100))
    let audio = pacer.next(now: Self.at(1_100), bytesInFlight: 1 << 20)
    #expect(audio?.token == 99)
    // 9.6 ms for the first video packet, 1 ms for the audio, less 2 ms ahead.
    let early = pacer.next(now: Self.at(8_500), bytesInFlight: 0)
    let due = pacer.next(now: Self.at(8_700), bytesInFlight: 0)
    #expect(early == nil && due?.token == 1)
  }

  @Test func `classes leave in their order`() {
    var pacer = Pacer(rate: 100_000_000)
    for sendClass in SendClass.allCases.reversed() {
      let token = UInt32(sendClass.rawValue)
      _ = pacer.enqueue(sendClass, byteCount: 100, token: token, now: Self.at(0))
    }
    let sent = Self.drain(&pacer, from: 0, to: 1_000)
    #expect(sent.map(\.1.sendClass) == SendClass.allCases)
  }

  @Test func `a full path stops video, but one packet each 100 ms looks for its end`() {
    var pacer = Pacer(rate: 1_000_000)
    pacer.inFlightLimit = 5_000
    for token in 0..<50 as Range<UInt32> {
      _ = pacer.enqueue(.video, byteCount: 1_000, token: token, now: Self.at(0))
    }
    _ = pacer.enqueue(.message, byteCount: 200, token: 77, now: Self.at(0))
    let sent = Self.drain(&pacer, from: 0, to: 1_000_000, inFlight: 5_000)
    #expect(sent.first?.1.token == 77)
    #expect((9...11).contains(sent.count))
  }

  @Test func `a queue that is full says so, and one that is emptied is empty`() {
    var pacer = Pacer(rate: 1_000_000, capacity: 4)
    for token in 0..<4 as Range<UInt32> {
      let isQueued = pacer.enqueue(.video, byteCount: 500, token: token, now: Self.at(0))
      #expect(isQueued)
    }
    let isQueued = pacer.enqueue(.video, byteCount: 500, token: 4, now: Self.at(0))
    #expect(!isQueued)
    pacer.removeAll(.video)
    #expect(pacer.isEmpty(.video) && pacer.videoDelay == 0)
  }

  @Test func `a ring gives back what it was given, around its end`() {
    var ring = PacketRing(capacity: 4)
    for token in 0..<100 as Range<UInt32> {
      var packet = PacedPacket()
      packet.token = token
      let isTaken = ring.append(packet)
      #expect(isTaken)
      if token % 3 == 2 || token > 96 { continue }
      let first = ring.removeFirst()
      #expect(first != nil)
      if ring.isEmpty { continue }
      _ = ring.removeFirst()
    }
  }
}
