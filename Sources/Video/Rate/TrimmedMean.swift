/// The mean of the last twenty values without the largest of them.
///
/// Of the time that a picture takes one in twenty says nothing: another program had the processor.
struct TrimmedMean: Sendable {
  private var values = InlineArray<20, Double>(repeating: 0)
  private var next = 0
  /// Values that are there, at most twenty.
  private(set) var count = 0
  /// 0 before the first value.
  private(set) var value = 0.0

  mutating func handle(_ one: Double) {
    values[next] = one
    next = (next + 1) % values.count
    count = min(count + 1, values.count)
    value = mean
  }

  /// The mean of before weighs as one value from now on.
  mutating func forget() {
    guard count > 0 else { return }
    values[0] = value
    next = 1
    count = 1
  }

  private var mean: Double {
    var sum = 0.0
    var largest = 0.0
    for index in 0..<count {
      sum += values[index]
      largest = max(largest, values[index])
    }
    return count > 1 ? (sum - largest) / Double(count - 1) : sum
  }
}
