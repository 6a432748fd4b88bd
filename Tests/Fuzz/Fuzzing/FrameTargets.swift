import Primitives
import Wire

extension FuzzTarget {
  static let frames: [FuzzTarget] = [packet]

  /// A whole opened packet: each frame is read, looked into, and, where we write such frames,
  /// written again.
  private static let packet = FuzzTarget(
    "frames", seeds: { frameSeeds },
    run: { bytes in
      let span = bytes.span
      var reader = FrameReader(span)
      var frameCount = 0
      while let frame = try? reader.next() {
        frameCount += 1
        visit(frame, in: span)
      }
      expect(frameCount <= bytes.count, "every frame takes at least a byte")
    })

  private static func visit(_ frame: Frame, in packet: Span<UInt8>) {
    switch frame {
    case .padding(let count):
      expect(count >= 1 && count <= packet.count, "padding is in the packet")
    case .feedback(let feedback): visit(feedback, in: packet)
    case .message(let message, let bytes):
      expect(message.isPlausible(byteCount: bytes.count), "a fragment is plausible")
      expectInside(bytes, packet)
    case .signal(let body):
      expectInside(body, packet)
      visitSignal(packet.bytes(at: body))
    case .close(_, let text): expectInside(text, packet)
    case .audio(let audio, let body):
      expectInside(body, packet)
      expect(body.range.upperBound == packet.count, "audio stands last")
      expectSame(audio, body, in: packet)
      visitBody(packet.bytes(at: body), hasCopies: audio.hasCopies)
    case .audioReport(let body):
      expectInside(body, packet)
      visitReport(packet.bytes(at: body))
    case .audioRequest(let body):
      expectInside(body, packet)
      visitRequest(packet.bytes(at: body))
    case .probeReport(let report):
      expectInside(report.entries, packet)
      visit(report, in: packet)
    case .probeRequest(let request): visit(request)
    case .video(let video, let payload):
      expectInside(payload, packet)
      expect(payload.range.upperBound == packet.count, "video stands last")
      expect(video.isPlausible, "a fragment is plausible")
      expectSame(video, payload, in: packet)
    case .videoNack(let nack): visit(nack, in: packet)
    case .echoRequest(let request): visit(request)
    default: visitChannel(frame, in: packet)
    }
    expect(frame.demand >= .none, "every frame has a demand")
  }

  /// Frames between a member of a channel and a relay: each has one encoding.
  private static func visitChannel(_ frame: Frame, in packet: Span<UInt8>) {
    var end = 0
    var written: [UInt8] = []
    switch frame {
    case .channelAudio(let audio, let sealed):
      expect(sealed.range.upperBound == packet.count, "channel audio stands last")
      end = sealed.start
      written = bytes { audio.writeHeader(to: &$0) }
    case .channelCopy(let copy, let sealed):
      end = sealed.start
      written = bytes { copy.writeHeader(sealed.count, to: &$0) }
      expect(copy.label(before: 7).mediaTime == 7 &- UInt16(copy.distance), "a copy is earlier")
    case .channelKey(let uid, let range):
      end = range.range.upperBound
      written = bytes { ChannelWordFrame.writeKey(packet.bytes(at: range), uid: uid, to: &$0) }
    case .channelCard(let uid, let range):
      end = range.range.upperBound
      written = bytes { ChannelWordFrame.writeCard(packet.bytes(at: range), uid: uid, to: &$0) }
    default: return
    }
    expect(end <= packet.count && end >= written.count, "bytes are in the packet")
    for index in written.indices {
      expect(written[index] == packet[end - written.count + index], "one encoding")
    }
  }

  private static func visit(_ report: ProbeReportFrame, in packet: Span<UInt8>) {
    var arrivals = report.arrivals(in: packet)
    var count = 0
    while let arrival = arrivals.next() {
      expect(arrival.sequence == report.first &+ UInt32(count), "numbers go up one by one")
      count += 1
    }
    expect(count == report.entries.count / 2, "as many entries as announced")
  }

  private static func expectInside(_ range: PacketRange, _ packet: Span<UInt8>) {
    expect(range.start >= 0 && range.range.upperBound <= packet.count, "bytes are in the packet")
    expect(packet.bytes(at: range).count == range.count, "bytes can be had")
  }

