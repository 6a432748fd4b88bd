import Primitives
import Wire

/// The fragments of one message that is not whole yet, or that waits for those before it.
///
/// Bytes are kept in the order of arrival, so that a message of which one fragment is here takes
/// the room of one fragment, whatever count it announces.
struct Reassembly: Sendable {
  static let maximumMessageByteCount = 65_536

  let sequence: UInt32
  /// When its first fragment came.
  let begun: Instant
  private(set) var isAbandoned = false
  private let fragmentCount: Int
  /// Bit i: fragment i is here.
  private var present: UInt64 = 0
  /// Of every fragment but the last; 0 while none of them is here.
  private var fragmentByteCount = 0
  /// 0 while it is not here.
  private var lastByteCount = 0
  private var bytes: [UInt8] = []
  /// The indexes of the fragments in the order in which they came.
  private var order: [UInt8] = []

  init(_ frame: MessageFrame, now: Instant) {
    sequence = frame.sequence
    fragmentCount = Int(frame.fragmentCount)
    begun = now
  }

  /// An ordered message that its sender gave up, in a place that is not due yet.
  init(abandoned sequence: UInt32, now: Instant) {
    self.sequence = sequence
    fragmentCount = 0
    begun = now
    isAbandoned = true
  }

  var byteCount: Int { bytes.count }
  var isWhole: Bool { !isAbandoned && order.count == fragmentCount }

  func has(_ index: UInt8) -> Bool { present >> UInt64(index & 63) & 1 != 0 }

  /// Whether a fragment fits those that are here (docs/protocol/frames.md §3: all but the last have
  /// the same length, and the last is not longer).
  func check(_ frame: MessageFrame, byteCount: Int) throws(MessageFault) {
    guard Int(frame.fragmentCount) == fragmentCount else { throw .fragment }
    let isLast = Int(frame.fragmentIndex) == fragmentCount - 1
    let length = isLast ? fragmentByteCount : byteCount
    let last = isLast ? byteCount : lastByteCount
    if !isLast, fragmentByteCount != 0, byteCount != fragmentByteCount { throw .fragment }
    if isLast, has(frame.fragmentIndex), byteCount != lastByteCount { throw .fragment }
    if fragmentCount > 1, length != 0, last > length { throw .fragment }
    guard length * (fragmentCount - 1) + last <= Self.maximumMessageByteCount else {
      throw .messageTooLong
    }
  }

  /// Keeps a fragment that was checked and that is new.
  mutating func insert(_ frame: MessageFrame, _ fragment: Span<UInt8>) {
    if Int(frame.fragmentIndex) == fragmentCount - 1 {
      lastByteCount = fragment.count
    } else {
      fragmentByteCount = fragment.count
    }
    present |= 1 << UInt64(frame.fragmentIndex & 63)
    order.append(frame.fragmentIndex)
    bytes.reserveCapacity(bytes.count + fragment.count)
    for index in 0..<fragment.count { bytes.append(fragment[index]) }
  }

  mutating func abandon() {
    isAbandoned = true
    bytes = []
    order = []
  }

  /// The whole message, its fragments in order.
  consuming func takeMessage() -> [UInt8] {
    var isInOrder = true
    for (place, index) in order.enumerated() where place != Int(index) { isInOrder = false }
    if isInOrder { return bytes }
    var starts = [Int](repeating: 0, count: fragmentCount)
    var position = 0
    for index in order {
      starts[Int(index)] = position
      position += length(Int(index))
    }
    var message: [UInt8] = []
    message.reserveCapacity(bytes.count)
    for index in 0..<fragmentCount {
      message.append(contentsOf: bytes[starts[index]..<(starts[index] + length(index))])
    }
    return message
  }

  private func length(_ index: Int) -> Int {
    index == fragmentCount - 1 ? lastByteCount : fragmentByteCount
  }
}
