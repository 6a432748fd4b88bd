internal import Synchronization

/// Passes short byte strings from exactly one thread to exactly one other, without locks, waiting
/// or allocation: encoded frames between a media thread and the loop.
///
/// Slots have a fixed size and are allocated once. A full ring refuses: the producer decides what
/// to give up. Each entry carries a `Label`, whose meaning is the two threads' affair.
@safe package final class SPSCRing: @unchecked Sendable {
  // Sendable: `tail` is written by the producer only, `head` by the consumer only, and a slot
  // belongs to the one or the other as those two say.

  /// Numbers that travel with an entry: a time stamp, a kind, a duration.
  package struct Label: Equatable, Sendable, BitwiseCopyable {
    package var first: UInt64
    package var second: UInt64

    package init(_ first: UInt64 = 0, _ second: UInt64 = 0) {
      self.first = first
      self.second = second
    }
  }

  private struct Entry {
    var label: Label
    var byteCount: Int
  }

  package let slotCount: Int
  package let slotByteCount: Int
  private let bytes: UnsafeMutablePointer<UInt8>
  private let entries: UnsafeMutablePointer<Entry>
  private let producer = Counter()
  private let consumer = Counter()

  /// A ring of at least `slotCount` entries (rounded up to a power of two; 1...65536) of up to
  /// `slotByteCount` bytes (1...65536).
  package init(slotCount: Int, slotByteCount: Int) {
    precondition((1...65536).contains(slotCount) && (1...65536).contains(slotByteCount))
    var count = 1
    while count < slotCount { count *= 2 }
    self.slotCount = count
    self.slotByteCount = slotByteCount
    unsafe bytes = .allocate(capacity: count * slotByteCount)
    unsafe bytes.initialize(repeating: 0, count: count * slotByteCount)
    unsafe entries = .allocate(capacity: count)
    unsafe entries.initialize(repeating: Entry(label: Label(), byteCount: 0), count: count)
  }

  deinit {
    unsafe bytes.deallocate()
    unsafe entries.deallocate()
  }

  /// How many entries wait; exact only for the producer or consumer while the other rests.
  package var count: Int {
    let tail = producer.value.load(ordering: .acquiring)
    return min(slotCount, max(0, tail &- consumer.value.load(ordering: .acquiring)))
  }

  /// Producer: copies `source` in; `false` when the ring is full or `source` exceeds a slot.
  package func push(_ source: Span<UInt8>, _ label: Label = Label()) -> Bool {
    let tail = producer.value.load(ordering: .relaxed)
    guard source.count <= slotByteCount,
      tail &- consumer.value.load(ordering: .acquiring) < slotCount
    else { return false }
    let index = tail & (slotCount - 1)
    let slot = unsafe UnsafeMutableRawBufferPointer(
      start: bytes + index * slotByteCount, count: slotByteCount)
    unsafe source.withUnsafeBytes { unsafe slot.copyMemory(from: $0) }
    unsafe entries[index] = Entry(label: label, byteCount: source.count)
    producer.value.store(tail &+ 1, ordering: .releasing)
    return true
  }

  /// Producer: has `fill` write an entry in place; nothing is added where it gives no label.
  ///
  /// - Returns: whether an entry was added; `false` when the ring is full, and then `fill` is not
  ///   asked.
  package func push(_ fill: (inout OutputSpan<UInt8>) -> Label?) -> Bool {
    let tail = producer.value.load(ordering: .relaxed)
    guard tail &- consumer.value.load(ordering: .acquiring) < slotCount else { return false }
    let index = tail & (slotCount - 1)
    let slot = unsafe UnsafeMutableBufferPointer(
      start: bytes + index * slotByteCount, count: slotByteCount)
    var output = unsafe OutputSpan(buffer: slot, initializedCount: 0)
    let label = fill(&output)
    let byteCount = unsafe output.finalize(for: slot)
    guard let label else { return false }
    unsafe entries[index] = Entry(label: label, byteCount: byteCount)
    producer.value.store(tail &+ 1, ordering: .releasing)
    return true
  }

  /// Consumer: shows the oldest entry to `body`, in place, and then removes it; `nil` when there is
  /// none.
  package func pop<Result>(_ body: (Span<UInt8>, Label) -> Result) -> Result? {
    let head = consumer.value.load(ordering: .relaxed)
    guard head != producer.value.load(ordering: .acquiring) else { return nil }
    let index = head & (slotCount - 1)
    let entry = unsafe entries[index]
    let span = unsafe Span(
      _unsafeStart: UnsafePointer(bytes + index * slotByteCount), count: entry.byteCount)
    let result = body(span, entry.label)
    consumer.value.store(head &+ 1, ordering: .releasing)
    return result
  }

  /// The same for a `body` that gives nothing: not generic, which costs half a microsecond in
  /// another module. `false` when there is none.
  package func popNext(_ body: (Span<UInt8>, Label) -> Void) -> Bool {
    pop { bytes, label in
      body(bytes, label)
      return true
    } ?? false
  }

  /// Consumer: moves the oldest entry to the end of `output`, which must have room for a slot.
  @_lifetime(output: copy output)
  package func pop(into output: inout OutputSpan<UInt8>) -> Label? {
    precondition(output.freeCapacity >= slotByteCount, "room for the longest entry")
    let head = consumer.value.load(ordering: .relaxed)
    guard head != producer.value.load(ordering: .acquiring) else { return nil }
    let index = head & (slotCount - 1)
    let entry = unsafe entries[index]
    let start = unsafe bytes + index * slotByteCount
    for offset in 0..<entry.byteCount { unsafe output.append(start[offset]) }
    consumer.value.store(head &+ 1, ordering: .releasing)
    return entry.label
  }
}

/// A count with a cache line of its own, so that the two threads do not fight over one.
private final class Counter: Sendable {
  private let before: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) =
    (0, 0, 0, 0, 0, 0, 0, 0)
  let value = Atomic<Int>(0)
  private let after: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) =
    (0, 0, 0, 0, 0, 0, 0, 0)
}
