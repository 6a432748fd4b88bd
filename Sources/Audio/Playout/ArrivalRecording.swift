/// Everything that a jitter buffer was given, and when: enough to hear again, bit for bit, what a
/// call sounded like, or what it would have sounded like with other settings.
///
/// Holds the audio itself, so it is as private as the call. Format, version 3; numbers are LEB128,
/// signed ones zigzag, times are differences to the time before in nanoseconds:
///
///     "ESAR" · version 1 · channels 1 · records
///     record: kind 1 · fields
///       0 pull            time; 5 ms were given out
///       1 primary         time · media time, difference to the one before · length · payload
///       2 copy            the same, after its distance in steps of 10 ms
///       3 low-rate copy   the same
///       4 retransmission  as a primary
///       5 hold            delay, not a difference
///       6 pause           5 ms were given out without a pull: the sender had muted itself
///       7 unsent          frames that the sender left out before the next primary
///       +8 (1 to 4)       the packet is marked
///
/// In version 1 pulls and pauses were of 10 ms: each is heard as two.
package struct ArrivalRecording: Sendable {
  /// What was taken down and not removed since.
  package private(set) var bytes: [UInt8]
  /// Whether `limit` ended it; what came before is whole.
  package private(set) var isFull = false

  private let limit: Int
  private var removed = 0
  private var time: Int64 = 0
  private var mediaTime: UInt16 = 0

  /// - Parameters:
  ///   - channels: of the jitter buffer.
  ///   - limit: the most bytes to hold; an hour of speech with copies takes about 40 MB.
  package init(channels: Int, limit: Int = 64 << 20) {
    self.limit = limit
    bytes = Self.magic + [Self.version, UInt8(clamping: channels)]
  }

  /// Forgets `bytes`, which the owner has written elsewhere; the recording goes on behind them.
  package mutating func removeBytes() {
    removed += bytes.count
    bytes.removeAll(keepingCapacity: true)
  }

  /// 5 ms were given out that the jitter buffer was not asked for: silence.
  package mutating func pause() { _ = begin(kind: 6, room: 1) }

  mutating func pull(now: Int64) {
    guard begin(kind: 0, room: 11) else { return }
    appendTime(now)
  }

  mutating func hold(_ delay: Int64) {
    guard begin(kind: 5, room: 11) else { return }
    appendSigned(delay)
  }

  mutating func noteUnsent(_ count: UInt64) {
    guard begin(kind: 7, room: 11) else { return }
    append(count)
  }

  mutating func insert(
    _ payload: Span<UInt8>, mediaTime: UInt16, arrival: Int64, origin: PacketOrigin, isMarked: Bool
  ) {
    let kind: UInt8
    var distance: UInt16?
    switch origin {
    case .primary: kind = 1
    case .copy(let steps, let isLowRate):
      kind = isLowRate ? 3 : 2
      distance = steps
    case .retransmission: kind = 4
    }
    guard begin(kind: kind + (isMarked ? Self.mark : 0), room: 32 + payload.count) else { return }
    if let distance { append(UInt64(distance)) }
    appendTime(arrival)
    appendSigned(Int64(Int16(bitPattern: mediaTime &- self.mediaTime)))
    self.mediaTime = mediaTime
    append(UInt64(payload.count))
    for index in payload.indices { bytes.append(payload[index]) }
  }

  private mutating func begin(kind: UInt8, room: Int) -> Bool {
    isFull = isFull || removed + bytes.count + room > limit
    guard !isFull else { return false }
    bytes.append(kind)
    return true
  }

  private mutating func appendTime(_ now: Int64) {
    appendSigned(now &- time)
    time = now
  }

  private mutating func appendSigned(_ value: Int64) {
    append(UInt64(bitPattern: (value &<< 1) ^ (value >> 63)))
  }

  private mutating func append(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  static let magic: [UInt8] = [0x45, 0x53, 0x41, 0x52]
  static let version: UInt8 = 3
  static let mark: UInt8 = 8
}
