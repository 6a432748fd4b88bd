import Primitives
import Testing
import Tokens
import Wire

@testable import Forwarding

/// The parts of a hub, each alone.
struct PartsTests {
  private func bytes(_ write: (inout OutputSpan<UInt8>) -> Void) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(addingCapacity: 1200) { write(&$0) }
    return bytes
  }

  @Test func `a ring keeps its newest frames, and writes them as they came`() throws {
    var ring = FrameRing(capacity: 3)
    #expect(ring[0] == nil && ring[1] == nil)
    for time in 1...5 as ClosedRange<UInt16> {
      ring.append(Relay.label(time), Relay.body(1, time, 12).span, recoveredWith: 7)
    }
    #expect(ring.newest == 5 && ring[2] == nil && ring[6] == nil)
    #expect(ring.has(3) && !ring.has(2))
    let entry = try #require(ring[4])
    #expect(entry.recoveredWith == 7 && entry.label.mediaTime == 4)
    #expect(bytes { ring.write(entry, to: &$0) } == Relay.body(1, 4, 12))
    ring.append(Relay.label(6), Array(repeating: 0, count: 601).span)
    #expect(ring.newest == 5)
  }

  @Test func `a queue gives what it got, in order, up to its limit`() {
    var queue = ForwardingQueue(limit: 2)
    for round in 0..<5 as Range<UInt32> {
      for slot in [round, round + 1] {
        let job = ForwardingQueue.Job(slot: slot, seat: 1, content: .word)
        let isTaken = queue.append(job)
        #expect(isTaken)
      }
      let job = ForwardingQueue.Job(slot: 9, seat: 1, content: .word)
      let isTaken = queue.append(job)
      #expect(!isTaken && queue.count == 2)
      let slots = (0..<3).map { _ in queue.popFirst()?.slot }
      #expect(slots == [round, round + 1, nil])
    }
  }

  @Test func `loudness follows a voice, and a pause begins anew`() {
    var voice = VoiceLevel()
    var now = Instant(nanoseconds: 1)
    let pause = Duration.milliseconds(400)
    #expect(!voice.isSpeaking(pause: pause, now: now))
    voice.handle(Relay.label(1, 27), pause: pause, now: now)
    #expect(voice.loudness == 800)
    voice.handle(Relay.label(2, 127 | 128), pause: pause, now: now)
    #expect(voice.loudness == 700 && voice.rank(hysteresis: 6) == 700)
    voice.isForwarded = true
    #expect(voice.rank(hysteresis: 6) == 748)
    now = now + .milliseconds(401)
    #expect(!voice.isSpeaking(pause: pause, now: now))
    voice.handle(Relay.label(30, 0), pause: pause, now: now)
    #expect(voice.loudness == 1016 && !voice.isForwarded)
  }

  @Test func `silence is no speech, and passes on once a second after its first frames`() {
    var voice = VoiceLevel()
    let pause = Duration.milliseconds(400)
    let start = Instant(nanoseconds: 1)
    /// Frames of 20 ms from one number on, and the numbers of those that passed.
    func send(_ numbers: Range<Int>, level: UInt8) -> [Int] {
      numbers.filter { number in
        let now = start + .milliseconds(20 * number)
        voice.handle(Relay.label(UInt16(number * 2), level), pause: pause, now: now)
        return voice.passes(now: now)
      }
    }
    #expect(send(0..<10, level: 90) == Array(0..<10))
    #expect(send(10..<90, level: 91) == Array(10..<20) + [69])
    #expect(!voice.isSpeaking(pause: pause, now: start + .milliseconds(1800)))
    #expect(send(90..<93, level: 128 | 30) == Array(90..<93))
    #expect(voice.loudness == 97 * 8, "the pause is not in its mean")
    #expect(voice.isSpeaking(pause: pause, now: start + .milliseconds(1860)))
  }

  @Test func `a room gives numbers to hosts, and takes them back`() {
    var limits = ForwardingLimits()
    limits.hosts = 2
    let room = ForwardingRoom(Relay.tea, limits: limits)
    let seats = (1...3 as ClosedRange<UInt32>).map { slot in
      Seat(
        slot: slot, number: slot, claim: SeatClaim(channel: Relay.tea, uid: slot, role: .host),
        card: [], room: room)
    }
    for seat in seats { room.add(seat) }
    #expect(room.beginPublishing(seats[0]) && room.beginPublishing(seats[1]))
    #expect(!room.beginPublishing(seats[2]) && seats[2].source == 0)
    #expect(seats[0].sentSound.mustIntroduce(2) && room.seat(of: 2) === seats[1])
    room.remove(seats[0])
    #expect(room.beginPublishing(seats[2]) && seats[2].source == 1)
    #expect(room.seat(of: 1) == nil && !room.isEmpty)
  }

  @Test func `loss is that of what was sent and reported, each packet once`() {
    var loss = DownlinkLoss()
    let packet = bytes { packet in
      FeedbackHeader(epoch: 0, largest: 99, arrival: 0, delay: 0, count: 100, hasMarks: false)
        .write(to: &packet)
      for _ in 1..<100 { FeedbackEntry.write(ticksBefore: nil, to: &packet) }
    }
    var reader = FrameReader(packet.span)
    guard case .feedback(let feedback)? = try? reader.next() else {
      return #expect(Bool(false), "a report is read")
    }
    loss.handle(feedback, in: packet.span, sent: 99)
    #expect(loss.share == 0)
    loss.handle(feedback, in: packet.span, sent: 100)
    let first = loss.share
    #expect((20_000...45_000).contains(first))
    loss.handle(feedback, in: packet.span, sent: 100)
    #expect(loss.share == first)
  }
}
