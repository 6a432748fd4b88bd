package import Earshot
internal import MediaFiles
internal import Primitives

/// Video in captures: RTP packets with the descriptor of RFC 7741, cut as on the wire.
///
/// What is captured are whole frames: of what came in, those that could be put together. So lost
/// packets do not show as gaps in the sequence numbers, but frames that never came do, in the
/// picture IDs.
extension MediaPCAP {
  package func capture(_ frame: CapturedVideoFrame, payload: [UInt8]) {
    withState { state in
      let packets =
        frame.isOutgoing
        ? state.outgoingVideo.packets(of: frame, payload)
        : state.incomingVideo.packets(of: frame, payload)
      for packet in packets {
        state.write(
          CapturedDatagram(
            time: frame.wallNanoseconds, source: frame.isOutgoing ? frame.local : frame.remote,
            destination: frame.isOutgoing ? frame.remote : frame.local,
            direction: frame.isOutgoing ? .outbound : .inbound, payload: packet))
      }
    }
  }
}

extension MediaPCAP {
  package func capture(_ request: CapturedVideoRequest) {
    withState { state in
      let asker = request.isOutgoing ? state.outgoingVideo.source : state.incomingVideo.source
      let media = request.isOutgoing ? state.incomingVideo : state.outgoingVideo
      var packets: [[UInt8]] = []
      if request.wantsKeyFrame {
        packets.append(RTCPFeedback.pictureLoss(sender: asker, media: media.source))
      }
      let missing = request.frames.flatMap {
        request.isOutgoing ? media.expectedNumbers($0) : media.sequenceNumbers($0)
      }
      if !missing.isEmpty {
        packets.append(
          RTCPFeedback.nack(sender: asker, media: media.source, sequenceNumbers: missing))
      }
      for packet in packets {
        state.write(
          CapturedDatagram(
            time: request.wallNanoseconds,
            source: request.isOutgoing ? request.local : request.remote,
            destination: request.isOutgoing ? request.remote : request.local,
            direction: request.isOutgoing ? .outbound : .inbound, payload: packet))
      }
    }
  }
}

extension MediaPCAP.State {
  /// The reports on video, where there is any. The counts are the capture's own, which has whole
  /// frames: nothing of them is missing. What FEEDBACK says of our packets is of all of them.
  mutating func writeVideo(_ report: CapturedReport, lastReport: UInt64?) {
    let now = report.wallNanoseconds
    let (own, theirs) = (outgoingVideo, incomingVideo)
    guard own.packetCount > 0 || theirs.packetCount > 0 else { return }
    let sent = RTCPReport.Sent(
      wallNanoseconds: now, timestamp: own.timestamp(at: now),
      packetCount: UInt32(truncatingIfNeeded: own.packetCount),
      byteCount: UInt32(truncatingIfNeeded: own.byteCount))
    write(
      CapturedDatagram(
        time: now, source: report.local, destination: report.remote, direction: .outbound,
        payload: RTCPReport(
          source: own.source, name: "here", sent: own.packetCount > 0 ? sent : nil,
          received: theirs.block(fractionLost: 0, lost: 0)
        ).packet))
    let numbers = report.statistics.sent
    guard let fraction = numbers.fractionLost,
      var block = own.block(fractionLost: fraction, lost: numbers.packetsLost ?? 0)
    else { return }
    block.answer(lastReport, report)
    write(
      CapturedDatagram(
        time: now, source: report.remote, destination: report.local, direction: .inbound,
        payload: RTCPReport(source: theirs.source, name: "there", received: block).packet))
  }
}

