internal import Primitives

/// What a pointer is shown: the values of a moment, and what happened then. No program runs in the
/// page: the tips are titles of parts that are not drawn.
extension Plot {
  /// Parts of the time that have a tip of their own, at the most.
  private static let mostTips = 120

  func markLines(_ scale: Scale) -> String {
    marks.filter { $0.at.isFinite && $0.at >= 0 && $0.at <= scale.lastX }.map { mark in
      let x = Self.short(scale.x(mark.at))
      return "<line class=\"mark\" x1=\"\(x)\" y1=\"0\" x2=\"\(x)\" "
        + "y2=\"\(Self.short(Self.height - Self.bottom))\" stroke=\"#8c959f\" "
        + "stroke-dasharray=\"3 3\"><title>\(Markup.escaped(mark.name))</title></line>\n"
    }.joined()
  }

  func tips(_ times: [Double], _ scale: Scale) -> String {
    let first = times.min() ?? 0
    let count = min(Self.mostTips, Set(times).count)
    guard count > 1 else { return "" }
    let step = (scale.lastX - first) / Double(count)
    guard step > 0 else { return "" }
    let width = Self.short(scale.x(step) - scale.x(0))
    return (0..<count).compactMap { index in
      let from = first + Double(index) * step
      guard let tip = tip(from: from, to: from + step) else { return nil }
      return "<rect x=\"\(Self.short(scale.x(from)))\" y=\"0\" width=\"\(width)\" "
        + "height=\"\(Self.short(Self.height - Self.bottom))\" fill=\"transparent\">"
        + "<title>\(Markup.escaped(tip))</title></rect>\n"
    }.joined()
  }

  /// The last value of each line in a part of the time, and its marks; `nil` when there is none.
  private func tip(from: Double, to end: Double) -> String? {
    var parts: [String] = []
    for line in lines {
      guard let point = line.points.last(where: { $0.x >= from && $0.x <= end }),
        Self.canBeShown(point)
      else { continue }
      parts.append("\(line.name) \(Self.decimal(point.y))")
    }
    for mark in marks where mark.at >= from && mark.at <= end { parts.append(mark.name) }
    guard !parts.isEmpty else { return nil }
    let time =
      secondOfDay.map { TimeAxis.clock(from, until: end - from, secondOfDay: $0) }
      ?? Timestamp.clock(seconds: Int(min(max(0, from), 1e9).rounded()))
    return "\(time): \(parts.joined(separator: ", "))"
  }
}
