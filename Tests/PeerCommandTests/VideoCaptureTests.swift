import Earshot
import MediaFiles
import PeerCommand
import Primitives
import Testing

struct VideoCaptureTests {
  private static func frame(number: Int, ticks: Int, isKey: Bool = false) -> CapturedVideoFrame {
    CapturedVideoFrame(
      isOutgoing: true, local: SocketAddress(v4: 192, 0, 2, 1, port: 5000),
      remote: SocketAddress(v4: 192, 0, 2, 2, port: 5001), mediaTime: UInt32(ticks & 0xFF_FFFF),
      number: UInt16(number), temporalLayer: isKey ? 0 : 1, isKeyFrame: isKey,
      fragmentByteCount: 1150, wallNanoseconds: UInt64(number) * 33_000_000)
  }
  // A span cannot go through the macros of tests.
  private static func header(_ packet: [UInt8]) -> RTPMapping? {
    RTPMapping.parse(packet.span)?.header
  }
  private static func descriptor(_ payload: [UInt8]) -> (VP8Descriptor, start: Int)? {
    VP8Descriptor.parse(payload.span)
  }

  /// The head of a key frame of 640×360 (RFC 6386 §9.1).
  private static let keyFrame: [UInt8] = [0x10, 2, 0, 0x9D, 1, 0x2A, 0x80, 2, 0x68, 1]

