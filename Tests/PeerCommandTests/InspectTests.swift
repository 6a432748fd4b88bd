import Earshot
import MediaFiles
import PeerCommand
import Primitives
import Testing
import Wire

struct InspectTests {
  @Test func `a handshake packet is explained field by field`() {
    var packet = [UInt8](repeating: 0, count: 1200)
    packet.replaceSubrange(0..<8, with: [0xC1, 1, 1, 2, 0x78, 0x56, 0x34, 0x12])
    let text = PacketExplanation.text(packet)
    for part in [
      "INIT", "2: call", "0x12345678", "sealed: who calls is hidden", "MAC1", "MAC2", "none",
    ] { #expect(text.contains(part), "\(part)") }
    #expect(PacketExplanation.title([0x60] + packet.prefix(40)).hasPrefix("DATA, 41 bytes"))
    #expect(
      PacketExplanation.text([0x60] + packet.prefix(40)).contains("sealed (ChaCha20-Poly1305)"))
    #expect(PacketExplanation.title([1, 2, 3]).contains("neither ours nor RTP"))
  }

  @Test func `hex is read with its usual ornaments`() {
    #expect(InspectCommand.hex("0xC1 01:ff\n") == [0xC1, 1, 255])
    #expect(InspectCommand.hex("c1f") == nil)
    #expect(InspectCommand.hex("zz") == nil)
    #expect(InspectCommand.hex("") == nil)
  }

  @Test func `an events file becomes the story of its call`() throws {
    let file = """
      {"type":"schema","ts":"2026-03-01T23:59:59.000Z","schema":"earshot/1"}
      {"type":"event","ts":"2026-03-02T00:00:00.500Z","name":"delivered","callId":"x"}
      {"type":"stats","ts":"2026-03-02T00:00:02.500Z","stats":[]}
      {"type":"summary","ts":"2026-03-02T00:00:03.000Z","outcome":"completed","reason":"Bye.","durationMs":1500,"audio":{"received":{"lostFraction":0.02,"residualLostFraction":0.001,"mos":4.1}}}
      {"type":"ev
      """
    let text = try InspectCommand.explain(Array(file.utf8), name: "x")
    for part in [
      "    1.500  delivered", "the call ended: completed, Bye.",
      "lost 2.0 % of what was sent to this side, 0.1 % not repaired", "MOS 4.1",
      "1 lines of statistics", "1 lines cannot be read",
    ] { #expect(text.contains(part), "\(part)") }
  }

  @Test func `a capture tells packets, loss and jitter of its streams`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("call.pcapng")
    let capture = try MediaPCAP(path)
    for number in 0..<100 where number % 10 != 9 {
      capture.capture(
        Self.frame(step: number * 2, at: UInt64(number) * 20_000_000), payload: [0x78, 1, 2])
    }
    capture.finish()
    #expect(capture.fault == nil)
    let story = try CaptureStory(path)
    #expect(story.streams.count == 1)
    let stream = try #require(story.streams.first)
    // The last of the lost ones is lost at the end, where nobody can know of it.
    #expect(stream.packets == 90 && stream.lost == 9 && stream.duplicates == 0)
    #expect(stream.jitterMs < 0.1)
    #expect(story.text.contains("90 packets in 2.0 s"))
    #expect(stream.text.contains("Opus"))
  }

