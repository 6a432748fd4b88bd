/// Numbers of which percentiles are wanted, however many there are: all of the first 4096, then
/// every second one of twice as many, and so on.
struct SampleReservoir: Sendable {
  private var kept: [Float] = []
  private var step = 1
  private var sinceKept = 0
  private(set) var last: Double?

  init() { kept.reserveCapacity(Self.capacity) }

  mutating func add(_ value: Double) {
    guard value.isFinite else { return }
    last = value
    sinceKept += 1
    guard sinceKept >= step else { return }
    sinceKept = 0
    if kept.count == Self.capacity { thin() }
    kept.append(Float(value))
  }

  /// The value that `share` (0...1) of all do not exceed; `nil` without any.
  func percentile(_ share: Double) -> Double? {
    guard !kept.isEmpty else { return nil }
    let sorted = kept.sorted()
    let rank = Int((min(max(share, 0), 1) * Double(sorted.count)).rounded(.up))
    return Double(sorted[min(max(rank, 1), sorted.count) - 1])
  }

  private mutating func thin() {
    for index in 0..<(kept.count / 2) { kept[index] = kept[2 * index] }
    kept.removeLast(kept.count / 2)
    step *= 2
  }

  private static let capacity = 4096
}
