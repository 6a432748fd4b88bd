package import Earshot
package import MediaFiles
internal import Primitives
internal import Reactor
internal import Synchronization
internal import Wire

/// What `--pcap` asks for: the decrypted media as RTP and RTCP that Wireshark reads, in pcapng
/// (docs/protocol/frames.md §2, §5).
package final class MediaPCAP: MediaCapture {
  private let state: Mutex<State>

  struct State: ~Copyable {
    var writer: PCAPNGWriter?
    /// Until the file has its name, with the first datagram.
    var pending: PendingFile?
    var outgoing = RTPNumbering(source: 0x4553_0001)
    var incoming = RTPNumbering(source: 0x4553_0002)
    var outgoingVideo = VideoNumbering(source: 0x4553_0003)
    var incomingVideo = VideoNumbering(source: 0x4553_0004)
    /// When our last sender report went, in nanoseconds since 1970 UTC.
    var lastReport: UInt64?
    var lastFlush: UInt64 = 0
    var fault: String?
  }

  /// Makes the file ready; it is there with the first datagram.
  package init(_ path: String, overwrites: Bool = false) throws(MediaFileError) {
    let pending = try PendingFile.open(path, overwrites: overwrites)
    var writer = PCAPNGWriter(owning: try pending.descriptor(), path)
    // The header at once: a file with nothing in it is no capture.
    try writer.flush()
    state = Mutex(State(writer: consume writer, pending: pending))
  }

  /// What ended the capture, in a sentence.
  package var fault: String? { state.withLock { $0.fault } }

  func withState(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

  package func capture(_ frame: CapturedFrame, payload: [UInt8]) {
    state.withLock { state in
      let header =
        frame.isOutgoing
        ? state.outgoing.next(frame, payload) : state.incoming.next(frame, payload)
      state.write(
        CapturedDatagram(
          time: frame.wallNanoseconds, source: frame.isOutgoing ? frame.local : frame.remote,
          destination: frame.isOutgoing ? frame.remote : frame.local,
          direction: frame.isOutgoing ? .outbound : .inbound,
          payload: header.packet(payload.span)))
    }
  }

  package func capture(_ report: CapturedReport) {
    state.withLock { state in
      let lastReport = state.lastReport
      let theirs = state.theirReport(report)
      let own = state.ownReport(report)
      state.write(
        CapturedDatagram(
          time: report.wallNanoseconds, source: report.local, destination: report.remote,
          direction: .outbound, payload: own.packet))
      if let theirs {
        state.write(
          CapturedDatagram(
            time: report.wallNanoseconds, source: report.remote, destination: report.local,
            direction: .inbound, payload: theirs.packet))
      }
      state.writeVideo(report, lastReport: lastReport)
    }
  }

  package func finish() {
    state.withLock { state in
      defer { state.pending = nil }
      guard var writer = state.writer.take() else { return }
      do throws(MediaFileError) {
        try writer.close()
      } catch {
        state.fault = error.description
      }
    }
  }
}

extension MediaPCAP.State {
  mutating func write(_ datagram: CapturedDatagram) {
    do throws(MediaFileError) {
      try writer?.write(datagram)
      if datagram.time &- lastFlush > 1_000_000_000 {
        lastFlush = datagram.time
        try writer?.flush()
      }
      if writer != nil, let text = pending.take()?.placed() { fault = text }
    } catch {
      fault = error.description
      writer = nil
    }
  }

  /// What we sent, and what we received of what the capture has.
  mutating func ownReport(_ report: CapturedReport) -> RTCPReport {
    let now = report.wallNanoseconds
    lastReport = now
    return RTCPReport(
      source: outgoing.source, name: "here",
      sent: RTCPReport.Sent(
        wallNanoseconds: now, timestamp: outgoing.timestamp(at: now),
        packetCount: UInt32(truncatingIfNeeded: report.statistics.sent.packetsSent),
        byteCount: UInt32(truncatingIfNeeded: report.statistics.sent.bytesSent)),
      received: incoming.takeBlock(jitterMs: report.statistics.received.jitterMs))
  }

  /// What the other side says of our frames, or FEEDBACK of our packets while it has not; `nil`
  /// before there was any. Its delay since our report is
  /// put so that whoever reckons the round trip from it (RFC 3550 §6.4.1) finds the measured one.
  func theirReport(_ report: CapturedReport) -> RTCPReport? {
    let sent = report.statistics.sent
    guard let fractionLost = sent.fractionLost, outgoing.packetCount > 0 else { return nil }
    let remote = report.statistics.audio?.remote
    var block = RTCPReport.Received(
      source: outgoing.source, fractionLost: remote?.fractionLost ?? fractionLost,
      lost: remote?.packetsLost ?? sent.packetsLost ?? 0,
      highestSequence: outgoing.highestSequence,
      jitter: UInt32(max(0, min(1e6, (remote?.jitter ?? 0) * 48_000))))
    block.answer(lastReport, report)
    return RTCPReport(source: incoming.source, name: "there", received: block)
  }
}

extension RTCPReport.Received {
  /// Puts the times so that they give the round trip that was measured.
  mutating func answer(_ sent: UInt64?, _ report: CapturedReport) {
    guard let sent, let trip = report.statistics.currentRttMs else { return }
    let seconds = Double(report.wallNanoseconds &- sent) / 1e9 - trip / 1000
    guard seconds >= 0, seconds < 3600 else { return }
    lastReport = RTCPReport.middle(of: RTCPReport.networkTime(wallNanoseconds: sent))
    delay = UInt32(seconds * 65_536)
  }
}

/// RTP sequence numbers for frames that have none on our wire: they follow from the media time, so
/// that what was lost is missing in the capture too.
package struct RTPNumbering {
  package let source: UInt32
  /// Frames so far.
  package private(set) var packetCount = 0
  /// Extended by its wraps, from 0.
  private var sequence = 0
  private var highest = 0
  private var mediaStep: UInt32 = 0
  /// Of the last frame, in steps of 10 ms.
  private var length: Int64 = 2
  /// Of the last frame, in nanoseconds since 1970 UTC.
  private var lastWall: UInt64 = 0
  /// Expected and received up to the last report block.
  private var reported = (expected: 0, received: 0)

  package init(source: UInt32) { self.source = source }

  package mutating func next(_ frame: CapturedFrame, _ payload: [UInt8]) -> RTPMapping {
    let pause = Self.longPause(from: lastWall, to: frame.wallNanoseconds)
    let expected = UInt16(truncatingIfNeeded: mediaStep &+ UInt32(bitPattern: pause))
    let step = pause &+ Int32(Int16(bitPattern: frame.mediaTime &- expected))
    let isFirst = packetCount == 0
    if isFirst {
      mediaStep = UInt32(frame.mediaTime)
    } else if frame.isMarked {
      // After silence: time has passed, but no frame is missing.
      sequence += 1
      mediaStep = mediaStep &+ UInt32(bitPattern: step)
    } else {
      sequence += Self.advance(by: Int64(step), from: length, to: Int64(Self.steps(in: payload)))
      mediaStep = mediaStep &+ UInt32(bitPattern: step)
    }
    length = Int64(Self.steps(in: payload))
    highest = max(highest, sequence)
    packetCount += 1
    lastWall = frame.wallNanoseconds
    return RTPMapping.audio(
      mediaStep: mediaStep, sequenceNumber: UInt16(truncatingIfNeeded: sequence), source: source,
      isMarked: frame.isMarked || isFirst)
  }

  /// In steps of 10 ms, where it was so long that media time may have wrapped; else 0.
  private static func longPause(from earlier: UInt64, to later: UInt64) -> Int32 {
    guard earlier > 0, later > earlier, (60...86_400).contains((later - earlier) / 1_000_000_000)
    else { return 0 }
    return Int32((later - earlier) / 10_000_000)
  }

  /// How many numbers further a frame is whose media time is `step` after the last one's; negative
  /// for one that was overtaken. The same rule as the statistics have.
  private static func advance(by step: Int64, from before: Int64, to after: Int64) -> Int {
    guard step > 0 else { return Int(step / max(1, after)) }
    return 1
      + Int(AudioGap.framesMissing(step: step, before: before, after: after, isMarked: false))
  }

  package var highestSequence: UInt32 { UInt32(truncatingIfNeeded: highest) }

  /// The RTP timestamp at a moment, reckoned from the last frame.
  package func timestamp(at wallNanoseconds: UInt64) -> UInt32 {
    let elapsed = Int64(bitPattern: wallNanoseconds &- lastWall)
    return mediaStep &* 480 &+ UInt32(truncatingIfNeeded: elapsed / 1000 &* 48 / 1000)
  }

  /// What came of these frames since the last block (RFC 3550 A.3); `nil` before the first.
  package mutating func takeBlock(jitterMs: Double) -> RTCPReport.Received? {
    guard packetCount > 0 else { return nil }
    let expected = highest + 1
    let expectedNow = expected - reported.expected
    let lostNow = expectedNow - (packetCount - reported.received)
    reported = (expected, packetCount)
    return RTCPReport.Received(
      source: source,
      fractionLost: expectedNow > 0 ? max(0, Double(lostNow) / Double(expectedNow)) : 0,
      lost: expected - packetCount, highestSequence: highestSequence,
      jitter: UInt32(max(0, min(1e6, jitterMs * 48))))
  }

  /// Tens of milliseconds in an Opus packet (RFC 6716 §3.1), at least one.
  package static func steps(in payload: [UInt8]) -> Int {
    guard let first = payload.first else { return 2 }
    let size = Int(first >> 3 & 3)
    let isHybridOrSILK = first >> 3 < 16
    let tenths: Int
    if first >> 3 < 12 {
      tenths = [100, 200, 400, 600][size]
    } else if isHybridOrSILK {
      tenths = [100, 200][size & 1]
    } else {
      tenths = [25, 50, 100, 200][size]
    }
    let frames: Int
    switch first & 3 {
    case 0: frames = 1
    case 1, 2: frames = 2
    default: frames = payload.count > 1 ? Int(payload[1] & 0x3F) : 1
    }
    return max(1, tenths * frames / 100)
  }
}
