import Congestion
import Messaging
import Primitives
import Testing
import Wire

@Suite struct FlowTests {
  /// Without CREDIT a sender stops short of the grant; the messages that wait are whole ones.
  @Test func `sends no more than was granted`() throws {
    var channel = MessageChannel(limits: .rendezvous)
    for _ in 0..<7 {
      try channel.send(
        [UInt8](repeating: 7, count: 5000), on: .rendezvous, life: .seconds(60), now: at(1000))
    }
    var number: UInt64 = 0
    var seen: Set<UInt32> = []
    while number < 200 {
      for sighting in packet(&channel, number: number, at: 1000) { seen.insert(sighting.sequence) }
      channel.packetAcknowledged(number)
      number += 1
    }
    #expect(seen == [0, 1, 2, 3, 4, 5])
    #expect(drain(&channel).count == 6)
    channel.handle(CreditFrame(total: 32_000))
    #expect(!channel.hasFramesToSend)
    channel.handle(CreditFrame(total: 35_000))
    #expect(packet(&channel, number: number, at: 1000).first?.sequence == 6)
  }

  /// Goal: an owner that is slow slows the other side down, instead of filling the memory.
  @Test func `grants room anew only for what was taken`() throws {
    var sender = MessageChannel(limits: .rendezvous)
    var receiver = MessageChannel(limits: .rendezvous)
    for _ in 0..<8 {
      try sender.send(
        [UInt8](repeating: 7, count: 8192), on: .rendezvous, life: .seconds(60), now: at(1000))
    }
    var number: UInt64 = 0
    func exchange() throws {
      while true {
        let bytes = [UInt8](capacity: 1200) { output in
          if sender.writeFrames(into: &output, room: 1175) {
            sender.didSend(number, now: at(1000))
          }
        }
        if bytes.isEmpty { return }
        var reader = FrameReader(bytes.span)
        while let frame = try reader.next() {
          guard case .message(let message, let range) = frame else { continue }
          try receiver.handle(message, bytes: bytes.span.bytes(at: range), now: at(1000))
        }
        sender.packetAcknowledged(number)
        number += 1
      }
    }
    try exchange()
    #expect(receiver.takeCredit() == nil)
    #expect(receiver.poll() != nil)
    let credit = receiver.takeCredit()
    #expect(credit == CreditFrame(total: 32_768 + 8192))
    sender.handle(try #require(credit))
    try exchange()
    #expect(receiver.takeCredit() == nil)
    #expect(drain(&receiver).count == 4)
    let rest = receiver.takeCredit()
    #expect(rest == CreditFrame(total: 32_768 + 5 * 8192))
  }

  /// Goal: what an owner holds makes room when it is read, and then at once; what the sessions say
  /// goes past it.
  @Test func `held messages make room when they are read`() throws {
    var receiver = MessageChannel(limits: .peer)
    func receive(_ stream: StreamID, _ sequence: UInt32, byteCount: Int) throws {
      let bytes = [UInt8](repeating: 7, count: byteCount)
      let frame = MessageFrame(
        stream: stream, sequence: sequence, fragmentIndex: 0, fragmentCount: 1)
      try receiver.handle(frame, bytes: bytes.span, now: at(1000))
    }
    let data = StreamID.application(9, isOrdered: true)
    for sequence in 0..<60 as Range<UInt32> { try receive(data, sequence, byteCount: 1000) }
    try receive(.callControl, 0, byteCount: 10)
    var told: [Bool] = []
    while let event = receiver.poll(holding: 40) {
      if case .received(let stream, _) = event { told.append(stream == data) }
    }
    #expect(told == Array(repeating: true, count: 40) + [false])
    _ = receiver.takeCredit()
    #expect(!receiver.mustGrant)
    receiver.countRead(messages: 40, byteCount: 40_000)
    let mustGrant = receiver.mustGrant
    let credit = receiver.takeCredit()
    #expect(mustGrant && credit == CreditFrame(total: 131_072 + 40_010))
    let isOver = receiver.mustGrant
    var rest = 0
    while receiver.poll(holding: 40) != nil { rest += 1 }
    #expect(!isOver && rest == 20)
  }

  /// Goal: empty messages cost no credit, and cannot fill the memory either.
  @Test func `no more messages wait than four windows hold`() throws {
    var receiver = MessageChannel(limits: .peer)
    let nothing: [UInt8] = []
    var taken = 0
    let fault = #expect(throws: MessageFault.self) {
      for sequence in 0..<100_000 as Range<UInt32> {
        let frame = MessageFrame(
          stream: .callControl, sequence: sequence, fragmentIndex: 0, fragmentCount: 1)
        try receiver.handle(frame, bytes: nothing.span, now: at(1000))
        taken += 1
      }
    }
    #expect(fault == .overCredit)
    #expect(taken == 16_384)
  }

