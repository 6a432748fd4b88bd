import Messaging
import Primitives
import Testing
import Wire

extension MessageChannel {
  /// Takes a MSG with `count` bytes.
  mutating func take(
    _ sequence: UInt32, _ index: UInt8, of fragments: UInt8, bytes count: Int,
    on stream: StreamID = .callControl
  ) throws(MessageFault) {
    let bytes = [UInt8](repeating: index, count: count)
    try handle(
      MessageFrame(
        stream: stream, sequence: sequence, fragmentIndex: index, fragmentCount: fragments),
      bytes: bytes.span, now: at(1))
  }

  mutating func takeNotice(
    _ sequence: UInt32, sent: UInt32, on stream: StreamID = .callControl
  ) throws(MessageFault) {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: sent)
    try handle(
      MessageFrame(stream: stream, sequence: sequence, fragmentIndex: 0, fragmentCount: 0),
      bytes: bytes.span, now: at(1))
  }
}

@Suite struct FaultTests {
  @Test func `refuses frames that cannot be`() {
    var channel = MessageChannel(limits: .peer)
    #expect(throws: MessageFault.fragment) { try channel.take(0, 1, of: 1, bytes: 4) }
    #expect(throws: MessageFault.fragment) { try channel.take(0, 0, of: 65, bytes: 4) }
    #expect(throws: MessageFault.fragment) { try channel.take(0, 0, of: 1, bytes: 1101) }
    #expect(throws: MessageFault.fragment) { try channel.take(0, 0, of: 2, bytes: 0) }
    #expect(throws: MessageFault.fragment) { try channel.take(0, 1, of: 0, bytes: 0) }
    #expect(drain(&channel).isEmpty)
    #expect(channel.reassemblyByteCount == 0)
  }

  @Test func `refuses fragments that do not fit each other`() throws {
    var channel = MessageChannel(limits: .peer)
    try channel.take(0, 0, of: 3, bytes: 100)
    #expect(throws: MessageFault.fragment) { try channel.take(0, 1, of: 3, bytes: 99) }
    #expect(throws: MessageFault.fragment) { try channel.take(0, 2, of: 3, bytes: 101) }
    #expect(throws: MessageFault.fragment) { try channel.take(0, 1, of: 4, bytes: 100) }
    #expect(throws: MessageFault.fragment) { try channel.take(0, 0, of: 3, bytes: 99) }
    try channel.take(0, 2, of: 3, bytes: 100)
    #expect(throws: MessageFault.fragment) { try channel.take(0, 2, of: 3, bytes: 99) }
    try channel.take(0, 1, of: 3, bytes: 100)
    #expect(drain(&channel).count == 1)
    try channel.take(1, 1, of: 2, bytes: 50)
    #expect(throws: MessageFault.fragment) { try channel.take(1, 0, of: 2, bytes: 49) }
  }

  @Test func `65 536 bytes are a message, one more is not`() throws {
    var channel = MessageChannel(limits: .peer)
    for index in 0..<63 as Range<UInt8> { try channel.take(0, index, of: 64, bytes: 1024) }
    try channel.take(0, 63, of: 64, bytes: 1024)
    guard case .received(_, let bytes)? = drain(&channel).first else {
      Issue.record("not delivered")
      return
    }
    #expect(bytes.count == 65_536)
    #expect(bytes[1023] == 0 && bytes[1024] == 1 && bytes[65_535] == 63)
    try channel.take(1, 0, of: 60, bytes: 1100)
    #expect(throws: MessageFault.messageTooLong) { try channel.take(1, 59, of: 60, bytes: 637) }
    try channel.take(1, 59, of: 60, bytes: 636)
    #expect(throws: MessageFault.messageTooLong) { try channel.take(2, 0, of: 64, bytes: 1041) }
  }

