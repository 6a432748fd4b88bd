package import Primitives
import Wire

/// What a receiver asks for: fragments again, and key frames (docs/protocol/frames.md §11).
extension VideoAssembler {
  /// Writes a VIDEO_NACK if there is something to ask for now.
  @_lifetime(packet: copy packet)
  package mutating func pollRequest(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> Bool {
    let most =
      VideoNackFrame.headerByteCount
      + VideoNackFrame.maximumEntryCount * VideoNackFrame.Entry.byteCount
    guard packet.freeCapacity >= most else { return false }
    giveUpIfBlocked(now: now)
    collect(now: now)
    let wantsKeyFrame = requester.poll(roundTrip: roundTrip, now: now)
    guard wantsKeyFrame || !entries.isEmpty else { return false }
    let newest = newest.map { UInt16(truncatingIfNeeded: $0) }
    VideoNackFrame.write(
      stream: stream, wantsKeyFrame: wantsKeyFrame, newest: newest, entries: entries.span,
      to: &packet)
    if !entries.isEmpty { statistics.nackCount += 1 }
    if wantsKeyFrame { statistics.pliCount += 1 }
    return true
  }

  /// When to call `poll` or `pollRequest` next, if nothing arrives.
  package var nextDeadline: Instant? {
    var deadline = requester.nextDeadline
    if let blockedSince, !requester.isWanted {
      deadline = earliest(deadline, blockedSince + blockedLimit)
    }
    guard let newest, newest > last else { return deadline }
    for number in (last + 1)...newest {
      let slot = slots[slotIndex(number)]
      if slot.isComplete {
        if isDecodable(slot) { deadline = earliest(deadline, giveOutTime(slot)) }
      } else if mayAsk(for: slot) {
        deadline = earliest(deadline, slot.nextRequest)
      }
    }
    return deadline
  }

  /// Something is here but nothing can be given out.
  mutating func noteBlocked(now: Instant) {
    guard let newest, newest > last else {
      blockedSince = nil
      return
    }
    // A frame that is still coming in is no reason to worry.
    let isBlocked = newest > last + 1 || slots[slotIndex(newest)].noticed != nil
    if isBlocked { blockedSince = blockedSince ?? now }
  }

  private var blockedLimit: Duration { VideoLimits.blocked + roundTrip * 5 / 2 }

  private mutating func giveUpIfBlocked(now: Instant) {
    guard let newest, newest > last else { return }
    if let blockedSince, now - blockedSince >= blockedLimit { requester.want(now: now) }
    // Nothing can bring back what this frame, the next in order, refers to.
    if isLost(slots[slotIndex(last + 1)]), newestKeyFrame == nil { requester.want(now: now) }
  }

  private mutating func collect(now: Instant) {
    entries.removeAll(keepingCapacity: true)
    guard let newest, newest > last else { return }
    // A key frame that has begun to come makes everything before it worthless.
    let first = max(last + 1, newestKeyFrame ?? 0)
    for number in first...newest {
      let index = slotIndex(number)
      guard mayAsk(for: slots[index]), now >= slots[index].nextRequest else { continue }
      guard add(index, isNewest: number == newest) else { continue }
      noteRequested(UInt16(truncatingIfNeeded: number))
      slots[index].requests += 1
      slots[index].nextRequest = now + roundTrip + VideoLimits.reordering * 2
    }
  }

  /// Frames of which something was asked for since this was last called; at most 32.
  package mutating func takeRequestedFrames() -> [UInt16] {
    let frames = requestedFrames
    requestedFrames.removeAll(keepingCapacity: true)
    return frames
  }

  private mutating func noteRequested(_ number: UInt16) {
    guard requestedFrames.count < VideoNackFrame.maximumEntryCount else { return }
    requestedFrames.append(number)
  }

  private func mayAsk(for slot: FrameSlot) -> Bool {
    guard slot.number >= 0, !slot.isComplete, slot.noticed != nil,
      slot.requests < VideoLimits.requests
    else { return false }
    guard let header = slot.header, header.temporalLayer > 0 else { return true }
    // Nothing waits for it longer than that.
    return roundTrip + VideoLimits.reordering <= VideoLimits.patience
  }

  /// Adds the gaps of a frame.
  ///
  /// - Returns: whether there was room for at least one.
  private mutating func add(_ index: Int, isNewest: Bool) -> Bool {
    let slot = slots[index]
    let number = UInt16(truncatingIfNeeded: slot.number)
    guard let header = slot.header else {
      return append(VideoNackFrame.Entry(number: number, first: 0, last: .max))
    }
    // Of the newest frame the rest may be on its way.
    let end = isNewest ? slot.highestIndex : header.fragmentCount
    var isAdded = false
    var fragment = 0
    while fragment < end {
      guard isMissing(fragment, of: index) else {
        fragment += 1
        continue
      }
      let first = fragment
      while fragment < end, isMissing(fragment, of: index) { fragment += 1 }
      let entry = VideoNackFrame.Entry(
        number: number, first: UInt8(first), last: UInt8(fragment - 1))
      guard append(entry) else { return isAdded }
      isAdded = true
    }
    return isAdded
  }

  private mutating func append(_ entry: VideoNackFrame.Entry) -> Bool {
    guard entries.count < VideoNackFrame.maximumEntryCount else { return false }
    entries.append(entry)
    return true
  }

  private var newestKeyFrame: Int64? {
    guard let newest, newest > last else { return nil }
    return ((last + 1)...newest).last { slots[slotIndex($0)].header?.isKeyFrame == true }
  }
}