/// RTP's numbers for one stream of video.
package struct VideoNumbering {
  package let source: UInt32
  /// So far; bytes with the descriptors.
  package private(set) var packetCount = 0
  package private(set) var byteCount = 0
  private var ticks: UInt64 = 0
  private var hasBegun = false
  /// Of the last frame, in nanoseconds since 1970 UTC.
  private var lastWall: UInt64 = 0
  /// The packets of the last frames.
  private var recent: [(frame: UInt16, first: UInt16, count: UInt16)] = []

  package init(source: UInt32) { self.source = source }

  /// Of a frame that is not long ago.
  func sequenceNumbers(_ frame: UInt16) -> [UInt16] {
    guard let entry = recent.last(where: { $0.frame == frame }) else { return [] }
    return (0..<entry.count).map { entry.first &+ $0 }
  }

  /// Of a frame that is not whole yet, and so not in the capture: the number that its first packet
  /// will have, if those before it that are missing as well have one packet each.
  func expectedNumbers(_ frame: UInt16) -> [UInt16] {
    guard let newest = recent.last else { return [UInt16(truncatingIfNeeded: packetCount)] }
    let ahead = frame &- newest.frame &- 1
    guard ahead < UInt16(Self.recentCount) else { return sequenceNumbers(frame) }
    return [UInt16(truncatingIfNeeded: packetCount) &+ ahead]
  }

  /// The RTP timestamp at a moment, reckoned from the last frame.
  func timestamp(at wallNanoseconds: UInt64) -> UInt32 {
    let elapsed = Int64(bitPattern: wallNanoseconds &- lastWall)
    return UInt32(truncatingIfNeeded: ticks &* 900 / 256)
      &+ UInt32(truncatingIfNeeded: elapsed / 1000 &* 90 / 1000)
  }

  /// What is reported of these packets; `nil` before the first.
  func block(fractionLost: Double, lost: Int) -> RTCPReport.Received? {
    guard packetCount > 0 else { return nil }
    return RTCPReport.Received(
      source: source, fractionLost: fractionLost, lost: lost,
      highestSequence: UInt32(truncatingIfNeeded: packetCount - 1), jitter: 0)
  }

  /// The packets of one frame, as even as can be: all but the last have the same length. None ends
  /// just where the first partition does: Wireshark 4.0 calls such a packet malformed, though RFC
  /// 7741 §4.3 recommends it.
  package mutating func packets(of frame: CapturedVideoFrame, _ payload: [UInt8]) -> [[UInt8]] {
    guard !payload.isEmpty else { return [] }
    unwrap(frame.mediaTime)
    let count = (payload.count + frame.fragmentByteCount - 1) / frame.fragmentByteCount
    var size = (payload.count + count - 1) / count
    if count > 1, size == Self.firstPartitionEnd(payload) {
      size += size < frame.fragmentByteCount ? 1 : -1
    }
    lastWall = frame.wallNanoseconds
    let first = UInt16(truncatingIfNeeded: packetCount)
    let packets = stride(from: 0, to: payload.count, by: size).map { start in
      let end = min(start + size, payload.count)
      let descriptor = VP8Descriptor(
        pictureID: frame.number, temporalLayer: frame.temporalLayer,
        isNonReference: frame.temporalLayer > 0, isStart: start == 0)
      let header = RTPMapping.video(
        mediaTicks: ticks, sequenceNumber: UInt16(truncatingIfNeeded: packetCount),
        source: source, isLast: end == payload.count)
      let body = descriptor.bytes + payload[start..<end]
      packetCount += 1
      byteCount += body.count
      return header.packet(body.span)
    }
    if recent.count == Self.recentCount { recent.removeFirst() }
    recent.append((frame.number, first, UInt16(clamping: packets.count)))
    return packets
  }

  /// Where a frame's second partition begins (RFC 6386 §9.1); `nil` for what is no frame.
  private static func firstPartitionEnd(_ frame: [UInt8]) -> Int? {
    guard frame.count > 10 else { return nil }
    let tag = Int(frame[0]) | Int(frame[1]) << 8 | Int(frame[2]) << 16
    return tag >> 5 + (frame[0] & 1 == 0 ? 10 : 3)
  }

  /// Frames that can be asked for again are not older.
  private static let recentCount = 64

  /// Media time wraps at 24 bits.
  private mutating func unwrap(_ mediaTime: UInt32) {
    guard hasBegun else {
      hasBegun = true
      ticks = UInt64(mediaTime)
      return
    }
    let step = (mediaTime &- UInt32(truncatingIfNeeded: ticks)) & 0xFF_FFFF
    let signed = step < 0x80_0000 ? Int64(step) : Int64(step) - 0x100_0000
    ticks = ticks &+ UInt64(bitPattern: signed)
  }
}
