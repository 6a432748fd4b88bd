import Primitives
package import Wire

/// The newest sealed frames of one host, for as long as copies of them are worth something. All
/// memory is made at once.
package struct FrameRing {
  package struct Entry: BitwiseCopyable {
    package fileprivate(set) var number: UInt32 = 0
    package fileprivate(set) var label = ChannelAudioLabel(
      length: .milliseconds20, isMarked: false, mediaTime: 0, level: 127)
    package fileprivate(set) var byteCount = 0
    /// The number of the frame in whose packet this one came as a copy; 0 = it came by itself.
    var recoveredWith: UInt32 = 0
  }

  private let capacity: Int
  private var entries: [Entry]
  private var bytes: [UInt8]
  /// Of the newest frame; the first is 1.
  package private(set) var newest: UInt32 = 0

  package init(capacity: Int) {
    self.capacity = max(1, capacity)
    entries = Array(repeating: Entry(), count: self.capacity)
    bytes = Array(repeating: 0, count: self.capacity * Self.slotByteCount)
  }

  package subscript(number: UInt32) -> Entry? {
    let entry = entries[Int(number) % capacity]
    return entry.number == number && number != 0 ? entry : nil
  }

  /// Whether a frame of that time is among them.
  func has(_ mediaTime: UInt16) -> Bool {
    entries.contains { $0.number != 0 && $0.label.mediaTime == mediaTime }
  }

  /// How many right before that frame came as copies in its packet.
  func recoveredCount(with number: UInt32) -> UInt32 {
    var count: UInt32 = 0
    while let entry = self[number &- count &- 1], entry.recoveredWith == number { count += 1 }
    return count
  }

  package mutating func append(
    _ label: ChannelAudioLabel, _ sealed: Span<UInt8>, recoveredWith: UInt32 = 0
  ) {
    guard sealed.count <= Self.slotByteCount else { return }
    newest &+= 1
    let place = Int(newest) % capacity
    entries[place] = Entry(
      number: newest, label: label, byteCount: sealed.count, recoveredWith: recoveredWith)
    let start = place * Self.slotByteCount
    for index in 0..<sealed.count { bytes[start + index] = sealed[index] }
  }

  @_lifetime(packet: copy packet)
  package func write(_ entry: Entry, to packet: inout OutputSpan<UInt8>) {
    let start = Int(entry.number) % capacity * Self.slotByteCount
    packet.append(span: bytes.span.extracting(start..<(start + entry.byteCount)))
  }

  private static let slotByteCount = ChannelAudioFrame.sealedByteCounts.upperBound
}
