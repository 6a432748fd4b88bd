import Primitives
import Wire

/// A first-in-first-out of encoded audio frames between the application's edge and the packets.
///
/// All its memory is made at once: putting a frame in and taking it out allocate nothing. When it
/// is full the oldest frame gives way, because late audio is worth less than new audio.
///
/// Station 5 of the house tour; next is `AudioMediaFrame`.
struct AudioFrameQueue: Sendable {
  /// What is known of a frame besides its bytes.
  struct Entry: BitwiseCopyable, Sendable {
    var byteCount = 0
    var mediaTime: UInt16 = 0
    /// The frame-length code of frames.md §5.
    var lengthCode: UInt8 = 0
    var isMarked = false
    /// Copies of earlier frames stand before the frame's own bytes.
    var hasCopies = false
    var kind = AudioKind.frame
    /// When the packet came in, or when the frame was put in.
    var time = Instant.zero

    /// Whether CONFIRM has room beside it in a packet.
    var leavesRiderRoom: Bool { kind == .frame && byteCount <= 1000 }
    var header: AudioBodyHeader {
      guard kind == .frame else { return AudioBodyHeader(kind) }
      return AudioBodyHeader(
        AudioMediaFrame(
          length: AudioMediaFrame.Length(rawValue: lengthCode) ?? .milliseconds20,
          isMarked: isMarked, hasCopies: hasCopies, mediaTime: mediaTime))
    }
  }

  private let capacity: Int
  private var bytes: [UInt8]
  private var entries: [Entry]
  private var first = 0
  private(set) var count = 0
  /// Frames that gave way to newer ones.
  private(set) var overflowCount = 0

  init(capacity: Int) {
    self.capacity = capacity
    bytes = Array(repeating: 0, count: capacity * Self.slotByteCount)
    entries = Array(repeating: Entry(), count: capacity)
  }

  var isEmpty: Bool { count == 0 }
  var isFull: Bool { count == capacity }

  /// Copies `payload` in; `false` if it is longer than an Opus packet can be.
  mutating func push(_ payload: Span<UInt8>, _ entry: Entry) -> Bool {
    guard payload.count <= Self.slotByteCount else { return false }
    if count == capacity {
      first = (first + 1) % capacity
      count -= 1
      overflowCount += 1
    }
    let slot = (first + count) % capacity
    var kept = entry
    kept.byteCount = payload.count
    entries[slot] = kept
    let start = slot * Self.slotByteCount
    for index in 0..<payload.count { bytes[start + index] = payload[index] }
    count += 1
    return true
  }

  /// The oldest frame, still in the queue.
  var head: Entry? { count == 0 ? nil : entries[first] }

  /// Takes the oldest frame out and appends its bytes to `output`, which must have room.
  @_lifetime(output: copy output)
  mutating func pop(into output: inout OutputSpan<UInt8>) -> Entry? {
    guard count > 0, output.freeCapacity >= entries[first].byteCount else { return nil }
    let entry = entries[first]
    let start = first * Self.slotByteCount
    for index in start..<(start + entry.byteCount) { output.append(bytes[index]) }
    first = (first + 1) % capacity
    count -= 1
    return entry
  }

  /// Shows the oldest entry to `body`, in place, and then removes it; `nil` when there is none.
  mutating func pop<Result>(_ body: (Span<UInt8>, Entry) -> Result) -> Result? {
    guard count > 0 else { return nil }
    let result = body(headBytes, entries[first])
    removeFirst()
    return result
  }

  /// Whether the oldest entry is a frame, and not only copies of earlier ones.
  var isHeadFrame: Bool {
    guard count > 0, entries[first].kind == .frame else { return false }
    guard entries[first].hasCopies else { return true }
    do throws(WireError) {
      return try !AudioBody(headBytes, hasCopies: true).primary.isEmpty
    } catch {
      return false
    }
  }

  /// Where the headers of the oldest frame's copies end; `nil` where there is no room for another.
  var headerEnd: Int? {
    count == 0 ? nil : AudioBody.headerEnd(of: headBytes, hasCopies: entries[first].hasCopies)
  }

  private var headBytes: Span<UInt8> {
    @_lifetime(borrow self)
    get {
      let start = first * Self.slotByteCount
      return bytes.span.extracting(start..<(start + entries[first].byteCount))
    }
  }

  /// Takes the oldest frame out as `pop(into:)` does, and says in it how many frames were not sent.
  ///
  /// - Parameter end: `headerEnd`.
  @_lifetime(output: copy output)
  mutating func pop(
    into output: inout OutputSpan<UInt8>, saying unsentCount: UInt64, behind end: Int
  ) -> Entry? {
    guard count > 0,
      output.freeCapacity >= entries[first].byteCount + AudioBody.unsentCountCost
    else { return nil }
    let entry = entries[first]
    AudioCopy.writeHeader(
      .unsentCount, distance: 1, byteCount: 2, isLast: !entry.hasCopies, to: &output)
    let start = first * Self.slotByteCount
    for index in start..<(start + end) { output.append(bytes[index]) }
    output.append(littleEndian: UInt16(truncatingIfNeeded: unsentCount))
    for index in (start + end)..<(start + entry.byteCount) { output.append(bytes[index]) }
    removeFirst()
    return entry
  }

  /// Drops the oldest frame.
  mutating func removeFirst() {
    guard count > 0 else { return }
    first = (first + 1) % capacity
    count -= 1
  }

  mutating func removeAll() {
    first = 0
    count = 0
  }

  /// An Opus packet is at most 1275 bytes (RFC 6716 §3.2.1).
  static let slotByteCount = 1275
}
