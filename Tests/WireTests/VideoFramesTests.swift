import Primitives
import Testing
import Wire

@Suite struct VideoFramesTests {
  static let frame = VideoMediaFrame(
    stream: 1, number: 0xBEEF, mediaTime: 0x01_0203, isKeyFrame: false, temporalLayer: 2,
    references: (3, 1))

  static func packet(_ frame: VideoMediaFrame, _ payload: [UInt8]) -> [UInt8] {
    packetBytes { packet in
      frame.writeHeader(to: &packet)
      packet.append(span: payload.span)
    }
  }

  @Test func `lays out VIDEO as the page says`() {
    var frame = Self.frame
    frame.fragmentIndex = 4
    frame.lastFragmentIndex = 9
    frame.isRetransmission = true
    let packet = Self.packet(frame, [0xAA])
    #expect(packet == [6, 0b0010_1001, 0xEF, 0xBE, 0x13, 0x03, 0x02, 0x01, 4, 9, 0xAA])
    #expect(readAll(packet).frames == [.video(frame, payload: PacketRange(10..<11))])
    #expect(frame.fragmentCount == 10)
    #expect(readAll(packet).frames.first?.demand == .interval)
  }

  @Test func `says whose pictures follow, and how much of them is wanted`() {
    let packet = packetBytes { packet in
      ChannelPictureFrame.write(source: 64, to: &packet)
      ChannelWantsFrame.write(0x0403_0201, to: &packet)
    }
    #expect(packet == [0x34, 64, 0x35, 1, 2, 3, 4])
    let frames = readAll(packet).frames
    #expect(frames == [.channelPicture(source: 64), .channelWants(bitsPerSecond: 0x0403_0201)])
    #expect(frames.allSatisfy { $0.demand == .none })
    #expect(ChannelPictureFrame.byteCount + ChannelWantsFrame.byteCount == packet.count)
    for wrong in [[0x34, 0], [0x34, 65], [0x34], [0x35, 1, 2, 3], [0x36, 1], [0x38, 1]] as [[UInt8]]
    {
      #expect(readAll(wrong).frames.isEmpty, "\(wrong)")
    }
    let label = ChannelPictureLabel(temporalLayer: 2, isKeyFrame: true, mediaTime: 0x01_0203)
    #expect(label.metadata.span.count == 5)
    #expect((0..<5).map { label.metadata[$0] } == [0b1_1000, 3, 2, 1, 0])
  }

  @Test func `says what a low stream takes, and what of others' pictures is sent`() {
    let low = ChannelLowFrame(view: .usual, bitsPerSecond: 0x0403_0201)
    let packet = packetBytes { low.write(to: &$0) }
    #expect(packet == [0x36, 2, 1, 2, 3, 4] && packet.count == ChannelLowFrame.byteCount)
    #expect(readAll(packet).frames == [.channelLow(low)])
    #expect(readAll(packet).frames.first?.demand == FeedbackDemand.none)
    for wrong in [[0x36, 3, 1, 2, 3, 4], [0x36, 2, 1, 2, 3]] as [[UInt8]] {
      #expect(readAll(wrong).frames.isEmpty, "\(wrong)")
    }
  }

  @Test func `says how many frames of a source were not sent`() {
    let word = ChannelUnsentFrame(source: 64, count: 0x0201)
    let packet = packetBytes { word.write(to: &$0) }
    #expect(packet == [0x37, 64, 1, 2] && packet.count == ChannelUnsentFrame.byteCount)
    #expect(readAll(packet).frames == [.channelUnsent(word)])
    #expect(readAll(packet).frames.first?.demand == FeedbackDemand.none)
    for wrong in [[0x37, 0, 1, 2], [0x37, 65, 1, 2], [0x37, 1, 2]] as [[UInt8]] {
      #expect(readAll(wrong).frames.isEmpty, "\(wrong)")
    }
  }

