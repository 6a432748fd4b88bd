/// Finds the longest packet that passes: the longest of all first, then by halves.
struct PacketLengthSearch: Sendable {
  /// The longest that has passed.
  private(set) var longest: Int?
  private var low: Int
  private var high: Int
  private var isFirst = true

  /// How exactly it is found, in bytes.
  static let step = 8

  init(_ range: ClosedRange<Int>) {
    low = range.lowerBound
    high = range.upperBound
  }

  /// What is to be tried next; `nil` = it is found.
  var next: Int? {
    if isFirst { return high }
    if longest == nil, low == high { return nil }
    guard high - low >= Self.step else { return nil }
    return longest == nil ? low : low + (high - low) / 2
  }

  /// What became of `next`.
  mutating func note(_ length: Int, hasPassed: Bool) {
    isFirst = false
    if hasPassed {
      longest = max(longest ?? length, length)
      low = max(low, length)
    } else if length <= low {
      high = low  // Not even the shortest.
    } else {
      high = length
    }
  }
}
