import Primitives
import Wire

/// What parity brings back without asking (docs/protocol/frames.md §10.1).
extension VideoAssembler {
  // MARK: - Keeping

  /// - Returns: `false` if it is of no use.
  mutating func keepParity(
    _ frame: VideoMediaFrame, _ payload: Span<UInt8>, in index: Int, now: Instant
  ) -> Bool {
    let slot = slots[index]
    let last = Int(frame.lastFragmentByteCount)
    guard !slot.isComplete, slot.agrees(with: frame), last <= payload.count,
      frame.fragmentCount > 1 || last == payload.count,
      slot.parityCount == 0
        || slot.parityByteCount == payload.count && slot.lastByteCount == last
    else { return false }
    let place = parityPlace(index, Int(frame.fragmentIndex))
    guard parityPlaces[place] == FragmentStore.none, let kept = store.keep(payload) else {
      return false
    }
    parityPlaces[place] = kept
    if slot.header == nil {
      slots[index].header = frame
      slots[index].firstArrival = now
    }
    slots[index].parityCount += 1
    slots[index].parityByteCount = payload.count
    slots[index].lastByteCount = last
    // It goes after all the others: what is not here now is missing.
    slots[index].highestIndex = frame.fragmentCount
    noticeGap(index, wait: VideoLimits.parityWait, now: now)
    return true
  }

  mutating func releaseParity(_ index: Int) {
    guard slots[index].parityCount > 0 else { return }
    for parity in 0..<VideoMediaFrame.maximumParityCount {
      let place = parityPlace(index, parity)
      store.release(parityPlaces[place])
      parityPlaces[place] = FragmentStore.none
    }
    slots[index].parityCount = 0
  }

  private func parityPlace(_ slot: Int, _ parity: Int) -> Int {
    slot * VideoMediaFrame.maximumParityCount + parity
  }

  // MARK: - Solving

  /// Puts a frame together for which enough has come.
  mutating func recover(_ index: Int, now: Instant) {
    let slot = slots[index]
    guard slot.parityCount > 0, !slot.isComplete, let header = slot.header,
      slot.received + slot.parityCount >= header.fragmentCount
    else { return }
    guard hasRightLengths(index, header), gather(index, header) else {
      // It contradicts the fragments.
      return releaseParity(index)
    }
    guard solver.solve(in: &store) else {
      for number in 0..<solver.count { store.release(solver.solution(number).place) }
      return releaseParity(index)
    }
    for number in 0..<solver.count {
      let (fragment, place) = solver.solution(number)
      if fragment == header.fragmentCount - 1 { store.cut(place, to: slot.lastByteCount) }
      places[index * VideoMediaFrame.maximumFragmentCount + fragment] = place
    }
    slots[index].solved += header.fragmentCount - slot.received
    slots[index].received = header.fragmentCount
    slots[index].byteCount =
      (header.fragmentCount - 1) * slot.parityByteCount + slot.lastByteCount
    statistics.framesRecovered += 1
    complete(index, header, now: now)
  }

  /// All fragments but the last are as long as the parity.
  private func hasRightLengths(_ index: Int, _ header: VideoMediaFrame) -> Bool {
    let slot = slots[index]
    for fragment in 0..<header.fragmentCount where !isMissing(fragment, of: index) {
      let place = places[index * VideoMediaFrame.maximumFragmentCount + fragment]
      let isLast = fragment == header.fragmentCount - 1
      guard store.byteCount(place) == (isLast ? slot.lastByteCount : slot.parityByteCount) else {
        return false
      }
    }
    return true
  }

  /// Hands what is missing, and as much parity, to the solver, and takes out what is there.
  private mutating func gather(_ index: Int, _ header: VideoMediaFrame) -> Bool {
    solver.begin()
    for fragment in 0..<header.fragmentCount where isMissing(fragment, of: index) {
      guard solver.addMissing(fragment) else { return false }
    }
    for parity in 0..<VideoMediaFrame.maximumParityCount {
      let place = parityPlace(index, parity)
      guard parityPlaces[place] != FragmentStore.none,
        solver.addParity(parity, at: parityPlaces[place])
      else { continue }
      // It becomes a fragment.
      parityPlaces[place] = FragmentStore.none
    }
    for fragment in 0..<header.fragmentCount where !isMissing(fragment, of: index) {
      let place = places[index * VideoMediaFrame.maximumFragmentCount + fragment]
      solver.remove(fragment, at: place, in: &store)
    }
    return true
  }

  // MARK: - Waiting

  /// How long a gap within a frame waits before it is asked for.
  func gapWait(now: Instant) -> Duration {
    guard let lastParity, now - lastParity < VideoLimits.parityMemory else {
      return VideoLimits.reordering
    }
    return VideoLimits.parityWait
  }

  /// Something of this frame should have been here; the first request goes after `wait`.
  mutating func noticeGap(_ index: Int, wait: Duration, now: Instant) {
    guard !slots[index].isComplete, slots[index].requests == 0 else { return }
    let due = now + wait
    if slots[index].noticed == nil {
      slots[index].noticed = now
      slots[index].nextRequest = due
    } else {
      slots[index].nextRequest = min(slots[index].nextRequest, due)
    }
  }
}