  /// Method: one frame of ten is lost on the way here, one of a hundred there; after two and after
  /// four seconds the numbers are read. The layout is RFC 3550 §6.4.1's and §6.4.2's.
  @Test func `a capture has both sides' reports for each reading of the numbers`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("call.pcapng")
    let capture = try MediaPCAP(path)
    let start: UInt64 = 1_700_000_000_000_000_000
    for number in 0..<200 {
      let time = start + UInt64(number) * 20_000_000
      var own = Self.frame(step: number * 2, at: time)
      own.isOutgoing = true
      capture.capture(own, payload: [0x78, 1, 2])
      if number % 10 != 8 {
        capture.capture(Self.frame(step: number * 2, at: time), payload: [0x78, 1, 2])
      }
      if number % 100 == 99 { capture.capture(Self.report(sent: number + 1, at: time)) }
    }
    capture.finish()
    var reader = try PCAPNGReader(path)
    var reports: [[UInt8]] = []
    while let datagram = try reader.next() {
      if [200, 201].contains(datagram.payload[1]) { reports.append(datagram.payload) }
    }
    try #require(reports.map { $0[1] } == [200, 201, 200, 201])
    let sender = reports[2]
    // Counts; then what came in: 10 % lost, 20 in all, the highest number, 2 ms of jitter.
    #expect(sender[20..<28] == [0, 0, 0, 200, 0, 0, 2, 88])
    #expect(sender[32..<44] == [25, 0, 0, 20, 0, 0, 0, 199, 0, 0, 0, 96])
    #expect(sender[28..<32] == [0x45, 0x53, 0, 2])
    let receiver = reports[3]
    #expect(receiver[8..<16] == [0x45, 0x53, 0, 1, 2, 0, 0, 2])
    // The time of the first sender report, and 2 s less the round trip of 100 ms.
    #expect(Array(receiver[24..<28]) == Array(reports[0][10..<14]))
    #expect(receiver[28..<32] == [0, 1, 0xE6, 0x66])
    #expect(try CaptureStory(path).text.contains("4 × RTCP"))
  }

  private static func report(sent: Int, at time: UInt64) -> CapturedReport {
    var numbers = CallStatistics(atMs: 0)
    numbers.sent.packetsSent = sent
    numbers.sent.bytesSent = sent * 3
    numbers.sent.fractionLost = 0.01
    numbers.sent.packetsLost = sent / 100
    numbers.received.jitterMs = 2
    numbers.currentRttMs = 100
    let ends = frame(step: 0, at: time)
    return CapturedReport(
      local: ends.local, remote: ends.remote, statistics: numbers, wallNanoseconds: time)
  }

  private static func frame(step: Int, at time: UInt64, isMarked: Bool = false) -> CapturedFrame {
    CapturedFrame(
      isOutgoing: false, local: SocketAddress(v4: 192, 0, 2, 1, port: 5000),
      remote: SocketAddress(v4: 192, 0, 2, 2, port: 5001),
      mediaTime: UInt16(truncatingIfNeeded: step), isMarked: isMarked, wallNanoseconds: time)
  }

  @Test func `RTP numbers follow media time, over its wrap and over silence`() {
    var numbering = RTPNumbering(source: 7)
    let steps = [65_532, 65_534, 0, 2, 6, 100, 102]
    let headers = steps.map { step in
      numbering.next(
        Self.frame(step: step, at: 0, isMarked: step == 100), [0x78, 0])
    }
    #expect(headers.map(\.sequenceNumber) == [0, 1, 2, 3, 5, 6, 7])
    #expect(headers[2].timestamp &- headers[1].timestamp == 960)
    #expect(headers.map(\.isMarked) == [true, false, false, false, false, true, false])
  }

  /// Media time has 16 bits of 10 ms, RTP's has 32 of 1/48,000 s.
  @Test(arguments: [100, 400, 655, 1200])
  func `RTP time goes on over a long pause`(seconds: Int) {
    var numbering = RTPNumbering(source: 7)
    let wall: UInt64 = 1_700_000_000_000_000_000
    let first = numbering.next(Self.frame(step: 5, at: wall), [0x78, 0])
    let second = numbering.next(
      Self.frame(
        step: 5 + seconds * 100, at: wall + UInt64(seconds) * 1_000_000_000 + 30_000_000,
        isMarked: true), [0x78, 0])
    let third = numbering.next(
      Self.frame(step: 7 + seconds * 100, at: wall + UInt64(seconds) * 1_000_000_000 + 45_000_000),
      [0x78, 0])
    #expect(second.timestamp &- first.timestamp == UInt32(seconds * 48_000))
    #expect(third.timestamp &- second.timestamp == 960)
    #expect(third.sequenceNumber == 2)
  }

  /// 0x78: 20 ms; 0x18: 60 ms; 0x70: 10 ms. The line drops one packet at each change of length.
  @Test func `RTP numbers count losses across a change of the frame length`() {
    var numbering = RTPNumbering(source: 7)
    var numbers: [UInt16] = []
    for (step, payload) in [
      (0, 0x78), (2, 0x78), (10, 0x18), (16, 0x18), (24, 0x78), (26, 0x78), (29, 0x70), (30, 0x70),
    ] as [(Int, UInt8)] {
      numbers.append(numbering.next(Self.frame(step: step, at: 0), [payload, 0]).sequenceNumber)
    }
    #expect(numbers == [0, 1, 3, 4, 6, 7, 9, 10])
  }

  @Test(
    arguments: [
      ([0x78], 2), ([0x70], 1), ([0x08], 2), ([0x18], 6), ([0x79], 4), ([0x7B, 0x83], 6), ([], 2),
      ([0xE0], 1),
    ] as [([UInt8], Int)])
  func `the length of an Opus packet is read from its first bytes`(bytes: [UInt8], steps: Int) {
    #expect(RTPNumbering.steps(in: bytes) == steps)
  }

  @Test func `a stream counts what is twice, late and missing`() {
    var stream = RTPStream(
      source: 1, from: SocketAddress(v4: 1, 1, 1, 1, port: 1),
      to: SocketAddress(v4: 2, 2, 2, 2, port: 2), payloadType: 111)
    for (index, number) in [65_534, 65_535, 1, 0, 1, 4].enumerated() {
      let header = RTPMapping(
        sequenceNumber: UInt16(number), timestamp: UInt32(index * 960), source: 1)
      stream.append(header, at: UInt64(index) * 20_000_000, byteCount: 80)
    }
    #expect(stream.packets == 5 && stream.duplicates == 1 && stream.reordered == 1)
    #expect(stream.lost == 2)
  }

  /// Goal: what a file costs is bounded, and the refusal says how to go on.
  @Test func `a line or a text that no events file has is refused before it is read`() throws {
    let long = Array("{\"type\":\"".utf8) + Array(repeating: UInt8(ascii: "a"), count: 1 << 20)
    let line = #expect(throws: CommandFailure.self) {
      try InspectCommand.explain(Array("{}\n".utf8) + long, name: "x")
    }
    #expect(line?.code == .file && line?.message.hasPrefix("Line 2 of x has more") == true)
    #expect(line?.advice.contains("awk 'length < 262144'") == true)
    let text = [UInt8](repeating: UInt8(ascii: "{"), count: EventText.maxByteCount + 1)
    let error = #expect(throws: CommandFailure.self) {
      try InspectCommand.explain(text, name: "x")
    }
    #expect(error?.message == "x has more than 64 MiB of text.")
    #expect(error?.advice.contains("| earshot inspect -") == true)
    let event = Array("{\"type\":\"b\"}\n".utf8)
    let many = Array(repeating: event, count: EventStory.maxLines + 5).flatMap(\.self)
    let story = try InspectCommand.explain(many, name: "x")
    #expect(story.hasSuffix("\n5 more lines; give a part of the file to see them"))
  }

  @Test func `nothing hostile stops it`() throws {
    var random = RandomSource(seed: 4711)
    let folder = try TemporaryFolder()
    for round in 0..<10_000 {
      let count = Int(random.next() % 90)
      var bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      if round % 4 == 0, count > 0 { bytes[0] = UInt8(0xC1 + random.next() % 7) }
      if round % 16 == 1 {
        bytes = [0xC7, 1, 0, 0] + bytes + [UInt8](repeating: 1, count: 200)
      }
      #expect(!PacketExplanation.text(bytes).isEmpty)
      if count > 1, round % 3 == 0 { bytes[0] = UInt8(ascii: "{") }
      _ = try? InspectCommand.explain(bytes, name: "x")
    }
    // Captures with any byte changed.
    let path = folder.file("call.pcapng")
    let capture = try MediaPCAP(path)
    for number in 0..<8 {
      capture.capture(Self.frame(step: number * 2, at: 0), payload: [0x78, 1, 2])
    }
    capture.finish()
    let whole = try folder.bytes(of: "call.pcapng")
    for _ in 0..<500 {
      var broken = whole
      for _ in 0..<3 {
        broken[Int(random.next() % UInt64(broken.count))] = UInt8(truncatingIfNeeded: random.next())
      }
      broken.removeLast(Int(random.next() % UInt64(broken.count)))
      try folder.write(broken, to: "broken.pcapng")
      _ = try? InspectCommand(subject: folder.file("broken.pcapng")).explanation()
    }
  }
}
