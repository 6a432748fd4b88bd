import Primitives
import Testing
import Wire

/// The bytes that `write` puts into a packet.
func packetBytes(_ write: (inout OutputSpan<UInt8>) -> Void) -> [UInt8] {
  [UInt8](capacity: 1200) { output in write(&output) }
}

/// What a reader makes of a packet: its frames, and whether it threw in the end.
func readAll(_ packet: [UInt8]) -> (frames: [Frame], error: WireError?) {
  var reader = FrameReader(packet.span)
  var frames: [Frame] = []
  do {
    while let frame = try reader.next() { frames.append(frame) }
    return (frames, nil)
  } catch {
    return (frames, error)
  }
}

@Suite struct FramesTests {
  static let address = SocketAddress(v4: 192, 0, 2, 7, port: 7400)

  /// Every kind of frame in one packet, with the frames that should come out of it.
  static func everyFrame() -> (packet: [UInt8], frames: [Frame]) {
    let message = MessageFrame(
      stream: .callControl, sequence: 0xDEAD_BEEF, fragmentIndex: 2, fragmentCount: 3)
    let audio = AudioMediaFrame(
      stream: 3, length: .milliseconds60, isMarked: true, mediaTime: 0xBEEF)
    let packet = packetBytes { output in
      PingFrame(token: 0x0102_0304_0506_0708).write(to: &output)
      PongFrame(token: 7, observed: address).write(to: &output)
      message.write([1, 2, 3].span, to: &output)
      CreditFrame(total: .max).write(to: &output)
      PathChallengeFrame(token: .max).write(to: &output)
      PathResponseFrame(token: 1, observed: address).write(to: &output)
      SignalFrame.write([9, 8].span, to: &output)
      CloseFrame(code: .goingAway).write(Array("bye ü".utf8).span, to: &output)
      audio.write([0xFC, 0xFF].span, to: &output)
    }
    let frames: [Frame] = [
      .ping(PingFrame(token: 0x0102_0304_0506_0708)),
      .pong(PongFrame(token: 7, observed: address)),
      .message(message, bytes: PacketRange(47..<50)),
      .credit(CreditFrame(total: .max)),
      .pathChallenge(PathChallengeFrame(token: .max)),
      .pathResponse(PathResponseFrame(token: 1, observed: address)),
      .signal(body: PacketRange(95..<97)),
      .close(CloseFrame(code: .goingAway), text: PacketRange(100..<106)),
      .audio(audio, body: PacketRange(109..<111)),
    ]
    return (packet, frames)
  }

  @Test func `reads every frame that it writes`() {
    let (packet, frames) = Self.everyFrame()
    let read = readAll(packet)
    #expect(read.frames == frames)
    #expect(read.error == nil)
    #expect(Array(packet[1..<9]) == [8, 7, 6, 5, 4, 3, 2, 1])
  }

  @Test func `stops in order at every truncation`() {
    let (packet, frames) = Self.everyFrame()
    for length in 0..<packet.count {
      let read = readAll(Array(packet[..<length]))
      #expect(Array(frames.prefix(read.frames.count)).prefix(8) == read.frames.prefix(8))
      #expect(read.frames.count < frames.count || length == packet.count - 1)
    }
  }