  @Test func `lays out parity as the page says`() {
    var frame = Self.frame
    frame.isParity = true
    frame.fragmentIndex = 31
    frame.lastFragmentIndex = 9
    frame.lastFragmentByteCount = 0x0201
    let packet = Self.packet(frame, [UInt8](repeating: 0xAA, count: 600))
    #expect(
      Array(packet.prefix(13)) == [
        6, 0b0100_1001, 0xEF, 0xBE, 0x13, 0x03, 0x02, 0x01, 31, 9, 1, 2, 0xAA,
      ])
    #expect(readAll(packet).frames == [.video(frame, payload: PacketRange(12..<612))])
    #expect(VideoMediaFrame.parityHeaderByteCount == 12)
  }

  @Test(
    arguments: [
      [6, 0, 1, 0, 1, 0, 0, 0, 1, 0, 9],  // index beyond the last
      [6, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9],  // refers to nothing, but is no key frame
      [6, 0x10, 1, 0, 1, 0, 0, 0, 0, 0, 9],  // a key frame that refers
      [6, 0x14, 1, 0, 0, 0, 0, 0, 0, 0, 9],  // a key frame of an upper layer
      [6, 0x10, 1, 0, 0, 0, 0, 0, 0, 0],  // no bytes
      [6, 0x10, 1, 0, 0, 0, 0, 0, 0],  // truncated
      [6, 0x10, 1, 0, 0, 0, 0, 0, 0, 0] + Array(repeating: 1, count: 1151),  // too long
      [6, 0x50, 1, 0, 0, 0, 0, 0, 32, 9, 1, 0, 1],  // parity beyond the last there may be
      [6, 0x50, 1, 0, 0, 0, 0, 0, 0, 224, 1, 0, 1],  // parity over too many
      [6, 0x50, 1, 0, 0, 0, 0, 0, 0, 9, 0, 0, 1],  // a last fragment of no bytes
      [6, 0x50, 1, 0, 0, 0, 0, 0, 0, 9, 2, 0, 1],  // a last fragment longer than the others
      [6, 0x50, 1, 0, 0, 0, 0, 0, 0, 9, 1, 0],  // parity of no bytes
    ] as [[UInt8]])
  func `refuses an impossible VIDEO`(packet: [UInt8]) {
    #expect(readAll(packet).frames.isEmpty)
    #expect(readAll(packet).error != nil)
  }

  @Test(arguments: [0x60, 0x80] as [UInt8]) func `skips reserved video`(flag: UInt8) {
    #expect(readAll([6, flag, 0, 0, 0, 0, 0, 0, 0, 0, 1]).frames == [.skipped(type: 6)])
  }

  @Test func `lays out VIDEO_NACK as the page says`() throws {
    let entries = [
      VideoNackFrame.Entry(number: 0x0201, first: 3, last: 4),
      VideoNackFrame.Entry(number: 7, first: 9, last: 8),
    ]
    let packet = packetBytes {
      VideoNackFrame.write(
        stream: 2, wantsKeyFrame: true, newest: 0x0403, entries: entries.span, to: &$0)
    }
    #expect(packet == [13, 0b1110, 3, 4, 2, 1, 2, 3, 4, 7, 0, 9, 8])
    guard case .videoNack(let nack) = readAll(packet).frames.first else {
      Issue.record("a VIDEO_NACK is read")
      return
    }
    #expect(nack.wantsKeyFrame && nack.newest == 0x0403 && nack.stream == 2)
    #expect(nack.entryCount == 2)
    let read = (0..<3).map { nack.entry($0, in: packet.span) }
    #expect(read == [entries[0], nil, nil], "the second ends before it begins")
    #expect(readAll(packet).frames.first?.demand == FeedbackDemand.none)
  }

  @Test(
    arguments: [
      [13, 4, 1, 0, 0],  // a number although nothing was received
      [13, 0x14, 0, 0, 0],  // a reserved bit
      [13, 4, 0, 0, 33] + Array(repeating: 0, count: 132),  // too many entries
      [13, 4, 0, 0, 1, 0, 0, 0],  // an entry cut short
    ] as [[UInt8]])
  func `refuses an impossible VIDEO_NACK`(packet: [UInt8]) {
    #expect(readAll(packet).frames.isEmpty)
    #expect(readAll(packet).error != nil)
  }
}
