/// The bytes of fragments that wait for the rest of their frames.
///
/// All its memory is made at the first fragment; keeping one and giving it up allocate nothing.
struct FragmentStore: Sendable {
  /// Of a fragment that is not there.
  static let none = UInt16.max

  private let capacity: Int
  private let slotByteCount: Int
  private var bytes: [UInt8] = []
  private var lengths: [UInt16] = []
  private var free: [UInt16] = []

  init(capacity: Int, slotByteCount: Int) {
    self.capacity = min(capacity, Int(Self.none))
    self.slotByteCount = slotByteCount
  }

  /// How many fragments are kept.
  var count: Int { lengths.isEmpty ? 0 : capacity - free.count }

  /// Copies a fragment in; `nil` when there is no room, or it is longer than a slot.
  mutating func keep(_ fragment: Span<UInt8>) -> UInt16? {
    if lengths.isEmpty {
      bytes = Array(repeating: 0, count: capacity * slotByteCount)
      lengths = Array(repeating: 0, count: capacity)
      free = (0..<UInt16(capacity)).reversed()
    }
    guard fragment.count <= slotByteCount, let place = free.popLast() else { return nil }
    lengths[Int(place)] = UInt16(fragment.count)
    let start = Int(place) * slotByteCount
    var target = bytes.mutableSpan
    for index in 0..<fragment.count { target[start &+ index] = fragment[index] }
    return place
  }

  mutating func release(_ place: UInt16) {
    guard place != Self.none else { return }
    free.append(place)
  }

  func byteCount(_ place: UInt16) -> Int { place == Self.none ? 0 : Int(lengths[Int(place)]) }

  // MARK: - Parity

  /// Adds `factor` times one fragment's bytes to another's, in GF(2⁸); what is beyond the end of
  /// either is left alone.
  mutating func add(_ factor: UInt8, times source: UInt16, to target: UInt16) {
    let count = min(byteCount(source), byteCount(target))
    guard count > 0, source != target else { return }
    let multiply = GaloisMultiplier(factor)
    let (from, to) = (Int(source) * slotByteCount, Int(target) * slotByteCount)
    var all = bytes.mutableSpan
    for index in 0..<count { all[to &+ index] ^= multiply(all[from &+ index]) }
  }

  mutating func scale(_ place: UInt16, by factor: UInt8) {
    let count = byteCount(place)
    guard count > 0 else { return }
    let multiply = GaloisMultiplier(factor)
    let start = Int(place) * slotByteCount
    var all = bytes.mutableSpan
    for index in start..<(start + count) { all[index] = multiply(all[index]) }
  }

  /// Leaves the first `count` bytes of a fragment.
  mutating func cut(_ place: UInt16, to count: Int) {
    guard place != Self.none else { return }
    lengths[Int(place)] = min(lengths[Int(place)], UInt16(clamping: count))
  }

  @_lifetime(output: copy output)
  func append(_ place: UInt16, to output: inout OutputSpan<UInt8>) {
    guard place != Self.none else { return }
    let start = Int(place) * slotByteCount
    let fragment = bytes.span.extracting(start..<(start + Int(lengths[Int(place)])))
    for index in 0..<min(fragment.count, output.freeCapacity) { output.append(fragment[index]) }
  }
}
