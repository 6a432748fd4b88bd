import Primitives

/// A probe's packets by tenths of a second.
enum Timeline {
  static func points(up: ProbeSide, down: ProbeSide, began: Instant) -> [TimelinePoint] {
    let zero = Int64(clamping: began.nanoseconds)
    // The other end's clock has another origin: its first packet stands for the least delay.
    let shift = down.packets.leastDelay { _ in true } ?? 0
    let points =
      points(.uplink, up.packets, zero: zero) + points(.downlink, down.packets, zero: zero - shift)
    return points.sorted { ($0.at, $0.direction.rawValue) < ($1.at, $1.direction.rawValue) }
  }

  private static func points(
    _ direction: LineDirection, _ packets: TestPackets, zero: Int64
  ) -> [TimelinePoint] {
    guard let least = packets.leastDelay(where: { _ in true }) else { return [] }
    var points: [TimelinePoint?] = Array(repeating: nil, count: most)
    var delays = [Double](repeating: 0, count: most)
    for entry in packets.entries {
      let index = Int((entry.sent - zero) / width)
      guard entry.sent >= zero, index < most else { continue }
      var point =
        points[index]
        ?? TimelinePoint(
          direction: direction, at: (Double(index) + 0.5) * Double(width) / 1e9)
      point.sent += 1
      point.sentRate += Double(entry.byteCount) * 8e9 / Double(width)
      if entry.isReceived {
        let delay = Double(entry.delay - least) / 1e6
        delays[index] += delay
        point.largestAddedDelayMs = max(point.largestAddedDelayMs ?? 0, delay)
        point.addedDelayMs = delays[index] / Double(point.sent - point.lost)
      } else {
        point.lost += 1
      }
      points[index] = point
    }
    return points.compactMap { $0 }
  }

  /// ns.
  private static let width: Int64 = 100_000_000
  private static let most = 300
}
