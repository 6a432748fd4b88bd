/// Whether somebody else's packets fill a queue of the line: on the idle line delays that rise and
/// fall together, over tenths of a second, are a queue's; jitter scatters from packet to packet.
enum ForeignQueue {
  /// - Parameter idle: Packets of the idle part, in the order of sending.
  static func isSeen(in idle: [TestPackets.Entry]) -> Bool {
    let delays = idle.lazy.filter(\.isReceived).map { Double($0.delay) }
    let all = Array(delays)
    let count = all.count / window
    guard count >= fewest else { return false }
    var means: [Double] = []
    var within = 0.0
    for index in 0..<count {
      let part = all[(index * window)..<((index + 1) * window)]
      let mean = part.reduce(0, +) / Double(window)
      means.append(mean)
      within += part.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(window)
    }
    within /= Double(count)
    let middle = means.reduce(0, +) / Double(count)
    let between = means.reduce(0) { $0 + ($1 - middle) * ($1 - middle) } / Double(count)
    let range = (means.max() ?? 0) - (means.min() ?? 0)
    return range > leastRange && between > within
  }

  /// Packets, 10 ms or more from each other.
  private static let window = 8
  private static let fewest = 6
  /// ns.
  private static let leastRange = 12e6
}
