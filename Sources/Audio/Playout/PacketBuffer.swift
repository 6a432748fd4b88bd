/// The packets of one stream that have arrived and are not yet played, in order of media time.
///
/// Owns its bytes: 200 slots of 1275 bytes, taken once. Nothing here allocates afterwards.
///
/// Station 18 of the house tour; next is `PlayoutDecision`.
package struct PacketBuffer: ~Copyable {
  /// Four seconds of 20 ms packets, as libwebrtc's NetEQ has it; no playout delay needs more.
  package static let capacity = 200

  /// One packet that waits to be heard.
  package struct Entry: Sendable, BitwiseCopyable {
    /// Media time of its first sample, in samples.
    package let timestamp: Int64
    /// When the kernel got it, in nanoseconds.
    package let arrival: Int64
    package let packet: OpusPacket
    package let origin: PacketOrigin
    /// Whether what lies before it was never sent.
    package let isMarked: Bool
    fileprivate let slot: Int
    package let byteCount: Int

    /// Media time of the first sample after it.
    package var end: Int64 { timestamp &+ Int64(packet.sampleCount) }
  }

  package enum Insertion: Equatable, Sendable {
    case stored, storedInPlaceOfOldest
    /// The same frame was there in a worse version, which is gone.
    case storedInPlaceOfCopy
    case duplicate
  }

  private var entries: [Entry] = []
  private var bytes: [UInt8]
  private var freeSlots: [Int]

  package init() {
    bytes = [UInt8](repeating: 0, count: Self.capacity * AudioFormat.maxPayloadByteCount)
    freeSlots = Array((0..<Self.capacity).reversed())
    entries.reserveCapacity(Self.capacity)
  }

  package var count: Int { entries.count }
  package var first: Entry? { entries.first }
  package var last: Entry? { entries.last }

  /// Copies a packet in. When all slots are taken the oldest packet gives way.
  ///
  /// - Parameter payload: what `packet` was read from: 1...1275 bytes.
  package mutating func insert(
    _ payload: Span<UInt8>, _ packet: OpusPacket, timestamp: Int64, arrival: Int64,
    origin: PacketOrigin = .primary, isMarked: Bool = false
  ) -> Insertion {
    var index = entries.count
    while index > 0, entries[index - 1].timestamp >= timestamp { index -= 1 }
    var insertion = Insertion.stored
    if index < entries.count, entries[index].timestamp == timestamp {
      guard entries[index].origin.rank < origin.rank else { return .duplicate }
      freeSlots.append(entries[index].slot)
      entries.remove(at: index)
      insertion = .storedInPlaceOfCopy
    } else if freeSlots.isEmpty {
      removeFirst()
      index = max(0, index - 1)
      insertion = .storedInPlaceOfOldest
    }
    let slot = freeSlots.removeLast()
    let byteCount = min(payload.count, AudioFormat.maxPayloadByteCount)
    let start = slot * AudioFormat.maxPayloadByteCount
    for offset in 0..<byteCount { bytes[start + offset] = payload[offset] }
    entries.insert(
      Entry(
        timestamp: timestamp, arrival: arrival, packet: packet, origin: origin,
        isMarked: isMarked, slot: slot, byteCount: byteCount),
      at: index)
    return insertion
  }

  /// The bytes of a packet that is still in the buffer.
  @_lifetime(borrow self)
  package func payload(of entry: Entry) -> Span<UInt8> {
    let start = entry.slot * AudioFormat.maxPayloadByteCount
    return bytes.span.extracting(start..<(start + entry.byteCount))
  }

  package mutating func removeFirst() {
    guard let entry = entries.first else { return }
    freeSlots.append(entry.slot)
    entries.removeFirst()
  }

  package mutating func removeAll() {
    while !entries.isEmpty { removeFirst() }
  }
}
