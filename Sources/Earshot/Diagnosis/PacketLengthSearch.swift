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
  mutating func recordTrial(_ length: Int, hasPassed: Bool) {
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

/// Finds the longest request that gets there, and then the longest echo of such a request: no echo
/// is longer than what asks for it.
struct EchoLengthSearch: Sendable {
  private let range: ClosedRange<Int>
  private var requests: PacketLengthSearch
  /// Begins when the longest request is found.
  private var echoes: PacketLengthSearch?

  init(_ range: ClosedRange<Int>) {
    self.range = range
    requests = PacketLengthSearch(range)
  }

  var longestRequest: Int? { requests.longest }
  var longestEcho: Int? { echoes?.longest }

  /// The lengths that are to be tried next; `nil` = both are found.
  var next: (request: Int, echo: Int)? {
    if let length = requests.next { return (length, range.lowerBound) }
    guard let request = requests.longest, let length = echoes?.next else { return nil }
    return (request, length)
  }

  /// What became of `next`.
  mutating func recordOutcome(hasPassed: Bool) {
    if let length = requests.next {
      requests.recordTrial(length, hasPassed: hasPassed)
      if requests.next == nil, let longest = requests.longest {
        echoes = PacketLengthSearch(range.lowerBound...longest)
      }
    } else if let length = echoes?.next {
      echoes?.recordTrial(length, hasPassed: hasPassed)
    }
  }
}
