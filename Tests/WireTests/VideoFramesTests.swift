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

  @Test(
    arguments: [
      [6, 0, 1, 0, 1, 0, 0, 0, 1, 0, 9],  // index beyond the last
      [6, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9],  // refers to nothing, but is no key frame
      [6, 0x10, 1, 0, 1, 0, 0, 0, 0, 0, 9],  // a key frame that refers
      [6, 0x14, 1, 0, 0, 0, 0, 0, 0, 0, 9],  // a key frame of an upper layer
      [6, 0x10, 1, 0, 0, 0, 0, 0, 0, 0],  // no bytes
      [6, 0x10, 1, 0, 0, 0, 0, 0, 0],  // truncated
      [6, 0x10, 1, 0, 0, 0, 0, 0, 0, 0] + Array(repeating: 1, count: 1151),  // too long
    ] as [[UInt8]])
  func `refuses an impossible VIDEO`(packet: [UInt8]) {
    #expect(readAll(packet).frames.isEmpty)
    #expect(readAll(packet).error != nil)
  }

  @Test(arguments: [0x40, 0x80] as [UInt8]) func `skips reserved video`(flag: UInt8) {
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
