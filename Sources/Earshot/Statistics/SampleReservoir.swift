/// Numbers of which percentiles are wanted, however many there are: all of the first 4096, then
/// every second one of twice as many, and so on.
struct SampleReservoir: Sendable {
  private var kept: [Float] = []
  /// Room to put them in order in: a thread that shows pictures is not to allocate each second.
  private var room: [Float] = []
  private var step = 1
  private var sinceKept = 0
  private(set) var last: Double?

  init() {
    kept.reserveCapacity(Self.capacity)
    room.reserveCapacity(Self.capacity)
  }

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
    var copy = kept
    return Self.percentile(share, of: &copy)
  }

  /// The 5th, 50th and 95th percentile; `nil` without any. Allocates nothing.
  mutating func spread() -> CallStatistics.Milliseconds? {
    room.removeAll(keepingCapacity: true)
    room.append(contentsOf: kept)
    guard let p5 = Self.percentile(0.05, of: &room), let p50 = Self.percentile(0.5, of: &room),
      let p95 = Self.percentile(0.95, of: &room)
    else { return nil }
    return CallStatistics.Milliseconds(min: p5, p50: p50, p95: p95)
  }

  private static func percentile(_ share: Double, of values: inout [Float]) -> Double? {
    guard !values.isEmpty else { return nil }
    let rank = Int((min(max(share, 0), 1) * Double(values.count)).rounded(.up))
    return Double(select(min(max(rank, 1), values.count) - 1, of: &values))
  }

  /// The value that would stand at `place` if all were in order (Hoare's selection).
  private static func select(_ place: Int, of values: inout [Float]) -> Float {
    var (low, high) = (0, values.count - 1)
    while low < high {
      let pivot = values[(low + high) / 2]
      var (left, right) = (low, high)
      while left <= right {
        while values[left] < pivot { left += 1 }
        while values[right] > pivot { right -= 1 }
        guard left <= right else { break }
        values.swapAt(left, right)
        left += 1
        right -= 1
      }
      if place <= right {
        high = right
      } else if place >= left {
        low = left
      } else {
        break
      }
    }
    return values[place]
  }

  private mutating func thin() {
    for index in 0..<(kept.count / 2) { kept[index] = kept[2 * index] }
    kept.removeLast(kept.count / 2)
    step *= 2
  }

  private static let capacity = 4096
}
