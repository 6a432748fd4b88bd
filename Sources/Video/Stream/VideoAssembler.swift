package import Primitives
package import Wire

/// Puts fragments together to frames and gives out those that can be decoded, in order.
///
/// A frame is given out when it is whole and the frames that it refers to have been given out
/// (docs/decisions/0013); so a decoder never sees one whose references are missing. What is
/// missing is asked for again while that can help (`VideoAssembler+Repair.swift`), and a key frame
/// when it cannot. A frame of an upper layer holds up the next one only for a moment. Nothing here
/// allocates but `poll`, where `output` is too small.
package struct VideoAssembler: Sendable {
  /// From the path's estimate; says how soon asking again makes sense.
  package var roundTrip = Duration.milliseconds(100)
  /// 0, or 1 for the low stream beside it.
  let stream: UInt8
  package internal(set) var statistics = VideoReceiveStatistics()

  var slots = [FrameSlot](repeating: FrameSlot(), count: VideoLimits.frames)
  /// For each slot, where its fragments are.
  var places = [UInt16](
    repeating: FragmentStore.none, count: VideoLimits.frames * VideoMediaFrame.maximumFragmentCount)
  /// The same of parity.
  var parityPlaces = [UInt16](
    repeating: FragmentStore.none, count: VideoLimits.frames * VideoMediaFrame.maximumParityCount)
  var solver = ParitySolver()
  /// When parity last came.
  var lastParity: Instant?
  var store = FragmentStore(
    capacity: VideoLimits.fragments,
    slotByteCount: VideoMediaFrame.payloadByteCounts.upperBound)
  private var unwrapper = SequenceUnwrapper()
  /// The highest number of which a fragment has come.
  var newest: Int64?
  /// The last number that was given out or passed by.
  var last: Int64 = -1
  /// The number given out last at each place, by which a reference is known to be there.
  private var decoded = [Int64](repeating: -1, count: VideoLimits.frames)
  /// Until a key frame is given out nothing else is.
  private var needsKeyFrame = true
  /// The sender has stopped for now, and nothing has come since.
  private var isPaused = false
  var requester = KeyFrameRequester()
  /// Since when something has been here that could not be given out.
  var blockedSince: Instant?
  var entries: [VideoNackFrame.Entry] = []
  /// Frames of which something was asked for again, for whoever captures it.
  var requestedFrames: [UInt16] = []

  package init(stream: UInt8 = 0) {
    self.stream = stream
    entries.reserveCapacity(VideoNackFrame.maximumEntryCount)
    requestedFrames.reserveCapacity(VideoNackFrame.maximumEntryCount)
  }

  // MARK: - Inputs

  /// Takes one VIDEO frame.
  package mutating func handle(_ frame: VideoMediaFrame, _ payload: Span<UInt8>, now: Instant) {
    statistics.lastPacketReceived = now
    if frame.isParity { return handleParity(frame, payload, now: now) }
    let number = unwrapper.unwrap(frame.number)
    let slot = slot(for: number, now: now)
    let isNew =
      slot.map {
        slots[$0].agrees(with: frame)
          && places[place($0, frame.fragmentIndex)] == FragmentStore.none
      } ?? false
    if frame.isRetransmission, !isNew {
      // Senders repeat what they can, asked or not.
      statistics.repeatedPacketsReceived += 1
      return
    }
    statistics.packetsReceived += 1
    statistics.bytesReceived += payload.count
    if frame.isRetransmission { statistics.retransmittedPacketsReceived += 1 }
    guard let slot, isNew else {
      statistics.packetsDiscarded += 1
      return
    }
    guard let kept = store.keep(payload) else {
      statistics.packetsDiscarded += 1
      return reset(at: number, now: now)
    }
    places[place(slot, frame.fragmentIndex)] = kept
    appendPart(frame, payload.count, in: slot, now: now)
    recover(slot, now: now)
  }

  private mutating func handleParity(
    _ frame: VideoMediaFrame, _ payload: Span<UInt8>, now: Instant
  ) {
    statistics.fecPacketsReceived += 1
    statistics.fecBytesReceived += payload.count
    lastParity = now
    guard let slot = slot(for: unwrapper.unwrap(frame.number), now: now),
      keepParity(frame, payload, in: slot, now: now)
    else {
      statistics.fecPacketsDiscarded += 1
      return
    }
    if needsKeyFrame, !frame.isKeyFrame { requester.want(now: now) }
    recover(slot, now: now)
  }

  /// The decoder could not use a frame: only a key frame helps.
  package mutating func handleDecodeFailure(now: Instant) {
    needsKeyFrame = true
    for index in decoded.indices { decoded[index] = -1 }
    requester.want(now: now)
  }

  /// The sender says that it stops for now: what waited there was left out, and is not lost.
  package mutating func handlePause() {
    isPaused = true
    for index in slots.indices where !slots[index].isComplete { slots[index].isLeftOut = true }
  }

  // MARK: - Outputs

  /// The next frame to decode, whose bytes replace those of `output`.
  package mutating func poll(into output: inout [UInt8], now: Instant) -> AssembledFrame? {
    guard let number = nextNumber(now: now) else {
      noteBlocked(now: now)
      return nil
    }
    let index = slotIndex(number)
    let slot = slots[index]
    guard let header = slot.header, let completed = slot.completed else { return nil }
    output.removeAll(keepingCapacity: true)
    output.append(addingCapacity: slot.byteCount) { bytes in
      for fragment in 0..<header.fragmentCount {
        store.append(places[index * VideoMediaFrame.maximumFragmentCount + fragment], to: &bytes)
      }
    }
    pass(through: number)
    decoded[index] = number
    blockedSince = nil
    if header.isKeyFrame {
      needsKeyFrame = false
      requester.satisfy(now: now)
    }
    return AssembledFrame(
      number: header.number, isKeyFrame: header.isKeyFrame, temporalLayer: header.temporalLayer,
      mediaTime: header.mediaTime, byteCount: slot.byteCount, firstArrival: slot.firstArrival,
      completed: completed)
  }

  /// Fragments held at present.
  package var fragmentCount: Int { store.count }

  // MARK: - Order

  /// Which frame to give out, if any.
  private func nextNumber(now: Instant) -> Int64? {
    guard let newest, newest > last else { return nil }
    var isHopeful = false
    for number in (last + 1)...newest {
      let slot = slots[slotIndex(number)]
      if slot.isComplete, isDecodable(slot) {
        return !isHopeful || now >= giveOutTime(slot) ? number : nil
      }
      isHopeful = isHopeful || !isLost(slot)
    }
    return nil
  }

  /// When a frame no longer waits for those before it, none of which it needs.
  func giveOutTime(_ slot: FrameSlot) -> Instant {
    let repair = roundTrip + VideoLimits.reordering
    let isWorthWaiting = repair <= VideoLimits.patience && slot.header?.isKeyFrame == false
    let wait = isWorthWaiting ? repair : VideoLimits.reordering
    return (slot.completed ?? .zero) + wait
  }

  func isDecodable(_ slot: FrameSlot) -> Bool {
    guard let header = slot.header else { return false }
    if header.isKeyFrame { return true }
    return !needsKeyFrame && wasGivenOut(slot.number - Int64(header.baseDistance))
      && (header.otherDistance == 0 || wasGivenOut(slot.number - Int64(header.otherDistance)))
  }

  /// Whether it refers to a frame that never comes any more.
  func isLost(_ slot: FrameSlot) -> Bool {
    guard let header = slot.header, !header.isKeyFrame else { return false }
    if needsKeyFrame { return true }
    return isLost(slot.number, back: header.baseDistance)
      || isLost(slot.number, back: header.otherDistance)
  }

  private func isLost(_ number: Int64, back distance: UInt8) -> Bool {
    let reference = number - Int64(distance)
    return distance > 0 && reference <= last && !wasGivenOut(reference)
  }

  private func wasGivenOut(_ number: Int64) -> Bool {
    number >= 0 && decoded[slotIndex(number)] == number
  }

  /// Empties the slots up to `number`, the last of which is given out.
  private mutating func pass(through number: Int64) {
    // After a long silence only the slots themselves need be looked at.
    let first = max(last + 1, number - Int64(VideoLimits.frames) + 1)
    for passed in first...number { empty(slotIndex(passed), passed) }
    if last >= 0 { statistics.framesDropped += Int(number - last - 1) }
    last = number
  }

  // MARK: - Slots

  func slotIndex(_ number: Int64) -> Int { Int(number & Int64(VideoLimits.frames - 1)) }

  private func place(_ slot: Int, _ fragment: UInt8) -> Int {
    slot * VideoMediaFrame.maximumFragmentCount + Int(fragment)
  }

  func isMissing(_ fragment: Int, of slot: Int) -> Bool {
    places[slot * VideoMediaFrame.maximumFragmentCount + fragment] == FragmentStore.none
  }

  /// The slot of a frame that may still be given out; makes room for it.
  private mutating func slot(for number: Int64, now: Instant) -> Int? {
    if newest == nil {
      newest = number - 1
      last = number - 1
    }
    guard number > last, let newest else { return nil }
    if number - last > Int64(VideoLimits.frames) { reset(at: number, now: now) }
    if number > newest { extend(to: number, now: now) }
    return slotIndex(number)
  }

  /// Newer frames have come: what is not here of those before is missing.
  private mutating func extend(to number: Int64, now: Instant) {
    let first = max(newest ?? 0, last + 1)
    let isOutage = number - first > Int64(VideoLimits.gap)
    if isOutage { requester.want(now: now) }
    for passed in first..<number {
      let index = slotIndex(passed)
      if slots[index].number != passed {
        slots[index] = FrameSlot()
        slots[index].number = passed
        slots[index].isLeftOut = isPaused
        if isOutage { slots[index].requests = VideoLimits.requests }
      }
      noticeGap(index, wait: VideoLimits.reordering, now: now)
    }
    slots[slotIndex(number)] = FrameSlot()
    slots[slotIndex(number)].number = number
    newest = number
    isPaused = false
  }

  private mutating func appendPart(
    _ frame: VideoMediaFrame, _ byteCount: Int, in index: Int, now: Instant
  ) {
    var slot = slots[index]
    if slot.header == nil {
      slot.header = frame
      slot.firstArrival = now
    }
    let fragment = Int(frame.fragmentIndex)
    let hasGap = fragment > slot.highestIndex + 1
    slot.highestIndex = max(slot.highestIndex, fragment)
    slot.received += 1
    if frame.isRetransmission { slot.receivedAgain += 1 }
    slot.byteCount += byteCount
    slots[index] = slot
    if slot.received == frame.fragmentCount { complete(index, frame, now: now) }
    if hasGap { noticeGap(index, wait: gapWait(now: now), now: now) }
    if needsKeyFrame, !frame.isKeyFrame { requester.want(now: now) }
  }

  mutating func complete(_ index: Int, _ frame: VideoMediaFrame, now: Instant) {
    slots[index].completed = now
    statistics.framesReceived += 1
    if frame.isKeyFrame { statistics.keyFramesReceived += 1 }
    if frame.fragmentCount > 1 { statistics.framesAssembledFromMultiplePackets += 1 }
    releaseParity(index)
  }

  private mutating func empty(_ index: Int, _ number: Int64) {
    guard slots[index].number >= 0, slots[index].number <= number else { return }
    countLost(slots[index])
    if let header = slots[index].header {
      let start = index * VideoMediaFrame.maximumFragmentCount
      for place in start..<(start + header.fragmentCount) {
        store.release(places[place])
        places[place] = FragmentStore.none
      }
      releaseParity(index)
    }
    slots[index] = FrameSlot()
  }

  private mutating func countLost(_ slot: FrameSlot) {
    let missing = slot.isLeftOut ? 0 : slot.missingCount
    statistics.packetsLost += missing + slot.receivedAgain + slot.solved
    statistics.packetsRecoveredByRetransmission += slot.receivedAgain
    statistics.packetsRecoveredByFec += slot.solved
  }

  /// Throws away all there is: the stream goes on at `number`, with a key frame.
  private mutating func reset(at number: Int64, now: Instant) {
    for index in slots.indices { empty(index, .max) }
    if last >= 0 { statistics.framesDropped += max(0, Int(number - last - 1)) }
    last = number - 1
    newest = number - 1
    needsKeyFrame = true
    blockedSince = nil
    statistics.resetCount += 1
    requester.want(now: now)
  }
}
