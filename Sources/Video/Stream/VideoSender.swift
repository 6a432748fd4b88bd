package import Primitives
package import Wire

/// A sender's half of a video stream: numbers encoded frames, cuts them into fragments, keeps them
/// for a while to send parts again, and decides on key frames.
///
/// It does not pace: its owner asks for a fragment when the path has room for one. Nothing here
/// allocates per fragment.
package struct VideoSender: Sendable {
  package private(set) var statistics = VideoSendStatistics()
  /// 0, or 1 for the low stream beside it.
  private let stream: UInt8
  /// Bytes of a fragment of the frames to come: fewer on a slow path, where a long packet would
  /// hold up the audio.
  package var mostFragmentByteCount = VideoMediaFrame.payloadByteCounts.upperBound {
    didSet {
      let range = VideoMediaFrame.payloadByteCounts
      mostFragmentByteCount = min(max(mostFragmentByteCount, range.lowerBound), range.upperBound)
    }
  }
  /// The most that the path carries: longer ones are not sent again.
  private var longestFragment = VideoMediaFrame.payloadByteCounts.upperBound
  /// How much parity the frames to come get.
  package var parity = ParityPolicy()
  private var slots = [SentFrame](repeating: SentFrame(), count: VideoLimits.frames)
  /// When each fragment was sent last, in ms of the first frame's clock, by slot and index.
  private var sentAt = [UInt32](
    repeating: 0, count: VideoLimits.frames * VideoMediaFrame.maximumFragmentCount)
  private var repairs = RetransmissionQueue(capacity: VideoLimits.retransmissions)
  private var gate = KeyFrameGate()
  /// Frames of which something was asked for again, for whoever captures it.
  private var requestedFrames: [UInt16] = []
  private var origin: Instant?
  private var keptByteCount = 0
  private var meanByteCount = 0.0
  /// The number of the next frame; those before `unsent` have been sent or left out.
  private var next: Int64 = 0
  private var unsent: Int64 = 0
  private var oldest: Int64 = 0
  /// What was left out was needed.
  private var hasBroken = false
  /// A VIDEO frame takes no more than this.
  private static let largestFrame =
    VideoMediaFrame.parityHeaderByteCount + VideoMediaFrame.payloadByteCounts.upperBound

  package init(stream: UInt8 = 0) {
    self.stream = stream
    requestedFrames.reserveCapacity(VideoNackFrame.maximumEntryCount)
  }

  // MARK: - Inputs

  /// Takes an encoded frame; `bytes` comes back with other memory, to be used again.
  ///
  /// - Returns: its number; `nil` if it is too long to be sent, or needs one that was left out.
  @discardableResult
  package mutating func handle(
    _ frame: EncodedFrame, bytes: inout [UInt8], mediaTime: UInt32, now: Instant
  ) -> UInt16? {
    statistics.framesEncoded += 1
    statistics.qpSum += Int(frame.quantizer)
    if frame.isKeyFrame { statistics.keyFramesEncoded += 1 }
    guard !bytes.isEmpty, bytes.count <= VideoLimits.frameByteCount,
      frame.isKeyFrame || !hasBroken
    else {
      statistics.framesDiscarded += 1
      hasBroken = true
      return nil
    }
    let number = UInt16(truncatingIfNeeded: next)
    if frame.isKeyFrame {
      hasBroken = false
      gate.handleMade(number: number, now: now)
    }
    noteSize(frame)
    let header = VideoMediaFrame(
      stream: stream, number: number, mediaTime: mediaTime, isKeyFrame: frame.isKeyFrame,
      temporalLayer: frame.temporalLayer,
      references: (frame.baseDistance, frame.otherDistance))
    makeRoom(for: bytes.count)
    let index = slotIndex(next)
    slots[index].begin(
      header, number: next, bytes: &bytes, most: mostFragmentByteCount, now: now)
    slots[index].parityCount = parity.count(
      fragments: slots[index].fragmentCount, byteCount: slots[index].bytes.count,
      isKeyFrame: frame.isKeyFrame, temporalLayer: frame.temporalLayer)
    keptByteCount += slots[index].bytes.count
    next += 1
    return number
  }

  /// Takes a VIDEO_NACK.
  package mutating func handle(
    _ nack: VideoNackFrame, in packet: Span<UInt8>, roundTrip: Duration, now: Instant
  ) {
    if nack.wantsKeyFrame {
      statistics.pliCount += 1
      gate.handleRequest(newest: nack.newest, now: now)
    }
    if nack.entryCount > 0 { statistics.nackCount += 1 }
    for place in 0..<nack.entryCount {
      guard let entry = nack.entry(place, in: packet) else { continue }
      noteRequested(entry.number)
      repair(entry, roundTrip: roundTrip, now: now)
    }
  }

  /// Video is no longer sent: what waits is left out, and a key frame comes first when it is again.
  package mutating func discardWaiting() {
    while unsent < next { discard() }
    hasBroken = true
  }

  /// The path carries fragments of so many bytes, and none longer.
  package mutating func limitFragments(to byteCount: Int) {
    if byteCount < longestFragment { discardWaiting() }
    longestFragment = byteCount
  }

  // MARK: - Outputs

  /// Whether the encoder must make the next frame a key frame.
  package mutating func pollKeyFrame(now: Instant) -> Bool {
    let isAsked = gate.poll(now: now)
    return isAsked || hasBroken
  }

  /// Writes the oldest fragment that has not been sent, or of parity when all of its frame have
  /// been; it ends the packet.
  @_lifetime(packet: copy packet)
  package mutating func pollFragment(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> Bool {
    discardStale(now: now)
    guard unsent < next, packet.freeCapacity >= Self.largestFrame else { return false }
    let index = slotIndex(unsent)
    if slots[index].isWhole {
      writeParity(index, into: &packet)
      return true
    }
    let fragment = slots[index].sentCount
    slots[index].write(fragment, isRetransmission: false, to: &packet)
    noteSent(index, fragment, now: now)
    slots[index].sentCount += 1
    statistics.packetsSent += 1
    statistics.bytesSent += slots[index].fragmentRange(fragment).count
    if slots[index].isWhole { statistics.framesSent += 1 }
    skipSent()
    return true
  }

  @_lifetime(packet: copy packet)
  private mutating func writeParity(_ index: Int, into packet: inout OutputSpan<UInt8>) {
    slots[index].writeParity(to: &packet)
    statistics.fecPacketsSent += 1
    statistics.fecBytesSent += slots[index].fragmentByteCount
    skipSent()
  }

  /// Writes a fragment that was asked for again; it ends the packet.
  @_lifetime(packet: copy packet)
  package mutating func pollRetransmission(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> Bool {
    guard packet.freeCapacity >= Self.largestFrame else { return false }
    while let repair = repairs.pop() {
      let index = slotIndex(repair.number)
      // It may have made room for newer ones meanwhile.
      guard slots[index].number == repair.number, !slots[index].bytes.isEmpty,
        slots[index].fragmentRange(Int(repair.fragment)).count <= longestFragment
      else { continue }
      slots[index].write(Int(repair.fragment), isRetransmission: true, to: &packet)
      noteSent(index, Int(repair.fragment), now: now)
      statistics.retransmittedPacketsSent += 1
      statistics.retransmittedBytesSent += slots[index].fragmentRange(Int(repair.fragment)).count
      return true
    }
    return false
  }

  /// Writes a fragment of the newest frame again, though nobody asked; it ends the packet.
  ///
  /// - Returns: `false` when all of it has been repeated, or something waits that was never sent.
  @_lifetime(packet: copy packet)
  package mutating func pollRepetition(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> Bool {
    guard unsent == next, next > oldest, packet.freeCapacity >= Self.largestFrame else {
      return false
    }
    let index = slotIndex(next - 1)
    let fragment = slots[index].repeatedCount
    guard fragment < slots[index].sentCount,
      slots[index].fragmentRange(fragment).count <= longestFragment
    else { return false }
    slots[index].repeatedCount += 1
    slots[index].write(fragment, isRetransmission: true, to: &packet)
    noteSent(index, fragment, now: now)
    statistics.repeatedPacketsSent += 1
    statistics.repeatedBytesSent += slots[index].fragmentRange(fragment).count
    return true
  }

  // MARK: - Getters

  package var hasFragment: Bool { unsent < next }
  package var hasRetransmission: Bool { !repairs.isEmpty }

  /// Bytes that have not been sent, without headers.
  package var queuedByteCount: Int {
    var sum = 0
    for number in unsent..<next { sum += slots[slotIndex(number)].unsentByteCount }
    return sum
  }

  /// How long the oldest frame that is not whole on its way has waited.
  package func queueDelay(now: Instant) -> Duration {
    unsent < next ? now - slots[slotIndex(unsent)].queued : .zero
  }

  // MARK: - Frames

  private func slotIndex(_ number: Int64) -> Int { Int(number & Int64(VideoLimits.frames - 1)) }

  /// More than `VideoLimits.sendDelay` behind: upper layers are left out one by one; a frame of
  /// layer 0 takes all that wait with it, and a key frame follows.
  private mutating func discardStale(now: Instant) {
    while unsent < next {
      let frame = slots[slotIndex(unsent)]
      guard frame.sentCount == 0, now - frame.queued > VideoLimits.sendDelay else { return }
      if frame.header?.temporalLayer == 0 {
        while unsent < next { discard() }
        hasBroken = true
      } else {
        discard()
      }
    }
  }

  /// Leaves out the oldest frame that is not sent.
  private mutating func discard() {
    let index = slotIndex(unsent)
    guard !slots[index].isWhole else {
      // Only parity is left of it.
      slots[index].parityCount = slots[index].paritySentCount
      unsent += 1
      return
    }
    keptByteCount -= slots[index].bytes.count
    slots[index].clear()
    statistics.framesDiscarded += 1
    unsent += 1
  }

  private mutating func skipSent() {
    while unsent < next, slots[slotIndex(unsent)].isSent { unsent += 1 }
  }

  /// Gives up the oldest frames that are kept, also such as wait to be sent if there must be.
  private mutating func makeRoom(for byteCount: Int) {
    while oldest < next,
      next - oldest >= Int64(VideoLimits.frames)
        || keptByteCount + byteCount > VideoLimits.sentByteCount
    {
      if oldest >= unsent, !slots[slotIndex(oldest)].isWhole {
        hasBroken = hasBroken || slots[slotIndex(oldest)].header?.temporalLayer == 0
        discard()
      } else {
        keptByteCount -= slots[slotIndex(oldest)].bytes.count
        slots[slotIndex(oldest)].clear()
        unsent = max(unsent, oldest + 1)
      }
      oldest += 1
    }
  }

  private mutating func noteSize(_ frame: EncodedFrame) {
    let size = Double(frame.byteCount)
    if meanByteCount > 0, size > 2.5 * meanByteCount { statistics.hugeFramesSent += 1 }
    meanByteCount += (size - meanByteCount) / (meanByteCount == 0 ? 1 : 30)
  }

  // MARK: - Repair

  /// Frames of which something was asked for since this was last called; at most 32.
  package mutating func takeRequestedFrames() -> [UInt16] {
    let frames = requestedFrames
    requestedFrames.removeAll(keepingCapacity: true)
    return frames
  }

  private mutating func noteRequested(_ number: UInt16) {
    guard requestedFrames.last != number,
      requestedFrames.count < VideoNackFrame.maximumEntryCount
    else { return }
    requestedFrames.append(number)
  }

  private mutating func repair(
    _ entry: VideoNackFrame.Entry, roundTrip: Duration, now: Instant
  ) {
    let back = UInt16(truncatingIfNeeded: next &- 1) &- entry.number
    let number = next - 1 - Int64(back)
    guard number >= oldest, number < next else { return }
    let index = slotIndex(number)
    guard slots[index].number == number, slots[index].sentCount > 0 else { return }
    let last = min(Int(entry.last), slots[index].sentCount - 1)
    guard Int(entry.first) <= last else { return }
    let wait = roundTrip.milliseconds * 7 / 8
    for fragment in Int(entry.first)...last {
      let place = index * VideoMediaFrame.maximumFragmentCount + fragment
      guard Int64(milliseconds(now)) - Int64(sentAt[place]) >= wait else { continue }
      guard repairs.push(.init(number: number, fragment: UInt8(fragment))) else { return }
      // Counted from here, so that one that waits is not queued twice.
      sentAt[place] = milliseconds(now)
    }
  }

  private mutating func noteSent(_ index: Int, _ fragment: Int, now: Instant) {
    if origin == nil { origin = now }
    sentAt[index * VideoMediaFrame.maximumFragmentCount + fragment] = milliseconds(now)
  }

  private func milliseconds(_ now: Instant) -> UInt32 {
    UInt32(truncatingIfNeeded: now.nanoseconds(since: origin ?? now) / 1_000_000)
  }
}
