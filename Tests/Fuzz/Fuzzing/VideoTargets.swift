import MediaFiles
import Primitives
import Video
import Wire

extension FuzzTarget {
  static let video: [FuzzTarget] = [vp8Frame, videoAssembler, videoSender, pictureFile]

  /// Frames of a hostile sender, decoded one after the other: a byte for the length, then a frame.
  private static let vp8Frame = FuzzTarget(
    "vp8-frame", maximumByteCount: 1300, seeds: { vp8Frames().map { script([$0]) } },
    run: { bytes in
      guard var decoder = try? VP8Decoder(), var picture = I420Picture(width: 16, height: 16) else {
        return expect(false, "a decoder can be made")
      }
      var reader = ByteReader(bytes.span)
      for _ in 0..<8 {
        guard let length = try? reader.readUInt16("length"),
          let frame = try? reader.readBytes(min(Int(length), reader.remaining), "frame")
        else { return }
        let header = try? VP8Header(parsing: frame.span)
        let isShown = (try? decoder.decode(frame.span, into: &picture)) ?? false
        expect(!isShown || header != nil, "what is decoded has a header")
        expect(I420Picture.isAcceptable(width: picture.width, height: picture.height), "a size")
        expect(
          picture.bytes.count
            == I420Picture.byteCount(width: picture.width, height: picture.height),
          "a picture has all its planes")
      }
    })

  /// VIDEO frames of a hostile sender, and time: nothing comes out before what it refers to.
  private static let videoAssembler = FuzzTarget(
    "video-assembler", maximumByteCount: 1200,
    seeds: {
      [assemblerScript(lost: false), assemblerScript(lost: true), parityScript()]
    },
    run: { bytes in
      var assembler = VideoAssembler()
      var reader = ByteReader(bytes.span)
      var now = Instant(nanoseconds: 1_000_000_000)
      var frame: [UInt8] = []
      var last: UInt16?
      while let step = try? reader.readUInt8("step") {
        now = now + .milliseconds(Int64(step & 0x7F))
        if step & 0x80 == 0 {
          guard let packet = try? readPacket(&reader) else { return }
          var frames = FrameReader(packet.span)
          if case .video(let video, let payload)? = try? frames.next() {
            // Numbers come round: after one so far away the same number is another frame's.
            let distance = Int16(bitPattern: video.number &- (last ?? video.number))
            if distance.magnitude > 16_000 { last = nil }
            assembler.handle(video, packet.span.bytes(at: payload), now: now)
          }
        }
        // The sender says that it stops.
        if step == 0xFF { assembler.handlePause() }
        while let taken = assembler.poll(into: &frame, now: now) {
          expect(taken.byteCount == frame.count, "a frame is as long as it says")
          expect(last != taken.number, "no frame comes out twice in a row")
          last = taken.number
        }
        let asked = FuzzTarget.bytes { _ = assembler.pollRequest(into: &$0, now: now) }
        expect(asked.count <= 5 + 4 * VideoNackFrame.maximumEntryCount, "a request is short")
        _ = assembler.nextDeadline
      }
      expect(assembler.fragmentCount <= VideoLimits.fragments, "no more is kept than the limit")
    })

  /// VIDEO_NACK frames of a hostile receiver: no more is sent again than was sent.
  private static let videoSender = FuzzTarget(
    "video-sender", maximumByteCount: 600,
    seeds: {
      let entries = [
        VideoNackFrame.Entry(number: 2, first: 0, last: 255),
        VideoNackFrame.Entry(number: 0, first: 1, last: 3),
      ]
      return [
        bytes { packet in
          VideoNackFrame.write(
            wantsKeyFrame: true, newest: 2, entries: entries.span, to: &packet)
        }
      ]
    },
    run: { bytes in
      var sender = VideoSender()
      var now = Instant(nanoseconds: 1_000_000_000)
      for number in 0..<4 {
        var frame = [UInt8](repeating: 7, count: 3000)
        let place = TemporalPattern(layerCount: 1).place(isKeyFrame: number == 0)
        let encoded = EncodedFrame(
          isKeyFrame: number == 0, size: VideoLadder.usual.box,
          place: place, quantizer: 3, byteCount: frame.count)
        sender.handle(encoded, bytes: &frame, mediaTime: 0, now: now)
        while sender.hasFragment {
          _ = FuzzTarget.bytes { _ = sender.pollFragment(into: &$0, now: now) }
        }
      }
      var reader = FrameReader(bytes.span)
      while let frame = try? reader.next() {
        guard case .videoNack(let nack) = frame else { continue }
        now = now + .milliseconds(50)
        sender.handle(nack, in: bytes.span, roundTrip: .milliseconds(40), now: now)
        var count = 0
        while sender.hasRetransmission {
          _ = FuzzTarget.bytes { _ = sender.pollRetransmission(into: &$0, now: now) }
          count += 1
        }
        expect(count <= 12, "what was sent goes again once at the most")
        _ = sender.pollKeyFrame(now: now)
      }
    })

