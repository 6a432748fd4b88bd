import Primitives

/// What an entry beside the audio of a call is: the pipelines of the two ends talk to each other
/// through it, and nothing between them looks inside.
package enum AudioKind: UInt8, BitwiseCopyable, Sendable {
  /// The body of an AUDIO frame.
  case frame = 0
  /// The body of an AUDIO_REPORT.
  case report = 1
  /// The body of an AUDIO_REQUEST.
  case request = 2
}

/// A first-in-first-out of encoded audio frames between the application's edge and the packets.
///
/// All its memory is made at once: putting a frame in and taking it out allocate nothing. When it
/// is full the oldest frame gives way, because late audio is worth less than new audio.
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