  static func visit(_ feedback: FeedbackFrame, in packet: Span<UInt8>) {
    var entries = feedback.entries(in: packet)
    var count = 0
    var expected = feedback.header.largest
    while let entry = entries.next() {
      expect(entry.number == expected, "numbers go down one by one")
      expected = expected &- 1
      count += 1
    }
    expect(count == Int(feedback.header.count), "as many entries as announced")
  }

  private static func expectSame(
    _ audio: AudioMediaFrame, _ payload: PacketRange, in packet: Span<UInt8>
  ) {
    let written = bytes { audio.write(packet.bytes(at: payload), to: &$0) }
    let start = payload.start - AudioMediaFrame.headerByteCount
    for index in written.indices {
      expect(written[index] == packet[start + index], "an audio frame has one encoding")
    }
  }

  private static func visit(_ request: ProbeRequestFrame) {
    expect(request.run != 0, "a run has a name")
    expect(
      ProbePacketFrame.payloadByteCounts.contains(Int(request.payloadByteCount)),
      "a train's packets have a length that a packet may have")
  }

  private static func visit(_ request: EchoRequestFrame) {
    expect(
      EchoRequestFrame.payloadByteCounts.contains(Int(request.payloadByteCount)),
      "an echo has a length that a packet may have")
    expect(request.presence != .anyOne, "an echo goes to one program")
  }

  private static func visitBody(_ body: Span<UInt8>, hasCopies: Bool) {
    guard let parts = try? AudioBody(body, hasCopies: hasCopies) else {
      return expect(false, "a body that was checked can be read")
    }
    var next = 0
    for index in 0..<parts.copyCount {
      let copy = parts.copy(index)
      expectInside(copy.payload, body)
      expect(copy.distance > 0 && !copy.payload.isEmpty, "a copy is of something earlier")
      let lead = copy.coding == .parity ? AudioCopy.parityLeadByteCount : 0
      expect(index == 0 || copy.payload.start == next + lead, "copies follow each other")
      next = copy.payload.range.upperBound
    }
    expectInside(parts.primary, body)
    expect(parts.primary.range.upperBound == body.count, "the frame itself stands last")
  }

  private static func visitReport(_ body: Span<UInt8>) {
    guard let report = try? AudioReportFrame(body: body) else {
      return expect(false, "a report that was checked can be read")
    }
    let written = bytes { report.writeBody(to: &$0) }
    for index in written.indices { expect(written[index] == body[index], "one encoding") }
    expect(written.count == body.count, "a report has one length")
  }

  private static func visitRequest(_ body: Span<UInt8>) {
    guard let request = try? AudioRequestFrame(body: body) else {
      return expect(false, "a request that was checked can be read")
    }
    let written = bytes { request.writeBody(to: &$0) }
    for index in written.indices { expect(written[index] == body[index], "one encoding") }
    expect(written.count == body.count, "a request has one length")
  }

  private static func expectSame(
    _ video: VideoMediaFrame, _ payload: PacketRange, in packet: Span<UInt8>
  ) {
    let written = bytes { video.writeHeader(to: &$0) }
    let start =
      payload.start
      - (video.isParity ? VideoMediaFrame.parityHeaderByteCount : VideoMediaFrame.headerByteCount)
    expect(Int(video.lastFragmentByteCount) <= payload.count, "no fragment is longer than parity")
    for index in written.indices {
      expect(written[index] == packet[start + index], "a video frame has one encoding")
    }
  }

  private static func visit(_ nack: VideoNackFrame, in packet: Span<UInt8>) {
    expectInside(nack.entries, packet)
    expect(nack.entryCount <= VideoNackFrame.maximumEntryCount, "a request has few entries")
    for index in 0..<nack.entryCount {
      guard let entry = nack.entry(index, in: packet) else { continue }
      expect(entry.first <= entry.last, "an entry does not end before it begins")
    }
    expect(nack.entry(nack.entryCount, in: packet) == nil, "there is nothing after the last")
  }

  private static func visitSignal(_ body: Span<UInt8>) {
    if let signal = try? SignalBody(parsing: body) {
      expect(signal.bytes.count <= SignalBody.maximumByteCount + 16, "a body stays small")
    }
  }

