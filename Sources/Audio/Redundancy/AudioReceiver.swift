package import Primitives
package import Wire

/// One stream of audio on its way in: takes packets' bodies apart, hands every frame and copy to
/// the jitter buffer with its origin, asks for what is missing, and says when the sender must know
/// how it goes (docs/protocol/frames.md §5). Nothing here allocates.
package struct AudioReceiver: ~Copyable {
  package var buffer: JitterBuffer
  /// Frames whose own packet was missing when a copy, or a repetition, brought them.
  package private(set) var framesRepairedByCopies: UInt64 = 0
  package private(set) var framesRepairedByRetransmissions: UInt64 = 0
  /// Round trip to the sender in milliseconds; `nil` while it is not known, and nothing is asked
  /// for.
  package var roundTripMilliseconds: Int?
  /// What sound is to be held at the least so that it does not run ahead of its picture, in
  /// nanoseconds beyond the fastest packet; of it 200 ms count.
  package var leastDelay: Int64 = 0

  private var missing = MissingFrames()
  private var parities = ParityRepair()
  /// The farthest copy in use, in steps of 10 ms, and how many packets ago it was seen.
  private var copyDistance = 0
  private var lastGap: Instant?
  private var packetsSinceFarthest = 0
  /// Whether a frame was missing in the ten seconds before the newest packet.
  private var isLossRecent = false
  private var lastReport: (time: Instant, lost: UInt64, expected: UInt64)?
  private var lastLoss: Instant?
  /// Frames that the sender has said it left out, mod 2^16.
  private var unsentCount: UInt16 = 0

  package init(channels: Int) throws(OpusError) { buffer = try JitterBuffer(channels: channels) }

  package var framesRequested: UInt64 { missing.framesRequested }

  /// Takes the body of one AUDIO frame.
  ///
  /// - Parameter arrival: when the kernel received its packet.
  package mutating func receive(
    _ body: Span<UInt8>, _ frame: AudioMediaFrame, arrival: Instant
  ) {
    let parts: AudioBody
    do throws(WireError) {
      parts = try AudioBody(body, hasCopies: frame.hasCopies)
    } catch {
      return  // Checked when its packet was read, and counted there.
    }
    if let count = parts.unsentCount { noteUnsent(count) }
    // The frame itself first: only it says that those before it are missing.
    if !parts.primary.isEmpty {
      let isAfterGap = missing.notePrimary(
        mediaTime: frame.mediaTime, steps: frame.length.mediaTimeSteps, isMarked: frame.isMarked,
        arrival: arrival)
      if isAfterGap { lastGap = arrival }
      buffer.insert(
        body.bytes(at: parts.primary), mediaTime: frame.mediaTime, arrival: arrival,
        origin: .primary, isMarked: frame.isMarked)
      parities.addFrame(body.bytes(at: parts.primary), mediaTime: frame.mediaTime)
    }
    holdForCopies(parts, now: arrival)
    for index in 0..<parts.copyCount {
      let copy = parts.copy(index)
      insert(copy, body.bytes(at: copy.payload), of: frame, arrival: arrival)
    }
    restore(in: frame, arrival: arrival)
  }

  /// Frames that the sender has left out so far; a packet that was overtaken says a little less.
  private mutating func noteUnsent(_ count: UInt16) {
    let new = count &- unsentCount
    guard (1..<(.max - Self.unsentOvertaken)).contains(new) else { return }
    unsentCount = count
    buffer.noteUnsent(UInt64(new))
  }

  /// What all parities so far and all frames so far give beside them.
  private mutating func restore(in frame: AudioMediaFrame, arrival: Instant) {
    while let restored = parities.next() {
      if missing.noteRepair(mediaTime: restored.mediaTime) { framesRepairedByCopies += 1 }
      let steps = frame.mediaTime &- restored.mediaTime
      Self.insert(
        restored, of: parities, .copy(steps: steps, isLowRate: false), arrival, into: &buffer)
    }
  }

  private static func insert(
    _ restored: ParityRepair.Restored, of parities: borrowing ParityRepair,
    _ origin: PacketOrigin, _ arrival: Instant, into buffer: inout JitterBuffer
  ) {
    buffer.insert(
      parities.payload(of: restored), mediaTime: restored.mediaTime, arrival: arrival,
      origin: origin)
  }

  /// While frames get lost, every frame must wait for the farthest copy: known from the first
  /// packet that has copies, not from the first one that was needed.
  private mutating func holdForCopies(_ parts: AudioBody, now: Instant) {
    var farthest = 0
    for index in 0..<parts.copyCount {
      let copy = parts.copy(index)
      guard copy.coding != .retransmission, copy.coding != .unsentCount else { continue }
      farthest = max(farthest, Int(copy.distance), Int(copy.secondDistance))
    }
    packetsSinceFarthest += 1
    if farthest >= copyDistance || packetsSinceFarthest > Self.packetsToForget {
      copyDistance = farthest
      packetsSinceFarthest = 0
    }
    isLossRecent = lastGap.map { now.nanoseconds(since: $0) < Self.quiet } ?? false
    let copies = isLossRecent ? Int64(copyDistance) * AudioFormat.stepNanoseconds : 0
    buffer.hold(atLeast: max(copies, leastDelay))
  }

  private mutating func insert(
    _ copy: AudioCopy, _ payload: Span<UInt8>, of frame: AudioMediaFrame, arrival: Instant
  ) {
    let mediaTime = frame.mediaTime &- UInt16(copy.distance)
    let origin: PacketOrigin
    switch copy.coding {
    case .primary: origin = .copy(steps: UInt16(copy.distance), isLowRate: false)
    case .lowRate: origin = .copy(steps: UInt16(copy.distance), isLowRate: true)
    case .retransmission:
      origin = .retransmission
    case .parity:
      parities.add(
        payload, lengthSum: copy.lengthSum, of: mediaTime,
        and: frame.mediaTime &- UInt16(copy.secondDistance))
      return
    case .other, .unsentCount: return
    }
    if copy.coding != .lowRate { parities.addFrame(payload, mediaTime: mediaTime) }
    if missing.noteRepair(mediaTime: mediaTime) {
      if copy.coding == .retransmission {
        framesRepairedByRetransmissions += 1
      } else {
        framesRepairedByCopies += 1
      }
    }
    buffer.insert(payload, mediaTime: mediaTime, arrival: arrival, origin: origin)
  }

  /// How many pulls need no packet that may still come; 0 where frames are lost, as each one that
  /// is missing must be asked for at once.
  var certainPullCount: Int { isLossRecent ? 0 : buffer.certainPullCount }

  /// What to ask the sender for; `nil` for nothing. Call it after what has arrived was taken.
  package mutating func pollRequest(now: Instant) -> AudioRequestFrame? {
    guard let roundTripMilliseconds, missing.count > 0 else { return nil }
    let slack = Int(buffer.report.slackMilliseconds)
    return missing.poll(
      roundTrip: roundTripMilliseconds + Self.answerMilliseconds, slack: slack, now: now)
  }

  /// The report that is due; `nil` for none. One follows the first loss at once; then they go every
  /// 200 ms while there is loss, and every second after ten seconds without any.
  package mutating func pollReport(now: Instant) -> AudioReportFrame? {
    let counts = (
      expected: buffer.arrivals.ledger.framesExpected, lost: buffer.arrivals.ledger.framesLost
    )
    guard counts.expected > 0 else { return nil }
    guard let last = lastReport else { return makeReport(buffer.report, now) }
    let isLossNew = counts.lost > last.lost
    let age = now.nanoseconds(since: last.time)
    let wasQuiet = lastLoss.map { now.nanoseconds(since: $0) > Self.quiet } ?? true
    if isLossNew { lastLoss = now }
    // In the first seconds nobody knows the path yet.
    let isYoung = counts.expected < Self.youngFrames
    let isCalm = wasQuiet && !isYoung
    let interval = isLossNew && isCalm ? 0 : isCalm ? Self.longInterval : Self.shortInterval
    guard age >= interval, counts.expected > last.expected else { return nil }
    return makeReport(buffer.report, now)
  }

  private mutating func makeReport(_ report: ReceptionReport, _ now: Instant) -> AudioReportFrame {
    lastReport = (now, report.framesLost, report.framesExpected)
    var frame = AudioReportFrame()
    frame.framesExpected = UInt16(truncatingIfNeeded: report.framesExpected)
    frame.framesLost = UInt16(truncatingIfNeeded: report.framesLost)
    frame.lossBursts = UInt16(truncatingIfNeeded: report.lossBursts)
    frame.framesUnrepaired = UInt16(truncatingIfNeeded: report.framesUnrepaired)
    frame.longestBurst = UInt8(clamping: report.longestBurst)
    frame.slackMilliseconds = report.slackMilliseconds
    frame.targetDelayMilliseconds = report.targetDelayMilliseconds
    frame.jitterMilliseconds = UInt8(clamping: report.jitterMilliseconds)
    return frame
  }

  private static let unsentOvertaken: UInt16 = 1024
  private static let youngFrames = 150
  private static let packetsToForget = 25
  private static let quiet: UInt64 = 10_000_000_000
  private static let longInterval: UInt64 = 1_000_000_000
  private static let shortInterval: UInt64 = 200_000_000
  /// How long the sender waits for its next packet, on average, and both sides for their threads.
  private static let answerMilliseconds = 15
}
