import Audio
import Primitives
import Testing
import Wire

/// Bodies as they leave, and what becomes of them on the other side.
@Suite struct AudioSenderTests {
  private static let voice = TestSignal.voice(seconds: 2)

  /// One packet: its frame and its body.
  private struct Sent {
    var frame: AudioMediaFrame
    var body: [UInt8]
  }

  private static func sender(_ plan: RedundancyPlan) throws -> AudioSender {
    var sender = try AudioSender(OpusEncoder.Settings())
    try sender.follow(plan)
    return sender
  }

  private static func send(_ number: Int, with sender: inout AudioSender) throws -> Sent {
    var frame = AudioMediaFrame(
      length: .milliseconds20, isMarked: number == 0, mediaTime: UInt16(number * 2))
    var body: [UInt8] = []
    try body.append(addingCapacity: 1300) { (output) throws(OpusError) in
      frame.hasCopies = try sender.encode(
        voice.span.extracting((number * 960)..<(number * 960 + 960)), mediaTime: frame.mediaTime,
        into: &output)
    }
    return Sent(frame: frame, body: body)
  }

  private static func plan(_ copies: [(distance: Int, isLowRate: Bool)]) -> RedundancyPlan {
    var plan = RedundancyPlan()
    for copy in copies {
      plan.add(RedundancyPlan.Copy(distance: copy.distance, isLowRate: copy.isLowRate))
    }
    return plan
  }

  @Test func `without copies a body is an Opus packet and nothing else`() throws {
    var sender = try Self.sender(RedundancyPlan())
    let sent = try Self.send(0, with: &sender)
    #expect(!sent.frame.hasCopies)
    #expect(OpusPacket(sent.body.span)?.sampleCount == 960)
  }

  @Test func `a full copy is the packet that was first sent`() throws {
    var sender = try Self.sender(Self.plan([(1, false), (3, true)]))
    var bodies: [Sent] = []
    for number in 0..<6 { bodies.append(try Self.send(number, with: &sender)) }
    let (fourth, fifth) = (bodies[4].body, bodies[5].body)
    let before = try AudioBody(fourth.span, hasCopies: true)
    let after = try AudioBody(fifth.span, hasCopies: true)
    #expect(after.copyCount == 2)
    #expect(after.copy(0).coding == .primary && after.copy(0).distance == 2)
    #expect(after.copy(1).coding == .lowRate && after.copy(1).distance == 6)
    #expect(
      Array(fifth[after.copy(0).payload.range]) == Array(fourth[before.primary.range]))
    #expect(after.copy(1).payload.count < after.primary.count)
  }

  @Test func `every second packet lost is heard whole`() throws {
    var sender = try Self.sender(Self.plan([(1, false)]))
    var receiver = try AudioReceiver(channels: 1)
    for number in 0..<90 {
      let sent = try Self.send(number, with: &sender)
      let now = Instant(nanoseconds: 1_000_000_000 + UInt64(number) * 20_000_000)
      if number % 2 == 0 { receiver.receive(sent.body.span, sent.frame, arrival: now) }
      for step in 0..<4 { Self.pull(&receiver, now + .milliseconds(Int64(step) * 5)) }
    }
    // The first losses teach the buffer how long to wait.
    #expect(receiver.framesRepairedByCopies >= 43)
    #expect(receiver.buffer.statistics.concealedFraction < 0.06)
  }

  @Test func `two packets lost in a row come back from parities as they were sent`() throws {
    var plan = RedundancyPlan()
    plan.add(RedundancyPlan.Copy(parityOf: 1, and: 3))
    var sender = try Self.sender(plan)
    var receiver = try AudioReceiver(channels: 1)
    receiver.buffer.delayRange = 80_000_000...1_000_000_000
    for number in 0..<96 {
      let sent = try Self.send(number, with: &sender)
      let now = Instant(nanoseconds: 1_000_000_000 + UInt64(number) * 20_000_000)
      let isLost = number % 12 == 6 || number % 12 == 7
      if !isLost { receiver.receive(sent.body.span, sent.frame, arrival: now) }
      for step in 0..<4 { Self.pull(&receiver, now + .milliseconds(Int64(step) * 5)) }
    }
    #expect(receiver.framesRepairedByCopies == 16)
    let statistics = receiver.buffer.statistics
    #expect(statistics.packetsMissed == 0 && statistics.concealedSamples == 0)
    #expect(statistics.samplesFromLowRateCopies == 0)
  }

  @Test func `what is asked for comes with the next packet, once`() throws {
    var sender = try Self.sender(RedundancyPlan())
    var bodies: [Sent] = []
    for number in 0..<5 { bodies.append(try Self.send(number, with: &sender)) }
    var request = AudioRequestFrame(length: .milliseconds20)
    for mediaTime in [2, 6, 600] as [UInt16] { _ = request.add(mediaTime: mediaTime) }
    sender.handle(request)
    let answer = try Self.send(5, with: &sender)
    let parts = try AudioBody(answer.body.span, hasCopies: answer.frame.hasCopies)
    #expect(parts.copyCount == 2)
    #expect(parts.copy(0).coding == .retransmission && parts.copy(0).distance == 8)
    #expect(Array(answer.body[parts.copy(0).payload.range]) == bodies[1].body)
    #expect(try !Self.send(6, with: &sender).frame.hasCopies)
  }

  @Test func `with no packet due the answer goes alone`() throws {
    var sender = try Self.sender(RedundancyPlan())
    for number in 0..<3 { _ = try Self.send(number, with: &sender) }
    var request = AudioRequestFrame(length: .milliseconds20)
    _ = request.add(mediaTime: 2)
    let before = sender.hasRepetitions
    sender.handle(request)
    let between = sender.hasRepetitions
    #expect(!before && between)
    var body: [UInt8] = []
    var mediaTime: UInt16?
    body.append(addingCapacity: 1300) { mediaTime = sender.writeRepetitions(into: &$0) }
    let parts = try AudioBody(body.span, hasCopies: true)
    #expect(mediaTime == 5 && parts.primary.isEmpty && parts.copyCount == 1)
    let after = sender.hasRepetitions
    #expect(!after)
  }

  private static func pull(_ receiver: inout AudioReceiver, _ now: Instant) {
    var step = [Int16](repeating: 0, count: 240)
    var span = step.mutableSpan
    _ = receiver.buffer.pull(into: &span, now: now)
  }
}
