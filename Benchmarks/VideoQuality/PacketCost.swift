import AllocationCounter
import Primitives
import Video
import Wire

/// The sender's and the receiver's half with frames of 6000 bytes and no codec: what a packet
/// costs, and how often the heap was asked, once everything has its size.
enum PacketCost {
  static func table() -> String {
    """
    | parity | packets | frames out | ns a packet, both ends | allocations |
    | --- | --- | --- | --- | --- |

    """ + row(hasParity: false) + row(hasParity: true)
  }

  private static func row(hasParity: Bool) -> String {
    var line = Line()
    if hasParity {
      line.sender.parity.update(.init(loss: 0.02, run: 1, roundTrip: .milliseconds(300)))
    }
    for _ in 0..<200 { line.carryFrame() }
    let allocations = allocation_total()
    let before = VideoQualityProgram.threadNanoseconds()
    let packets = line.packetCount
    for _ in 0..<5000 { line.carryFrame() }
    let spent = VideoQualityProgram.threadNanoseconds() - before
    let allocated = allocation_total() - allocations
    let count = line.packetCount - packets
    let cells = ["\(count)", "\(line.frameCount)", "\(spent / UInt64(count))", "\(allocated)"]
    return "| \(hasParity ? "yes" : "no") | " + cells.joined(separator: " | ") + " |\n"
  }

  private struct Line {
    var sender = VideoSender()
    var assembler = VideoAssembler()
    var pattern = TemporalPattern(layerCount: 3)
    var bytes = [UInt8](repeating: 5, count: 6000)
    var packet: [UInt8] = []
    var frame: [UInt8] = []
    var now = Instant(nanoseconds: 1_000_000_000)
    var packetCount = 0
    var frameCount = 0

    init() { packet.reserveCapacity(1200) }

    mutating func carryFrame() {
      now = now + .milliseconds(33)
      let place = pattern.place(isKeyFrame: packetCount == 0)
      pattern.advance(past: place)
      let encoded = EncodedFrame(
        isKeyFrame: packetCount == 0, size: VideoLadder.usual.box, place: place, quantizer: 9,
        byteCount: 6000)
      for _ in bytes.count..<6000 { bytes.append(5) }
      sender.handle(encoded, bytes: &bytes, mediaTime: 3, now: now)
      while sender.hasFragment {
        fill(.fragment)
        packetCount += 1
        // One in fifty is lost and sent again.
        if packetCount % 50 != 7 { deliver() }
      }
      repair()
      while assembler.poll(into: &frame, now: now) != nil { frameCount += 1 }
    }

    private enum Content { case fragment, retransmission, request }

    /// The next packet of this kind, in the memory of the one before.
    private mutating func fill(_ content: Content) {
      var bytes: [UInt8] = []
      swap(&bytes, &packet)
      bytes.removeAll(keepingCapacity: true)
      bytes.append(addingCapacity: 1200) { output in
        switch content {
        case .fragment: _ = sender.pollFragment(into: &output, now: now)
        case .retransmission: _ = sender.pollRetransmission(into: &output, now: now)
        case .request: _ = assembler.pollRequest(into: &output, now: now)
        }
      }
      swap(&bytes, &packet)
    }

    private mutating func deliver() {
      let bytes = packet
      var reader = FrameReader(bytes.span)
      guard case .video(let video, let payload)? = try? reader.next() else { return }
      assembler.handle(video, bytes.span.bytes(at: payload), now: now)
    }

    private mutating func repair() {
      assembler.roundTrip = .milliseconds(20)
      fill(.request)
      answer()
      while sender.hasRetransmission {
        fill(.retransmission)
        deliver()
      }
    }

    private mutating func answer() {
      let bytes = packet
      var reader = FrameReader(bytes.span)
      if case .videoNack(let nack)? = try? reader.next() {
        sender.handle(nack, in: bytes.span, roundTrip: .milliseconds(20), now: now)
      }
    }
  }
}