  /// The CREDIT is lost with its FEEDBACK, and the report after it has none: the sender, which has
  /// nothing under way, asks again by a notice that changes nothing.
  @Test func `asks for credit that got lost`() throws {
    var sender = MessageChannel(limits: .rendezvous)
    var receiver = MessageChannel(limits: .rendezvous)
    for _ in 0..<6 {
      try sender.send(
        [UInt8](repeating: 7, count: 8192), on: .rendezvous, life: .seconds(60), now: at(1000))
    }
    var number: UInt64 = 0
    func exchange(at time: UInt64) throws -> [Sighting] {
      var all: [Sighting] = []
      while true {
        let bytes = [UInt8](capacity: 1200) { output in
          if sender.writeFrames(into: &output, room: 1175) {
            sender.didSend(number, now: at(time))
          }
        }
        if bytes.isEmpty { return all }
        all += sightings(in: bytes, at: at(time))
        var reader = FrameReader(bytes.span)
        while let frame = try reader.next() {
          guard case .message(let message, let range) = frame else { continue }
          try receiver.handle(message, bytes: bytes.span.bytes(at: range), now: at(time))
        }
        sender.packetAcknowledged(number)
        number += 1
      }
    }
    _ = try exchange(at: 1000)
    #expect(drain(&receiver).count == 4)
    #expect(drain(&sender).count == 4)
    let credit = receiver.takeCredit()
    let lost = try #require(credit)
    #expect(lost.total == 32_768 + 4 * 8192)
    #expect(receiver.takeCredit() == nil)
    #expect(sender.nextDeadline == at(1300))
    sender.handleTimeout(now: at(1300))
    let probe = try exchange(at: 1300)
    #expect(probe.map(\.count) == [0])
    #expect(drain(&receiver).isEmpty)
    let repeated = receiver.takeCredit()
    let again = try #require(repeated)
    #expect(again == lost)
    sender.handle(again)
    _ = try exchange(at: 1350)
    #expect(drain(&receiver).count == 2)
    let next = receiver.takeCredit()
    #expect(next == CreditFrame(total: 81_920))
    #expect(receiver.takeCredit() == nil)
  }

  @Test func `goes on asking for credit, however often the question is lost`() throws {
    var channel = MessageChannel(limits: .rendezvous)
    for _ in 0..<5 {
      try channel.send(
        [UInt8](repeating: 7, count: 8192), on: .rendezvous, life: .seconds(60), now: at(1000))
    }
    var number: UInt64 = 0
    while !packet(&channel, number: number, at: 1000).isEmpty {
      // Now and then one is lost, so that the window shrinks; the others arrive.
      if number % 4 == 0 { channel.packetLost(number) } else { channel.packetAcknowledged(number) }
      number += 1
      try #require(number < 100)
    }
    #expect(drain(&channel).count == 4)
    var probes: [UInt64] = []
    while let deadline = channel.nextDeadline, deadline < at(12_000) {
      channel.handleTimeout(now: deadline)
      let seen = packet(&channel, number: number, at: deadline.nanoseconds / 1_000_000)
      #expect(seen.map(\.count) == [0])
      probes += seen.map(\.milliseconds)
      number += 1
    }
    #expect(probes == [1300] + stride(from: 1900, through: 11_900, by: 1000))
    channel.handle(CreditFrame(total: 65_536))
    #expect(packet(&channel, number: number, at: 12_000).first?.sequence == 4)
  }