  @Test func `the last granted byte is taken, the next is a fault`() throws {
    var channel = MessageChannel(limits: .rendezvous)
    // 0 of 2 of each message: nothing is ever delivered, so nothing is returned.
    for sequence in 0..<29 as Range<UInt32> {
      try channel.take(sequence, 0, of: 2, bytes: 1100, on: .rendezvous)
    }
    try channel.take(29, 0, of: 2, bytes: 868, on: .rendezvous)
    #expect(channel.reassemblyByteCount == 32_768)
    #expect(throws: MessageFault.overCredit) {
      try channel.take(30, 0, of: 2, bytes: 1, on: .rendezvous)
    }
    try channel.take(0, 0, of: 2, bytes: 1100, on: .rendezvous)
    #expect(channel.takeCredit() == nil)
    #expect(throws: MessageFault.overCredit) {
      try channel.takeNotice(0, sent: 1101, on: .rendezvous)
    }
    try channel.takeNotice(0, sent: 1100, on: .rendezvous)
    #expect(channel.reassemblyByteCount == 31_668)
    #expect(drain(&channel) == [.missed(stream: .rendezvous, missed: 1, cached: 0)])
  }

  @Test(arguments: [(StreamID.callControl, 63 as UInt32), (.rendezvous, 255)])
  func `the window's last number is taken, the next is a fault`(
    stream: StreamID, last: UInt32
  ) throws {
    var channel = MessageChannel(limits: .peer)
    #expect(throws: MessageFault.outsideWindow) {
      try channel.take(last + 1, 0, of: 1, bytes: 1, on: stream)
    }
    try channel.take(last, 0, of: 1, bytes: 1, on: stream)
    try channel.take(0, 0, of: 1, bytes: 1, on: stream)
    try channel.take(last + 1, 0, of: 1, bytes: 1, on: stream)
    #expect(drain(&channel).count == (stream.isOrdered ? 1 : 3))
    #expect(throws: MessageFault.outsideWindow) {
      try channel.take(last + 2, 0, of: 1, bytes: 1, on: stream)
    }
    try channel.take(.max, 0, of: 1, bytes: 1, on: stream)  // long delivered, for all we know
    #expect(drain(&channel).isEmpty)
  }

  @Test func `refuses streams that there are not`() throws {
    var channel = MessageChannel(limits: .rendezvous)
    #expect(throws: MessageFault.stream) {
      try channel.take(0, 0, of: 1, bytes: 1, on: .callControl)
    }
    #expect(throws: MessageError.streamNotAllowed) {
      try channel.send([1], on: .callControl, life: .seconds(8), now: at(1))
    }
    var peer = MessageChannel(limits: .peer)
    for number in 0..<32 as Range<UInt8> {
      try peer.take(0, 0, of: 1, bytes: 0, on: StreamID(rawValue: number))
    }
    #expect(throws: MessageFault.stream) {
      try peer.take(0, 0, of: 1, bytes: 0, on: StreamID(rawValue: 32))
    }
  }

  @Test func `refuses to send what is too long or too much`() throws {
    var channel = MessageChannel(limits: .peer)
    #expect(throws: MessageError.tooLong) {
      try channel.send(
        [UInt8](repeating: 0, count: 65_537), on: .callControl, life: .seconds(8), now: at(1))
    }
    let block = [UInt8](repeating: 0, count: 65_536)
    for _ in 0..<4 { try channel.send(block, on: .callControl, life: .seconds(8), now: at(1)) }
    #expect(throws: MessageError.queueFull) {
      try channel.send([1], on: .callControl, life: .seconds(8), now: at(1))
    }
  }

  @Test func `a notice skips the message, whole ones stay`() throws {
    var channel = MessageChannel(limits: .peer)
    try channel.take(0, 0, of: 2, bytes: 10)
    try channel.take(1, 0, of: 1, bytes: 3)
    try channel.takeNotice(2, sent: 500)
    try channel.takeNotice(1, sent: 3)
    #expect(drain(&channel).isEmpty)
    #expect(throws: MessageFault.fragment) { try channel.takeNotice(0, sent: 9) }
    #expect(throws: MessageFault.fragment) { try channel.takeNotice(0, sent: 65_537) }
    try channel.takeNotice(0, sent: 20)
    #expect(
      drain(&channel) == [
        .missed(stream: .callControl, missed: 1, cached: 1),
        .received(stream: .callControl, bytes: [0, 0, 0]),
        .missed(stream: .callControl, missed: 1, cached: 0),
      ])
    #expect(channel.reassemblyByteCount == 0)
    try channel.take(2, 0, of: 1, bytes: 3)
    try channel.takeNotice(0, sent: 77)
    #expect(drain(&channel).isEmpty)
  }

  /// Whatever frames come, the channel answers or faults; it neither traps nor keeps more than it
  /// granted.
  @Test(arguments: 0..<100 as Range<UInt64>)
  func `survives hostile frames`(seed: UInt64) {
    var random = RandomSource(seed: seed)
    var channel = MessageChannel(limits: seed % 2 == 0 ? .peer : .rendezvous)
    let bytes = random.bytes(1200)
    var faults = 0
    for _ in 0..<2000 {
      let frame = MessageFrame(
        stream: random.unit() < 0.7 ? .rendezvous : StreamID(rawValue: UInt8(random.next() & 3)),
        sequence: UInt32(random.next() % 300) &- (random.unit() < 0.05 ? 200 : 0),
        fragmentIndex: UInt8(random.next() % 5), fragmentCount: UInt8(random.next() % 6))
      let count = Int(random.next() % (random.unit() < 0.5 ? 8 : 1200))
      do {
        try channel.handle(frame, bytes: bytes.span.extracting(0..<count), now: at(1))
      } catch {
        faults += 1
      }
      if random.unit() < 0.1 { channel.handle(CreditFrame(total: UInt32(random.next() >> 32))) }
      if random.unit() < 0.1 { channel.packetAcknowledged(random.next() % 50) }
      if random.unit() < 0.1 { _ = channel.takeCredit() }
      _ = drain(&channel)
      #expect(channel.reassemblyByteCount <= (seed % 2 == 0 ? 131_072 : 32_768))
    }
    #expect(faults > 100 && faults < 2000)
  }
}
