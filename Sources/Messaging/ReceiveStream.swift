import Wire

/// One direction of a stream as its receiver sees it (docs/protocol/frames.md §3).
struct ReceiveStream: Sendable {
  let id: StreamID
  /// The lowest number neither delivered nor abandoned; in an ordered stream the next one.
  private(set) var lowest: UInt32 = 0
  /// Unordered: bit i = `lowest` + i is delivered or abandoned. Bit 0 is never set.
  private(set) var finished = FinishedSet()
  var assemblies: [Reassembly] = []

  init(_ id: StreamID) { self.id = id }

  init(_ id: StreamID, lowest: UInt32, finished: UInt64) {
    self.id = id
    self.lowest = lowest
    self.finished = FinishedSet(above: finished)
  }

  /// Messages that are whole and wait for their turn.
  var wholeCount: Int { assemblies.count { $0.isWhole && !$0.isAbandoned } }

  /// Whether message `sequence` is still to come.
  func isWanted(_ sequence: UInt32) throws(MessageFault) -> Bool {
    let distance = sequence &- lowest
    if distance >= 1 << 31 { return false }
    guard distance <= MessageRules.window(of: id) else { throw .outsideWindow }
    return !finished.contains(distance)
  }

  /// Message `sequence`, which is wanted, is delivered or abandoned.
  mutating func finish(_ sequence: UInt32) {
    finished.insert(sequence &- lowest)
    while finished.contains(0) {
      finished.shift()
      lowest &+= 1
    }
  }

  /// The 64 numbers above the lowest; `nil` when there are finished ones beyond.
  var compactFinished: UInt64? { finished.compact }
}

/// A set of numbers 0..255.
struct FinishedSet: Equatable, Sendable, BitwiseCopyable {
  private var word0: UInt64 = 0
  private var word1: UInt64 = 0
  private var word2: UInt64 = 0
  private var word3: UInt64 = 0

  init() {}

  /// Bit i of `bits` stands for number i + 1; 0 is not in the set.
  init(above bits: UInt64) {
    word0 = bits << 1
    word1 = bits >> 63
  }

  var compact: UInt64? {
    guard word1 <= 1, word2 == 0, word3 == 0, word0 & 1 == 0 else { return nil }
    return word0 >> 1 | word1 << 63
  }

  func contains(_ number: UInt32) -> Bool {
    let bit = UInt64(1) << UInt64(number & 63)
    switch number >> 6 {
    case 0: return word0 & bit != 0
    case 1: return word1 & bit != 0
    case 2: return word2 & bit != 0
    case 3: return word3 & bit != 0
    default: return false
    }
  }

  mutating func insert(_ number: UInt32) {
    let bit = UInt64(1) << UInt64(number & 63)
    switch number >> 6 {
    case 0: word0 |= bit
    case 1: word1 |= bit
    case 2: word2 |= bit
    case 3: word3 |= bit
    default: break
    }
  }

  /// Takes one from every number; 0 falls out.
  mutating func shift() {
    word0 = word0 >> 1 | word1 << 63
    word1 = word1 >> 1 | word2 << 63
    word2 = word2 >> 1 | word3 << 63
    word3 >>= 1
  }
}
