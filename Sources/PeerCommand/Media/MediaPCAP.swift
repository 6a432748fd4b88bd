package import Earshot
package import MediaFiles
internal import Primitives
internal import Synchronization

/// What `--pcap` asks for: the decrypted media as RTP that Wireshark reads, in pcapng.
package final class MediaPCAP: MediaCapture {
  private let state: Mutex<State>

  private struct State: ~Copyable {
    var writer: PCAPNGWriter?
    var outgoing = RTPNumbering(source: 0x4553_0001)
    var incoming = RTPNumbering(source: 0x4553_0002)
    var lastFlush: UInt64 = 0
    var fault: String?
  }

  package init(_ path: String) throws(MediaFileError) {
    var writer = try PCAPNGWriter(path)
    // The header at once: a file with nothing in it is no capture.
    try writer.flush()
    state = Mutex(State(writer: consume writer))
  }

  /// What ended the capture, in a sentence.
  package var fault: String? { state.withLock { $0.fault } }

  package func capture(_ frame: CapturedFrame, payload: [UInt8]) {
    state.withLock { state in
      let header =
        frame.isOutgoing
        ? state.outgoing.next(frame, payload) : state.incoming.next(frame, payload)
      let packet = CapturedDatagram(
        time: frame.wallNanoseconds, source: frame.isOutgoing ? frame.local : frame.remote,
        destination: frame.isOutgoing ? frame.remote : frame.local,
        direction: frame.isOutgoing ? .outbound : .inbound, payload: header.packet(payload.span))
      do throws(MediaFileError) {
        try state.writer?.write(packet)
        if frame.wallNanoseconds &- state.lastFlush > 1_000_000_000 {
          state.lastFlush = frame.wallNanoseconds
          try state.writer?.flush()
        }
      } catch {
        state.fault = error.description
        state.writer = nil
      }
    }
  }

  package func finish() {
    state.withLock { state in
      guard var writer = state.writer.take() else { return }
      do throws(MediaFileError) {
        try writer.close()
      } catch {
        state.fault = error.description
      }
    }
  }
}

/// RTP sequence numbers for frames that have none on our wire: they follow from the media time, so
/// that what was lost is missing in the capture too.
package struct RTPNumbering {
  private let source: UInt32
  private var sequence: UInt16 = 0
  private var mediaStep: UInt32 = 0
  private var hasBegun = false

  package init(source: UInt32) { self.source = source }

  package mutating func next(_ frame: CapturedFrame, _ payload: [UInt8]) -> RTPMapping {
    let step = Int16(bitPattern: frame.mediaTime &- UInt16(truncatingIfNeeded: mediaStep))
    if !hasBegun {
      mediaStep = UInt32(frame.mediaTime)
    } else if frame.isMarked {
      // After silence: time has passed, but no frame is missing.
      sequence &+= 1
      mediaStep = mediaStep &+ UInt32(bitPattern: Int32(step))
    } else {
      let frames = Int(step) / Self.steps(in: payload)
      sequence = sequence &+ UInt16(truncatingIfNeeded: frames)
      mediaStep = mediaStep &+ UInt32(bitPattern: Int32(step))
    }
    defer { hasBegun = true }
    return RTPMapping.audio(
      mediaStep: mediaStep, sequenceNumber: sequence, source: source,
      isMarked: frame.isMarked || !hasBegun)
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
