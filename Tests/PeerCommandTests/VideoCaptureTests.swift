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