  @Test func `control goes before a file that is under way`() throws {
    var channel = MessageChannel(limits: .peer)
    for stream in [8, 9, 10] as [UInt8] {
      for _ in 0..<2 where stream != 10 {
        try channel.send(
          [UInt8](repeating: 1, count: 60_000), on: .application(stream), life: .seconds(60),
          now: at(1000))
      }
    }
    _ = packet(&channel, number: 0, at: 1000)
    try channel.send([2], on: .callControl, life: .seconds(8), now: at(1000))
    #expect(packet(&channel, number: 1, at: 1000).first?.stream == 2)
    // Files use up what credit they may: the last 8 KiB are for control.
    var number: UInt64 = 2
    while number < 300 {
      _ = packet(&channel, number: number, at: 1000)
      channel.packetAcknowledged(number)
      number += 1
    }
    #expect(!channel.hasFramesToSend)
    try channel.send(
      [UInt8](repeating: 3, count: 8000), on: .sessionControl, life: .seconds(8), now: at(1000))
    #expect(packet(&channel, number: number, at: 1000).first?.stream == 0)
  }

  @Test func `a packet that was never sent loses nothing`() throws {
    var channel = MessageChannel(limits: .peer)
    try channel.send([1], on: .callControl, life: .seconds(8), now: at(1000))
    let unsent = [UInt8](capacity: 1200) { output in
      _ = channel.writeFrames(into: &output, room: 1175)
    }
    #expect(sightings(in: unsent, at: at(1000)).count == 1)
    #expect(packet(&channel, number: 0, at: 1000).map(\.sequence) == [0])
    channel.packetAcknowledged(0)
    #expect(drain(&channel).count == 1)
  }

  @Test func `everything fails when the session ends`() throws {
    var channel = MessageChannel(limits: .peer)
    let first = try channel.send([1], on: .callControl, life: .seconds(8), now: at(1000))
    _ = packet(&channel, number: 0, at: 1000)
    let second = try channel.send([2], on: .callControl, life: .seconds(8), now: at(1000))
    channel.failAll()
    #expect(drain(&channel) == [.failed(first), .failed(second)])
    #expect(channel.isIdle && channel.nextDeadline == nil && !channel.hasFramesToSend)
  }

  @Test func `a message of many fragments takes any order`() throws {
    var sender = MessageChannel(limits: .peer)
    let message = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    try sender.send(message, on: .callControl, life: .seconds(8), now: at(1000))
    var frames: [(MessageFrame, [UInt8])] = []
    for number in 0..<100 as Range<UInt64> {
      let bytes = [UInt8](capacity: 1200) { output in
        if sender.writeFrames(into: &output, room: 1175) { sender.didSend(number, now: at(1000)) }
      }
      sender.packetAcknowledged(number)
      var reader = FrameReader(bytes.span)
      while case .message(let frame, let range)? = try reader.next() {
        frames.append((frame, Array(bytes[range.range])))
      }
    }
    #expect(frames.count == 46)
    #expect(Set(frames.dropLast().map(\.1.count)).count == 1)
    var random = RandomSource(seed: 4)
    frames.shuffle(using: &random)
    var receiver = MessageChannel(limits: .peer)
    for (frame, bytes) in frames + frames {
      try receiver.handle(frame, bytes: bytes.span, now: at(1000))
    }
    #expect(drain(&receiver) == [.received(stream: .callControl, bytes: message)])
  }
}
