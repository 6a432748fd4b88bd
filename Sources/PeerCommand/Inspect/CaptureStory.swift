package import MediaFiles
package import Primitives
internal import Wire

/// What is in a capture: its RTP streams with loss and jitter, and our own packets by kind.
package struct CaptureStory {
  package static let maxStreams = 64

  package private(set) var streams: [RTPStream] = []
  package private(set) var skipped = 0
  private var kinds: [String: Int] = [:]
  private var datagrams = 0
  private var streamsLeftOut = 0
  private var first: UInt64?
  private var last: UInt64 = 0

  package init(_ path: String) throws(MediaFileError) {
    var reader = try PCAPNGReader(path)
    while let datagram = try reader.next() { appendDatagram(datagram) }
    skipped = reader.packetsSkipped
  }

  private mutating func appendDatagram(_ datagram: CapturedDatagram) {
    datagrams += 1
    first = min(first ?? datagram.time, datagram.time)
    last = max(last, datagram.time)
    if let (header, start) = RTPMapping.parse(datagram.payload.span),
      case .foreign = Demultiplexer.classify(datagram.payload.span)
    {
      appendPacket(header, datagram, byteCount: datagram.payload.count - start)
      return
    }
    kinds[Self.kind(datagram.payload), default: 0] += 1
  }

  private mutating func appendPacket(
    _ header: RTPMapping, _ datagram: CapturedDatagram, byteCount: Int
  ) {
    let index = streams.firstIndex {
      $0.source == header.source && $0.from == datagram.source && $0.to == datagram.destination
    }
    if let index {
      streams[index].append(header, at: datagram.time, byteCount: byteCount)
    } else if streams.count < Self.maxStreams {
      var stream = RTPStream(
        source: header.source, from: datagram.source, to: datagram.destination,
        payloadType: header.payloadType)
      stream.append(header, at: datagram.time, byteCount: byteCount)
      streams.append(stream)
    } else {
      streamsLeftOut += 1
    }
  }

  private static func kind(_ payload: [UInt8]) -> String {
    switch Demultiplexer.classify(payload.span) {
    case .sealed: "DATA (sealed)"
    case .control(let type):
      PacketExplanation.name(type).split(separator: ":").first.map(String.init) ?? ""
    case .foreign: payload.count >= 8 && payload[0] >> 6 == 2 ? "RTCP" : "something else"
    }
  }

  /// The story in lines.
  package var text: String {
    let seconds = Double(last &- (first ?? last)) / 1e9
    var lines = ["\(datagrams) datagrams in \(Wording.decimal(seconds)) s"]
    if skipped > 0 { lines.append("\(skipped) packets are not UDP, or were cut: skipped") }
    for stream in streams { lines.append(stream.text) }
    if streamsLeftOut > 0 {
      lines.append("\(streamsLeftOut) packets of streams beyond \(Self.maxStreams): left out")
    }
    for (kind, count) in kinds.sorted(by: { $0.key < $1.key }) {
      lines.append("\(count) × \(kind)")
    }
    return lines.joined(separator: "\n")
  }
}

/// One RTP stream: what arrived, what is missing, how evenly (RFC 3550 §6.4.1, A.1, A.8).
package struct RTPStream: Equatable, Sendable {
  package let source: UInt32
  package let from: SocketAddress
  package let to: SocketAddress
  package let payloadType: UInt8
  package private(set) var packets = 0
  package private(set) var bytes = 0
  package private(set) var duplicates = 0
  package private(set) var reordered = 0
  /// Interarrival jitter in milliseconds.
  package private(set) var jitterMs = 0.0
  private var lowest: Int64 = 0
  private var highest: Int64 = 0
  private var firstTime: UInt64 = 0
  private var lastTime: UInt64 = 0
  private var lastTransit: Int64?
  /// Of the 64 numbers up to the highest one, which were seen.
  private var seen: UInt64 = 0

  package init(source: UInt32, from: SocketAddress, to: SocketAddress, payloadType: UInt8) {
    self.source = source
    self.from = from
    self.to = to
    self.payloadType = payloadType
  }

  package mutating func append(_ header: RTPMapping, at time: UInt64, byteCount: Int) {
    let isFirst = packets == 0
    let step = Int16(
      bitPattern: header.sequenceNumber &- UInt16(truncatingIfNeeded: highest))
    let number = isFirst ? Int64(header.sequenceNumber) : highest + Int64(step)
    if isFirst {
      (lowest, highest, firstTime, seen) = (number, number, time, 1)
    } else if number > highest {
      let distance = number - highest
      seen = distance < 64 ? seen << UInt64(distance) | 1 : 1
      highest = number
    } else {
      let distance = highest - number
      if distance < 64, seen >> UInt64(distance) & 1 == 1 {
        duplicates += 1
        return
      }
      if distance < 64 { seen |= 1 << UInt64(distance) }
      reordered += 1
      lowest = min(lowest, number)
    }
    packets += 1
    bytes += byteCount
    lastTime = max(lastTime, time)
    measure(header, at: time)
  }

  private mutating func measure(_ header: RTPMapping, at time: UInt64) {
    // Arrival in ticks of the stream's clock, as a difference that may wrap.
    let kilohertz = Double(clockKilohertz)
    let ticks = Int64(bitPattern: (time &- firstTime) / 1000) &* clockKilohertz / 1000
    let transit = ticks &- Int64(header.timestamp)
    defer { lastTransit = transit }
    // The mark of sound comes after a pause; that of video ends each frame.
    guard let lastTransit, isVideo || !header.isMarked else { return }
    let change = Double(Int32(truncatingIfNeeded: transit &- lastTransit)).magnitude / kilohertz
    jitterMs += (change - jitterMs) / 16
  }

  private var isVideo: Bool { payloadType == VP8Descriptor.payloadType }
  private var clockKilohertz: Int64 { isVideo ? 90 : 48 }

  /// Packets missing between the first and the last.
  package var lost: Int { max(0, Int(clamping: highest - lowest + 1) - packets) }

  package var text: String {
    let all = packets + lost
    let seconds = Double(lastTime &- firstTime) / 1e9
    let rate = seconds > 0 ? Double(bytes) * 8 / seconds : 0
    let isOpus = payloadType == RTPMapping.opusPayloadType
    let codec = isOpus ? "Opus" : isVideo ? "VP8" : "type \(payloadType)"
    var text = "RTP 0x\(String(source, radix: 16)), \(codec), \(from) to \(to): "
    text += "\(packets) packets in \(Wording.decimal(seconds)) s, \(Wording.bitrate(rate)), "
    text += "lost \(lost) of \(all) (\(Wording.percent(all == 0 ? 0 : Double(lost) / Double(all))))"
    text += ", jitter \(Wording.milliseconds(jitterMs))"
    if reordered > 0 { text += ", \(reordered) out of order" }
    if duplicates > 0 { text += ", \(duplicates) twice" }
    return text
  }
}