  @Test func `lays out MSG and AUDIO as the page says`() {
    let message = MessageFrame(
      stream: .rendezvous, sequence: 0x0403_0201, fragmentIndex: 5, fragmentCount: 6)
    #expect(
      packetBytes { message.write([0xAA].span, to: &$0) }
        == [4, 0x81, 1, 2, 3, 4, 5, 6, 1, 0, 0xAA])
    let audio = AudioMediaFrame(length: .milliseconds20, isMarked: true, mediaTime: 0x0201)
    #expect(packetBytes { audio.write([0xBB].span, to: &$0) } == [0b1000_1100, 1, 2, 0xBB])
  }

  @Test func `a frame that does not parse voids the rest`() throws {
    let packet: [UInt8] = [0x05, 1, 0, 0, 0, 0x7F, 0x05, 2, 0, 0, 0]
    var reader = FrameReader(packet.span)
    #expect(try reader.next() == .credit(CreditFrame(total: 1)))
    var thrown: WireError?
    do { _ = try reader.next() } catch { thrown = error }
    #expect(thrown == .invalid("frame type", at: 5))
    #expect(try reader.next() == nil)
  }

  @Test(arguments: [0x0E, 0x0F, 0x16, 0x1F, 0x38, 0x7F] as [UInt8])
  func `refuses a reserved type`(type: UInt8) {
    #expect(readAll([type] + Array(repeating: 0, count: 40)).error?.field == "frame type")
  }

  @Test func `padding reaches the end and is zero`() {
    #expect(readAll([0, 0, 0]).frames == [.padding(byteCount: 3)])
    #expect(readAll([0, 0, 1]).error == .invalid("padding", at: 2))
  }

  @Test(
    arguments: [
      [4, 0, 0, 0, 0, 0, 1, 1, 0, 0],  // index = count
      [4, 0, 0, 0, 0, 0, 0, 65, 0, 0],  // more than 64 fragments
      [4, 0, 0, 0, 0, 0, 0, 2, 0, 0],  // an empty fragment of several
      [4, 0, 0, 0, 0, 0, 1, 0, 0, 0],  // abandoned, with an index
      [4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 9],  // abandoned, with a byte
      [4, 0, 0, 0, 0, 0, 0, 1, 0x4D, 4] + Array(repeating: 1, count: 1101),  // 1101 bytes
      [4, 0, 0, 0, 0, 0, 0, 1, 3, 0, 1, 2],  // bytes missing
    ] as [[UInt8]])
  func `refuses an impossible MSG`(packet: [UInt8]) {
    #expect(readAll(packet).frames.isEmpty)
    #expect(readAll(packet).error != nil)
  }

  @Test func `skips reserved audio and refuses empty audio`() {
    #expect(readAll([0x83, 0, 0, 1]).frames == [.skipped(type: 0x83)])
    #expect(readAll([0x81, 0, 0]).frames == [.skipped(type: 0x81)])
    #expect(readAll([0x80, 0, 0]).error == .invalid("audio payload", at: 3))
  }

  @Test func `refuses close text that is long or malformed`() {
    #expect(readAll([10, 2, 129] + Array(repeating: 65, count: 129)).error?.reason == .tooLong)
    #expect(readAll([10, 2, 1, 0xC3]).error == .invalid("close text", at: 3))
  }

  @Test func `cuts long close text between letters`() {
    let text = Array(String(repeating: "ü", count: 80).utf8).dropFirst(0) + []
    let long: [UInt8] = [65] + text
    let packet = packetBytes { CloseFrame(code: .limits).write(long.span, to: &$0) }
    #expect(packet.count == 3 + 127)
    #expect(readAll(packet).error == nil)
  }

  @Test func `knows how soon each frame wants feedback`() {
    let demands = Self.everyFrame().frames.map(\.demand)
    #expect(
      demands == [.soon, .none, .soon, .none, .none, .none, .none, .none, .interval])
  }

  @Test func `survives random bytes`() {
    var random = RandomSource(seed: 11)
    var frames = 0
    for _ in 0..<20_000 {
      var packet = random.bytes(Int.random(in: 0...64, using: &random))
      if !packet.isEmpty { packet[0] = UInt8.random(in: 0...11, using: &random) }
      let read = readAll(packet)
      frames += read.frames.count
      for frame in read.frames {
        guard case .feedback(let feedback) = frame else { continue }
        var entries = feedback.entries(in: packet.span)
        var count = 0
        while entries.next() != nil { count += 1 }
        #expect(count == Int(feedback.header.count))
      }
    }
    #expect(frames > 1000)
  }
}
