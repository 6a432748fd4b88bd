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

/// RTP's numbers for one stream of video.
package struct VideoNumbering {
  package let source: UInt32
  private var sequence: UInt16 = 0
  private var ticks: UInt64 = 0
  private var hasBegun = false

  package init(source: UInt32) { self.source = source }

  /// The packets of one frame, as even as can be: all but the last have the same length.
  package mutating func packets(of frame: CapturedVideoFrame, _ payload: [UInt8]) -> [[UInt8]] {
    guard !payload.isEmpty else { return [] }
    unwrap(frame.mediaTime)
    let count = (payload.count + frame.fragmentByteCount - 1) / frame.fragmentByteCount
    let size = (payload.count + count - 1) / count
    return stride(from: 0, to: payload.count, by: size).map { start in
      let end = min(start + size, payload.count)
      let descriptor = VP8Descriptor(
        pictureID: frame.number, temporalLayer: frame.temporalLayer,
        isNonReference: frame.temporalLayer > 0, isStart: start == 0)
      let header = RTPMapping.video(
        mediaTicks: ticks, sequenceNumber: sequence, source: source,
        isLast: end == payload.count)
      sequence &+= 1
      let body = descriptor.bytes + payload[start..<end]
      return header.packet(body.span)
    }
  }

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
