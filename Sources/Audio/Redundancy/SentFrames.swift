/// The frames sent last, as they were first sent and as low-rate copies, for repetition.
///
/// Owns its bytes: nothing here allocates after `init`.
struct SentFrames {
  /// One frame; `sent` says how often it was repeated on request.
  struct Frame {
    var mediaTime: UInt16 = 0
    var length = FrameLength.milliseconds20
    var primaryByteCount = 0
    var lowRateByteCount = 0
    var repetitions = 0
    var isWanted = false
  }

  /// 1.28 s of 20 ms frames: nobody plays anything later than that.
  static let capacity = 64
  private static let slotByteCount = 2 * AudioFormat.maxPayloadByteCount

  private var frames = [Frame](repeating: Frame(), count: Self.capacity)
  private var bytes = [UInt8](repeating: 0, count: Self.capacity * Self.slotByteCount)
  private var count = 0
  private var next = 0
  /// Frames that were asked for and not repeated yet.
  private var wantedCount = 0

  /// Notes a frame; `lowRate` is empty where there is none.
  mutating func add(
    _ primary: [UInt8], _ lowRate: [UInt8], mediaTime: UInt16, length: FrameLength
  ) {
    var frame = Frame(mediaTime: mediaTime, length: length)
    frame.primaryByteCount = min(primary.count, AudioFormat.maxPayloadByteCount)
    frame.lowRateByteCount = min(lowRate.count, AudioFormat.maxPayloadByteCount)
    if frames[next].isWanted { wantedCount -= 1 }
    frames[next] = frame
    let start = next * Self.slotByteCount
    for index in 0..<frame.primaryByteCount { bytes[start + index] = primary[index] }
    let second = start + AudioFormat.maxPayloadByteCount
    for index in 0..<frame.lowRateByteCount { bytes[second + index] = lowRate[index] }
    next = (next + 1) % Self.capacity
    count = min(count + 1, Self.capacity)
  }

  mutating func removeAll() { count = 0 }

  /// Where the frame of `mediaTime` is.
  func slot(mediaTime: UInt16) -> Int? {
    for age in 1..<(count + 1) {
      let slot = (next + Self.capacity - age) % Self.capacity
      if frames[slot].mediaTime == mediaTime { return slot }
    }
    return nil
  }

  subscript(slot: Int) -> Frame {
    get { frames[slot] }
    set {
      wantedCount += (newValue.isWanted ? 1 : 0) - (frames[slot].isWanted ? 1 : 0)
      frames[slot] = newValue
    }
  }

  /// The oldest frame that was asked for and not repeated yet.
  var wanted: Int? {
    guard wantedCount > 0 else { return nil }
    for age in (1..<(count + 1)).reversed() {
      let slot = (next + Self.capacity - age) % Self.capacity
      if frames[slot].isWanted { return slot }
    }
    return nil
  }

  @_lifetime(borrow self)
  func primary(_ slot: Int) -> Span<UInt8> {
    let start = slot * Self.slotByteCount
    return bytes.span.extracting(start..<(start + frames[slot].primaryByteCount))
  }

  @_lifetime(borrow self)
  func lowRate(_ slot: Int) -> Span<UInt8> {
    let start = slot * Self.slotByteCount + AudioFormat.maxPayloadByteCount
    return bytes.span.extracting(start..<(start + frames[slot].lowRateByteCount))
  }
}
