import Messaging
import Primitives
import Testing
import Wire

@Suite struct RestingTests {
  @Test func `takes 32 bytes`() {
    #expect(MemoryLayout<RestingState>.size == 32)
  }

  @Test func `only an idle channel rests`() throws {
    var channel = MessageChannel(limits: .rendezvous)
    #expect(channel.resting != nil)
    try channel.send([1], on: .rendezvous, life: .seconds(8), now: at(1000))
    #expect(channel.resting == nil)
    _ = packet(&channel, number: 0, at: 1000)
    #expect(channel.resting == nil)
    channel.packetAcknowledged(0)
    #expect(channel.resting == nil)
    #expect(drain(&channel).count == 1)
    #expect(channel.resting != nil)
    try channel.take(3, 0, of: 2, bytes: 5, on: .rendezvous)
    #expect(channel.resting == nil)
    try channel.take(3, 1, of: 2, bytes: 5, on: .rendezvous)
    #expect(drain(&channel).count == 1)
    #expect(channel.resting != nil)
  }

  @Test func `another stream keeps it awake, and a gap of more than 64`() throws {
    var peer = MessageChannel(limits: .peer)
    try peer.take(0, 0, of: 1, bytes: 1, on: .callControl)
    _ = drain(&peer)
    #expect(peer.resting == nil)
    var channel = MessageChannel(limits: .rendezvous)
    try channel.take(64, 0, of: 1, bytes: 1, on: .rendezvous)
    _ = drain(&channel)
    #expect(channel.resting != nil)
    try channel.take(65, 0, of: 1, bytes: 1, on: .rendezvous)
    _ = drain(&channel)
    #expect(channel.resting == nil)
  }

  /// Two channels exchange messages, one of them resting whenever it can: the other sees no
  /// difference, duplicates stay hidden, and the credit goes on.
  @Test(arguments: 0..<50 as Range<UInt64>)
  func `remembers what matters`(seed: UInt64) throws {
    var random = RandomSource(seed: seed)
    var client = MessageChannel(limits: .rendezvous)
    var server = MessageChannel(limits: .rendezvous)
    var rests = 0
    var expected = 0
    var received = 0
    var old: [(MessageFrame, [UInt8])] = []
    for round in 0..<200 as Range<UInt64> {
      let bytes = random.bytes(Int.random(in: 0...4200, using: &random))
      try client.send(bytes, on: .rendezvous, life: .seconds(8), now: at(1000 + round))
      try server.send([UInt8(round)], on: .rendezvous, life: .seconds(8), now: at(1000 + round))
      expected += 1
      for step in 0..<8 as Range<UInt64> {
        let number = round * 8 + step
        for (frame, bytes) in Self.frames(&client, number, at: 1000 + round) {
          try server.handle(frame, bytes: bytes.span, now: at(1000 + round))
          if random.unit() < 0.1 { old.append((frame, bytes)) }
        }
        client.packetAcknowledged(number)
        for (frame, bytes) in Self.frames(&server, number, at: 1000 + round) {
          try client.handle(frame, bytes: bytes.span, now: at(1000 + round))
        }
        server.packetAcknowledged(number)
      }
      if let (frame, bytes) = old.randomElement(using: &random) {
        try server.handle(frame, bytes: bytes.span, now: at(1000 + round))
      }
      if let credit = server.takeCredit(), random.unit() < 0.8 { client.handle(credit) }
      if let credit = client.takeCredit() { server.handle(credit) }
      for event in drain(&server) { if case .received = event { received += 1 } }
      #expect(drain(&client).contains(.received(stream: .rendezvous, bytes: [UInt8(round)])))
      if let resting = server.resting {
        server = MessageChannel(resting: resting)
        rests += 1
      }
      client.handleTimeout(now: at(1000 + round))
    }
    #expect(received == expected, "seed \(seed)")
    #expect(rests > 100, "seed \(seed)")
  }

  static func frames(
    _ channel: inout MessageChannel, _ number: UInt64, at time: UInt64
  ) -> [(MessageFrame, [UInt8])] {
    let bytes = [UInt8](capacity: 1200) { output in
      if channel.writeFrames(into: &output, room: 1175) {
        channel.didSend(number, now: at(time))
      }
    }
    var reader = FrameReader(bytes.span)
    var all: [(MessageFrame, [UInt8])] = []
    while case .message(let frame, let range)? = try? reader.next() {
      all.append((frame, Array(bytes[range.range])))
    }
    return all
  }
}