  private static let pictureFile = FuzzTarget(
    "picture-file", maximumByteCount: 1500,
    seeds: {
      let picture = [UInt8](repeating: 9, count: 384)
      let line = Array("YUV4MPEG2 W16 H16 F30:1 Ip A1:1 C420jpeg\n".utf8)
      return [line + Array("FRAME\n".utf8) + picture + Array("FRAME Ip\n".utf8) + picture]
    },
    run: { bytes in
      withFile("picture", bytes) { path in
        guard var reader = try? Y4MReader(path) else { return }
        let size = reader.header.pictureByteCount
        expect(
          I420Picture.isAcceptable(width: reader.header.width, height: reader.header.height),
          "a size that can be sent")
        var picture: [UInt8] = []
        while (try? reader.read(into: &picture)) == true {
          expect(picture.count == size, "every picture is whole")
        }
        expect(reader.position <= bytes.count, "every picture takes at least a byte")
        expect(reader.header.milliseconds(of: .max) >= 0, "time rises")
      }
    })

  /// A fragment of 4 bytes, or parity of as many.
  private static func readPacket(_ reader: inout ByteReader) throws(WireError) -> [UInt8] {
    let head = try reader.readBytes(min(2, reader.remaining), "packet")
    let length = head.last.map { $0 & 0x40 != 0 } == true ? 14 : 12
    return head + (try reader.readBytes(min(length, reader.remaining), "packet"))
  }

  private static func script(_ frames: [[UInt8]]) -> [UInt8] {
    frames.flatMap { [UInt8($0.count & 0xFF), UInt8($0.count >> 8)] + $0 }
  }

  /// A key frame and two that follow it, 16×16.
  private static func vp8Frames() -> [[UInt8]] {
    guard let size = PictureSize(width: 16, height: 16),
      var encoder = try? VP8Encoder(.init(size: size, bitsPerSecond: 50_000))
    else { return [] }
    var frames: [[UInt8]] = []
    for number in 0..<3 {
      var picture = I420Picture(size)
      for index in 0..<256 { picture.bytes[index] = UInt8((index * (number + 3)) & 0xFF) }
      var frame: [UInt8] = []
      _ = try? encoder.encode(picture, milliseconds: Int64(number * 33), into: &frame)
      if !frame.isEmpty { frames.append(frame) }
    }
    return frames + [Array(frames.joined().prefix(600))]
  }

  /// Two fragments of each of five frames; each with 4 bytes, 14 as a packet.
  private static func assemblerScript(lost: Bool) -> [UInt8] {
    var script: [UInt8] = []
    for number in 0..<5 as Range<UInt16> {
      for fragment in 0..<2 as Range<UInt8> where !(lost && number == 2 && fragment == 1) {
        var frame = VideoMediaFrame(
          number: number, mediaTime: UInt32(number) * 850, isKeyFrame: number == 0,
          temporalLayer: 0, references: (number == 0 ? 0 : 1, 0))
        frame.fragmentIndex = fragment
        frame.lastFragmentIndex = 1
        let packet = bytes { output in
          frame.writeHeader(to: &output)
          output.append(bytes: [1, 2, 3, 4])
        }
        script += [5] + packet
      }
      script += [0x80 | 30]
    }
    return script
  }

  /// Frames of three fragments with two of parity, of which two packets are lost.
  private static func parityScript() -> [UInt8] {
    var sender = VideoSender()
    sender.parity.update(.init(loss: 0.2, run: 1, roundTrip: .milliseconds(300)))
    sender.mostFragmentByteCount = 4
    var script: [UInt8] = []
    var pattern = TemporalPattern(layerCount: 1)
    for number in 0..<4 {
      var content: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
      let place = pattern.place(isKeyFrame: number == 0)
      pattern.advance(past: place)
      let frame = EncodedFrame(
        isKeyFrame: number == 0, size: VideoLadder.usual.box, place: place, quantizer: 3,
        byteCount: content.count)
      let now = Instant(nanoseconds: UInt64(number + 1) * 33_000_000)
      sender.handle(frame, bytes: &content, mediaTime: 0, now: now)
      var sent = 0
      while sender.hasFragment {
        let packet = bytes { _ = sender.pollFragment(into: &$0, now: now) }
        sent += 1
        if sent != 1 + number % 3, sent != 3 { script += [5] + packet }
      }
    }
    return script
  }
}
