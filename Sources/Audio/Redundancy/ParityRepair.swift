/// Gets lost frames back from parities: the XOR of two packets gives either when the other is there
/// (docs/protocol/frames.md §5.1.1).
///
/// Remembers the last frames as they were first sent, and the parities that still lack both of
/// theirs: a frame that one parity gives may complete another. Nothing here allocates after `init`.
struct ParityRepair: Sendable {
  /// A frame that was had from a parity.
  struct Restored: Equatable, Sendable {
    var mediaTime: UInt16
    fileprivate var slot: Int
  }

  private struct Frame: Sendable, BitwiseCopyable {
    var mediaTime: UInt16 = 0
    /// 0 while the slot is empty.
    var byteCount = 0
  }

  private struct Parity: Sendable, BitwiseCopyable {
    var first: UInt16 = 0
    var second: UInt16 = 0
    var lengthSum: UInt16 = 0
    /// 0 when there is nothing more to be had from it.
    var byteCount = 0
    /// The frames remembered so far when it came.
    var noted: UInt64 = 0
  }

  /// More than any distance that pays: 480 ms of 20 ms frames, and as many parities as may wait for
  /// the same burst to end.
  private static let frameCapacity = 24
  private static let parityCapacity = 12
  private static let slotByteCount = AudioFormat.maxPayloadByteCount

  private var frames = InlineArray<24, Frame>(repeating: Frame())
  private var parities = InlineArray<12, Parity>(repeating: Parity())
  private var nextFrame = 0
  private var nextParity = 0
  private var waiting = 0
  private var noted: UInt64 = 0
  private var bytes = [UInt8](
    repeating: 0, count: (Self.frameCapacity + Self.parityCapacity) * Self.slotByteCount)

  /// Remembers a frame, whose packet is exactly as it was first sent.
  mutating func addFrame(_ payload: Span<UInt8>, mediaTime: UInt16) {
    guard !payload.isEmpty, payload.count <= Self.slotByteCount, slot(mediaTime) == nil else {
      return
    }
    frames[nextFrame] = Frame(mediaTime: mediaTime, byteCount: payload.count)
    let start = nextFrame * Self.slotByteCount
    for index in 0..<payload.count { bytes[start + index] = payload[index] }
    nextFrame = (nextFrame + 1) % Self.frameCapacity
    noted &+= 1
  }

  /// Takes the parity of the frames of `first` and `second`; it takes the place of the oldest.
  mutating func add(
    _ payload: Span<UInt8>, lengthSum: UInt16, of first: UInt16, and second: UInt16
  ) {
    guard !payload.isEmpty, payload.count <= Self.slotByteCount, first != second else { return }
    guard slot(first) == nil || slot(second) == nil else { return }
    if parities[nextParity].byteCount == 0 { waiting += 1 }
    parities[nextParity] = Parity(
      first: first, second: second, lengthSum: lengthSum, byteCount: payload.count, noted: noted)
    let start = Self.start(ofParity: nextParity)
    for index in 0..<payload.count { bytes[start + index] = payload[index] }
    nextParity = (nextParity + 1) % Self.parityCapacity
  }

  /// One more frame that can be had; `nil` when there is none. It is remembered like the others.
  /// Old parities go: the media times that they are about come round.
  mutating func next() -> Restored? {
    guard waiting > 0 else { return nil }
    for index in 0..<Self.parityCapacity where parities[index].byteCount > 0 {
      let parity = parities[index]
      let isOld = noted &- parity.noted > UInt64(Self.frameCapacity)
      let (first, second) = (slot(parity.first), slot(parity.second))
      guard isOld || first != nil || second != nil else { continue }
      parities[index].byteCount = 0
      waiting -= 1
      guard !isOld, let known = first ?? second, first == nil || second == nil else { continue }
      let mediaTime = first == nil ? parity.first : parity.second
      if let restored = restore(mediaTime, from: index, parity, and: known) { return restored }
    }
    return nil
  }

  /// - Returns: `nil` where the lengths do not agree with the bytes.
  private mutating func restore(
    _ mediaTime: UInt16, from index: Int, _ parity: Parity, and known: Int
  ) -> Restored? {
    let other = frames[known].byteCount
    let length = Int(parity.lengthSum) ^ other
    guard (1...parity.byteCount).contains(length), other <= parity.byteCount else { return nil }
    let source = Self.start(ofParity: index)
    let partner = known * Self.slotByteCount
    // The slot to fill may be that of the known frame itself: each byte is read before it is
    // written.
    let start = nextFrame * Self.slotByteCount
    for offset in 0..<length {
      bytes[start + offset] =
        bytes[source + offset] ^ (offset < other ? bytes[partner + offset] : 0)
    }
    let slot = nextFrame
    frames[slot] = Frame(mediaTime: mediaTime, byteCount: length)
    nextFrame = (nextFrame + 1) % Self.frameCapacity
    return Restored(mediaTime: mediaTime, slot: slot)
  }

  /// The Opus packet of what `next` gave last.
  @_lifetime(borrow self)
  func payload(of restored: Restored) -> Span<UInt8> {
    let start = restored.slot * Self.slotByteCount
    return bytes.span.extracting(start..<(start + frames[restored.slot].byteCount))
  }

  private func slot(_ mediaTime: UInt16) -> Int? {
    for index in frames.indices
    where frames[index].byteCount > 0 && frames[index].mediaTime == mediaTime {
      return index
    }
    return nil
  }

  private static func start(ofParity index: Int) -> Int {
    (frameCapacity + index) * slotByteCount
  }
}
