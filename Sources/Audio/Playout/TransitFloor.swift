/// The least transit (arrival minus media time) of the last eight blocks of time, four seconds
/// where nothing else is said: what the path does at its best, and where a drifting clock takes it.
struct TransitFloor: Sendable {
  private(set) var value: Int64 = 0
  private var blocks = InlineArray<8, Int64>(repeating: .max)
  private var block: Int64 = .min
  /// Of a block, in nanoseconds.
  private let blockLength: Int64

  init(blockLength: Int64 = Self.shortBlock) { self.blockLength = blockLength }

  /// - Parameters:
  ///   - transit: in nanoseconds.
  ///   - arrival: in nanoseconds; an arrival older than the newest counts as that.
  mutating func record(transit: Int64, arrival: Int64) {
    let number = arrival / blockLength
    if block == .min || number - block >= Int64(blocks.count) {
      blocks = InlineArray(repeating: .max)
      block = number
    }
    while block < number {
      block += 1
      blocks[Int(block % Int64(blocks.count))] = .max
    }
    let index = Int(block % Int64(blocks.count))
    blocks[index] = min(blocks[index], transit)
    var least = transit
    for index in blocks.indices { least = min(least, blocks[index]) }
    value = least
  }

  /// Half a second, in nanoseconds.
  static let shortBlock: Int64 = 500_000_000
}