  /// What `write` puts into a packet.
  static func bytes(_ write: (inout OutputSpan<UInt8>) -> Void) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(addingCapacity: 1500) { write(&$0) }
    return bytes
  }

  static var frameSeeds: [[UInt8]] {
    let address = SocketAddress(v4: 192, 0, 2, 1, port: 7400)
    let text = Array("bye".utf8)
    let control: [[UInt8]] = [
      bytes { PingFrame(token: 7).write(to: &$0) },
      bytes { PongFrame(token: 7, observed: address).write(to: &$0) },
      bytes { PathChallengeFrame(token: 8).write(to: &$0) },
      bytes { PathResponseFrame(token: 8, observed: address).write(to: &$0) },
      bytes { CreditFrame(total: 131_072).write(to: &$0) },
      bytes { CloseFrame(code: .done).write(text.span, to: &$0) },
      bytes { packet in
        MessageFrame(stream: .callControl, sequence: 3, fragmentIndex: 0, fragmentCount: 2)
          .write(text.span, to: &packet)
      },
      bytes { packet in
        MessageFrame(stream: .rendezvous, sequence: 9, fragmentIndex: 0, fragmentCount: 0)
          .writeAbandoned(sentByteCount: 40, to: &packet)
      },
      bytes { SignalFrame.write(text.span, to: &$0) },
      bytes { EchoRequestFrame(token: 9, source: .otherPort).write(to: &$0) },
      bytes { EchoFrame(token: 9, status: .sent).write(to: &$0) },
      feedbackSeed,
    ]
    let key = VideoMediaFrame(
      number: 9, mediaTime: 70_000, isKeyFrame: true, temporalLayer: 0, references: (0, 0))
    let delta = VideoMediaFrame(
      number: 11, mediaTime: 80_000, isKeyFrame: false, temporalLayer: 2, references: (2, 1))
    var parity = delta
    parity.isParity = true
    parity.lastFragmentIndex = 4
    parity.lastFragmentByteCount = 2
    let video = [key, delta, parity].map { frame in
      bytes { packet in
        frame.writeHeader(to: &packet)
        packet.append(span: text.span)
      }
    }
    let entries = [VideoNackFrame.Entry(number: 10, first: 0, last: 255)]
    let nack = bytes { packet in
      VideoNackFrame.write(wantsKeyFrame: true, newest: 11, entries: entries.span, to: &packet)
    }
    let audio = bytes { packet in
      AudioMediaFrame(length: .milliseconds20, isMarked: true, mediaTime: 99)
        .write(text.span, to: &packet)
    }
    return control + audioSeeds + video + channelFrames + [
      nack, nack + video[0], audio, control.flatMap { $0 } + audio, control[0] + [0, 0, 0, 0],
    ]
  }

  private static var audioSeeds: [[UInt8]] {
    var report = AudioReportFrame()
    report.framesLost = 7
    report.slackMilliseconds = -3
    var request = AudioRequestFrame(length: .milliseconds20)
    for mediaTime in [100, 102, 900] as [UInt16] { _ = request.add(mediaTime: mediaTime) }
    let copies = bytes { packet in
      AudioCopy.writeHeader(.primary, distance: 2, byteCount: 3, isLast: false, to: &packet)
      AudioCopy.writeHeader(.parity, distance: 4, byteCount: 9, isLast: false, to: &packet)
      AudioCopy.writeHeader(.lowRate, distance: 80, byteCount: 300, isLast: true, to: &packet)
      packet.append(repeating: 1, count: 3)
      AudioCopy.writeParityLead(secondDistance: 8, lengths: (6, 4), to: &packet)
      packet.append(repeating: 5, count: 6)
      packet.append(repeating: 1, count: 300)
      packet.append(repeating: 2, count: 20)
    }
    return [
      bytes { packet in
        packet.append(FrameType.audioReport)
        report.writeBody(to: &packet)
      },
      bytes { packet in
        packet.append(FrameType.audioRequest)
        request.writeBody(to: &packet)
      },
      bytes { packet in
        AudioMediaFrame(length: .milliseconds20, isMarked: false, hasCopies: true, mediaTime: 99)
          .write(copies.span, to: &packet)
      },
    ]
  }

  private static var feedbackSeed: [UInt8] {
    bytes { packet in
      FeedbackHeader(epoch: 1, largest: 500, arrival: 70_000, delay: 12, count: 5, hasMarks: true)
        .write(to: &packet)
      for ticks in [4, nil, -3, 9000] as [Int32?] {
        FeedbackEntry.write(ticksBefore: ticks, to: &packet)
      }
      packet.append(0b10001)
    }
  }
}
