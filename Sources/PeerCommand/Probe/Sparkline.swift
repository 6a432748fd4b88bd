/// Values over time in one line of text.
package enum Sparkline {
  private static let blocks: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

  /// One letter a value: the lowest block is 0, the highest `top`; a blank where nothing is known.
  package static func text(_ values: [Double?], top: Double) -> String {
    String(
      values.map { value -> Character in
        guard let value, value.isFinite else { return " " }
        guard top > 0 else { return blocks[0] }
        let part = min(max(value / top, 0), 1)
        return blocks[min(Int(part * 8), 7)]
      })
  }

  /// The largest value in each of `count` equal parts of the time; `nil` where there is none.
  package static func columns(
    _ points: [(x: Double, y: Double)], count: Int, until end: Double
  ) -> [Double?] {
    var columns = [Double?](repeating: nil, count: max(1, count))
    guard end > 0 else { return columns }
    for point in points where point.x.isFinite && point.y.isFinite && point.x >= 0 {
      let place = min(Int(min(point.x / end, 1) * Double(columns.count)), columns.count - 1)
      columns[place] = max(columns[place] ?? point.y, point.y)
    }
    return columns
  }
}