  @Test func `a frame becomes RTP packets of even size, with one time and one mark`() throws {
    var numbering = VideoNumbering(source: 9)
    let packets = numbering.packets(
      of: Self.frame(number: 300, ticks: 0xFF_FF00, isKey: true),
      Self.keyFrame + [UInt8](repeating: 7, count: 2490))
    #expect(packets.map(\.count) == [834 + 17, 834 + 17, 832 + 17])
    let headers = try packets.map { try #require(Self.header($0)) }
    #expect(
      headers.map(\.sequenceNumber) == [0, 1, 2] && headers.map(\.payloadType) == [96, 96, 96])
    #expect(headers.map(\.isMarked) == [false, false, true])
    #expect(Set(headers.map(\.timestamp)) == [UInt32(0xFF_FF00 * 900 / 256)])
    let parts = try packets.map { packet in
      try #require(Self.descriptor(Array(packet.dropFirst(12))))
    }
    #expect(parts.map { $0.0.isStart } == [true, false, false])
    #expect(
      parts.map { $0.0.pictureID } == [300, 300, 300] && parts.map { $0.start } == [5, 5, 5])
    // 10 ms later, over the wrap of the wire's 24 bits.
    let next = numbering.packets(of: Self.frame(number: 301, ticks: 0), [1])
    let header = try #require(Self.header(next[0]))
    #expect(header.timestamp &- headers[0].timestamp == 900 && header.sequenceNumber == 3)
    #expect(numbering.packets(of: Self.frame(number: 302, ticks: 1), []).isEmpty)
  }

  /// Goal: one packet in thousands, of which tshark complained, is cut otherwise: it ended where
  /// the first partition of its frame did.
  @Test(arguments: [(997, 2000), (1147, 2300)] as [(Int, Int)])
  func `no packet ends where the first partition does`(partition: Int, byteCount: Int) throws {
    var numbering = VideoNumbering(source: 9)
    let tag = partition << 5 | 0x11
    let head = [UInt8(tag & 255), UInt8(tag >> 8 & 255), UInt8(tag >> 16)]
    let frame = head + [UInt8](repeating: 7, count: byteCount - 3)
    let packets = numbering.packets(of: Self.frame(number: 1, ticks: 0), frame)
    // 3 bytes of the tag stand before the partition, 12 of RTP and 5 of the descriptor before them.
    #expect(packets.count >= 2 && packets[0].count != 17 + 3 + partition)
    #expect(packets.allSatisfy { $0.count <= 17 + 1150 })
    #expect(packets.flatMap { $0.dropFirst(17) } == frame)
    let marks = packets.map { $0[1] & 0x80 != 0 }
    #expect(marks == Array(repeating: false, count: packets.count - 1) + [true])
  }

  /// Of a capture, what is no report and no media.
  private static func feedback(_ path: String) throws -> [[UInt8]] {
    var reader = try PCAPNGReader(path)
    var found: [[UInt8]] = []
    while let datagram = try reader.next() {
      if [205, 206].contains(datagram.payload[1]) { found.append(datagram.payload) }
    }
    return found
  }

  @Test func `requests for parts of frames and for key frames are RTCP`() throws {
    let folder = try TemporaryFolder()
    let capture = try MediaPCAP(folder.file("a.pcapng"))
    for number in 0..<20 {
      capture.capture(
        Self.frame(number: 500 + number, ticks: number * 845),
        payload: [UInt8](repeating: 1, count: 2000))
    }
    let ends = Self.frame(number: 0, ticks: 0)
    var request = CapturedVideoRequest(
      isOutgoing: false, local: ends.local, remote: ends.remote, wantsKeyFrame: true,
      frames: [501, 502, 515, 9], wallNanoseconds: 1_000_000_000)
    capture.capture(request)
    request.isOutgoing = true
    request.frames = []
    capture.capture(request)
    // What this side asks for is not in the capture yet: the next numbers are asked for.
    for number in 0..<3 {
      var incoming = Self.frame(number: 70 + number, ticks: number * 845)
      incoming.isOutgoing = false
      capture.capture(incoming, payload: [UInt8](repeating: 1, count: 2000))
    }
    request.wantsKeyFrame = false
    request.frames = [73, 75]
    capture.capture(request)
    capture.finish()
    let found = try Self.feedback(folder.file("a.pcapng"))
    let (here, there): ([UInt8], [UInt8]) = ([0x45, 0x53, 0, 3], [0x45, 0x53, 0, 4])
    // Two packets a frame: 2 to 5, and 30 and 31; frame 9 is long gone.
    #expect(
      found == [
        [0x81, 206, 0, 2] + there + here,
        [0x81, 205, 0, 4] + there + here + [0, 2, 0, 7, 0, 30, 0, 1],
        [0x81, 206, 0, 2] + here + there,
        [0x81, 205, 0, 3] + here + there + [0, 6, 0, 2],
      ])
  }

  @Test func `video has reports of its own`() throws {
    let folder = try TemporaryFolder()
    let capture = try MediaPCAP(folder.file("a.pcapng"))
    for number in 0..<60 {
      capture.capture(
        Self.frame(number: number, ticks: number * 845),
        payload: [UInt8](repeating: 1, count: 2000))
      guard number % 30 == 29 else { continue }
      let ends = Self.frame(number: number, ticks: 0)
      var numbers = CallStatistics(atMs: 0)
      numbers.sent.fractionLost = 0.02
      numbers.currentRttMs = 40
      capture.capture(
        CapturedReport(
          local: ends.local, remote: ends.remote, statistics: numbers,
          wallNanoseconds: ends.wallNanoseconds))
    }
    capture.finish()
    var reader = try PCAPNGReader(folder.file("a.pcapng"))
    var own: [[UInt8]] = []
    var theirs: [[UInt8]] = []
    while let datagram = try reader.next() {
      let bytes = datagram.payload
      if bytes[1] == 200, bytes[7] == 3 { own.append(bytes) }
      if bytes[1] == 201, bytes[7] == 4 { theirs.append(bytes) }
    }
    try #require(own.count == 2 && theirs.count == 2)
    // 120 packets; 120 000 bytes with 5 of a descriptor each.
    #expect(own[1][20..<28] == [0, 0, 0, 120, 0, 1, 0xD7, 0x18])
    // Of our stream: 2 % lost, number 119, and the round trip by the first report's time.
    #expect(theirs[1][8..<20] == [0x45, 0x53, 0, 3, 5, 0, 0, 0, 0, 0, 0, 119])
    #expect(Array(theirs[1][24..<28]) == Array(own[0][10..<14]))
  }

  @Test func `inspect explains a video packet and a capture's stream`() throws {
    var numbering = VideoNumbering(source: 9)
    let packets = numbering.packets(
      of: Self.frame(number: 5, ticks: 256, isKey: true),
      Self.keyFrame + [UInt8](repeating: 0, count: 100))
    let text = PacketExplanation.text(packets[0])
    for part in [
      "ends a frame, 96, as VP8 is", "900 of 90 000 a second", "picture 5, layer 0",
      "begins a frame", "key frame of 640x360", "in clear",
    ] { #expect(text.contains(part), "\(part)") }
    let folder = try TemporaryFolder()
    let capture = try MediaPCAP(folder.file("a.pcapng"))
    for number in 0..<30 {
      capture.capture(
        Self.frame(number: number, ticks: number * 845), payload: [UInt8](repeating: 1, count: 2000)
      )
    }
    capture.finish()
    let story = try CaptureStory(folder.file("a.pcapng"))
    let stream = try #require(story.streams.first)
    #expect(stream.packets == 60 && stream.lost == 0 && stream.jitterMs < 0.1)
    #expect(stream.text.contains("VP8"))
  }

  @Test func `descriptors of others are read as well`() throws {
    let short = try #require(Self.descriptor([0x10, 1, 2]))
    #expect(short.start == 1 && short.0.isStart && short.0.pictureID == 0)
    // X; I, L, T and K; a picture ID of 7 bits; TL0PICIDX; TID 2.
    let full = try #require(Self.descriptor([0x80, 0xF0, 0x05, 9, 0x80, 1]))
    #expect(full.start == 5 && full.0.pictureID == 5 && full.0.temporalLayer == 2)
    for length in 0..<5 {
      #expect(Self.descriptor(Array([0x80, 0xF0, 0x85, 9, 0x80].prefix(length))) == nil)
    }
  }
}
