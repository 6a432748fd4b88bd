internal import Primitives

/// A line plot over time as SVG, in a page or as a file.
package struct Plot: Sendable {
  package struct Line: Sendable {
    package var name: String
    /// Seconds, and the value in the plot's unit.
    package var points: [(x: Double, y: Double)]

    package init(_ name: String, _ points: [(x: Double, y: Double)]) {
      self.name = name
      self.points = points
    }
  }

  package var title: String
  package var unit: String
  package var lines: [Line]
  /// Parts of the time that have a name, shaded in turn; seconds.
  package var spans: [(name: String, from: Double, to: Double)] = []
  /// Moments at which something happened; seconds.
  package var marks: [(name: String, at: Double)] = []
  /// Up to where the values go at least.
  package var leastTop = 0.0
  /// What a clock said at 0 s, in seconds of its day: the axis and the tips have its times;
  /// `nil` = they count from 0.
  package var secondOfDay: Int?

  package init(_ title: String, unit: String, _ lines: [Line]) {
    self.title = title
    self.unit = unit
    self.lines = lines
  }

  static let width = 720.0
  static let height = 170.0
  static let left = 62.0
  static let bottom = 24.0
  static let top = 18.0
  private static let captionHeight = 24.0
  private static let colors = [
    "#1f6feb", "#d1572a", "#3a8f4d", "#8250df", "#0a8a8a", "#c2185b", "#8a6d00", "#57606a",
  ]
  /// More points than pixels show nothing more.
  private static let maxPoints = 1440

  /// The drawing, to stand in a page; empty when nothing was measured.
  package var svg: String {
    guard let drawing else { return "" }
    return """
      <figure><figcaption>\(Markup.escaped(title)) (\(Markup.escaped(unit)))\(legend)</figcaption>
      <svg viewBox="0 0 \(Int(Self.width)) \(Int(Self.height))" role="img">\n
      """ + drawing + "</svg></figure>\n"
  }

  /// Drawings below one another as a file that needs no page.
  package static func document(_ title: String, _ plots: [Plot]) -> String {
    let panels = plots.compactMap { plot in plot.drawing.map { (plot, $0) } }
    let step = height + captionHeight
    let all = Int(captionHeight + Double(panels.count) * step)
    var text = """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(width)) \(all)" \
      font-family="sans-serif" font-size="11" fill="#59636e">
      <rect width="100%" height="100%" fill="#ffffff"/>
      <text x="8" y="16" font-size="14" fill="#1f2328">\(Markup.escaped(title))</text>\n
      """
    for (index, panel) in panels.enumerated() {
      let top = captionHeight + Double(index) * step
      text += "<text x=\"8\" y=\"\(short(top + 14))\" fill=\"#1f2328\">\(panel.0.caption)</text>\n"
      text += "<svg y=\"\(short(top + captionHeight))\" width=\"\(Int(width))\" "
      text += "height=\"\(Int(height))\">\n\(panel.1)</svg>\n"
    }
    return text + "</svg>\n"
  }

  /// What stands between the tags; `nil` when nothing was measured.
  private var drawing: String? {
    let points = lines.flatMap(\.points).filter(Self.canBeShown)
    guard let lastX = points.map(\.x).max(), let highest = points.map(\.y).max(),
      let lowest = points.map(\.y).min()
    else { return nil }
    let scale = Scale(lastX: max(lastX, 1), low: min(0, lowest), high: max(leastTop, highest))
    var text = ""
    for (index, span) in spans.enumerated() { text += shade(span, index, scale) }
    for value in scale.ticks { text += gridLine(at: value, scale) }
    for seconds in TimeAxis.ticks(until: scale.lastX, secondOfDay: secondOfDay) {
      text += timeLabel(seconds, scale)
    }
    for (index, line) in lines.enumerated() { text += path(line, index, scale) }
    return text + markLines(scale) + tips(points.map(\.x), scale)
  }

  /// Numbers from a file may be anything: more than thirty years, or what no axis has a scale for,
  /// was not measured.
  static func canBeShown(_ point: (x: Double, y: Double)) -> Bool {
    abs(point.x) <= 1e9 && abs(point.y) <= 1e15
  }

  private var caption: String {
    let names = zip(lines, Self.colors).map { line, color in
      " <tspan fill=\"\(color)\">&#9632; \(Markup.escaped(line.name))</tspan>"
    }
    return "\(Markup.escaped(title)) (\(Markup.escaped(unit)))"
      + (lines.count > 1 ? names.joined() : "")
  }

  private var legend: String {
    guard lines.count > 1 else { return "" }
    return zip(lines, Self.colors).map { line, color in
      " <span style=\"color:\(color)\">&#9632; \(Markup.escaped(line.name))</span>"
    }.joined()
  }

  private func shade(
    _ span: (name: String, from: Double, to: Double), _ index: Int, _ scale: Scale
  ) -> String {
    let (from, to) = (max(0, span.from), min(span.to, scale.lastX))
    guard from.isFinite, to.isFinite, to > from else { return "" }
    let width = scale.x(to) - scale.x(from)
    let color = index.isMultiple(of: 2) ? "#f6f8fa" : "#eaeef2"
    let shade = index.isMultiple(of: 2) ? "span" : "span other"
    let box =
      "<rect class=\"\(shade)\" x=\"\(Self.short(scale.x(from)))\" y=\"0\" width=\"\(Self.short(width))\" "
      + "height=\"\(Self.short(Self.height - Self.bottom))\" fill=\"\(color)\">"
      + "<title>\(Markup.escaped(span.name))</title></rect>\n"
    // A letter is about six pixels wide.
    guard Double(span.name.count) * 6.2 < width else { return box }
    return box + label(Markup.escaped(span.name), x: scale.x(from) + 3, y: 12, anchor: "start")
  }

  /// A label that would leave the drawing ends where it ends.
  private func timeLabel(_ seconds: Double, _ scale: Scale) -> String {
    let text =
      secondOfDay.map { TimeAxis.clock(seconds, until: scale.lastX, secondOfDay: $0) }
      ?? TimeAxis.text(seconds, until: scale.lastX)
    let x = scale.x(seconds)
    // A letter is about seven pixels wide.
    let isAtEnd = x + 3.5 * Double(text.count) > Self.width
    return label(
      text, x: isAtEnd ? Self.width - 1 : x, y: Self.height - 6, anchor: isAtEnd ? "end" : "middle")
  }

  private func gridLine(at value: Double, _ scale: Scale) -> String {
    let y = Self.short(scale.y(value))
    let end = Self.short(Self.width - 8)
    return """
      <line class="grid" x1="\(Self.short(Self.left))" y1="\(y)" x2="\(end)" y2="\(y)" stroke="#d8dee4"/>\n
      """ + label(scale.text(value), x: Self.left - 6, y: scale.y(value) + 4, anchor: "end")
  }

  private func label(_ text: String, x: Double, y: Double, anchor: String) -> String {
    """
    <text x="\(Self.short(x))" y="\(Self.short(y))" text-anchor="\(anchor)">\(text)</text>\n
    """
  }

  private func path(_ line: Line, _ index: Int, _ scale: Scale) -> String {
    let finite = line.points.filter(Self.canBeShown)
    guard !finite.isEmpty else { return "" }
    let step = max(1, finite.count / Self.maxPoints)
    let places = stride(from: 0, to: finite.count, by: step).map { place in
      "\(Self.short(scale.x(finite[place].x))),\(Self.short(scale.y(finite[place].y)))"
    }
    let color = Self.colors[index % Self.colors.count]
    if places.count == 1 {
      let place = finite[0]
      return
        "<circle cx=\"\(Self.short(scale.x(place.x)))\" cy=\"\(Self.short(scale.y(place.y)))\" "
        + "r=\"2.5\" fill=\"\(color)\"/>\n"
    }
    return "<polyline fill=\"none\" stroke=\"\(color)\" stroke-width=\"1.6\" "
      + "points=\"\(places.joined(separator: " "))\"/>\n"
  }

  /// One decimal below a hundred, none above.
  static func decimal(_ value: Double) -> String {
    if abs(value) >= 100 { return String(Int(min(max(value, -1e15), 1e15).rounded())) }
    let tenths = Int((value * 10).rounded())
    return "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
  }

  static func short(_ value: Double) -> String {
    String((value * 10).rounded() / 10)
  }

  /// From values to places in the drawing.
  struct Scale {
    let lastX: Double
    let low: Double
    let high: Double
    let ticks: [Double]
    /// From one tick to the next.
    private let step: Double

    init(lastX: Double, low: Double, high: Double) {
      self.lastX = lastX
      // Steps of 1, 2 or 5 times a power of ten, four or so of them.
      // Where all is nothing, an axis up to one says so.
      let high = high > low ? high : low + 1
      let span = max(high - low, 1e-3)
      var step = 1e-3
      var factors = [2, 2.5, 2][...]
      while span / step > 5 {
        step *= factors.first ?? 1
        factors = factors.count > 1 ? factors.dropFirst() : [2, 2.5, 2]
      }
      let first = (low / step).rounded(.down)
      let last = max((high / step).rounded(.up), first + 1)
      self.step = step
      self.low = first * step
      self.high = last * step
      ticks = stride(from: first, through: last, by: 1).map { $0 * step }
    }

    /// A tick, with as many decimals as tell it from its neighbours.
    func text(_ value: Double) -> String {
      var decimals = 0
      var power = 1.0
      while decimals < 3, step * power < 0.999 {
        decimals += 1
        power *= 10
      }
      guard decimals > 0 else { return String(Int(min(max(value, -1e15), 1e15).rounded())) }
      let whole = Int((abs(value) * power).rounded())
      let rest = String(Int(power) + whole % Int(power)).dropFirst()
      return "\(value < 0 && whole > 0 ? "-" : "")\(whole / Int(power)).\(rest)"
    }

    func x(_ value: Double) -> Double {
      Plot.left + value / lastX * (Plot.width - Plot.left - 8)
    }

    func y(_ value: Double) -> Double {
      let room = Plot.height - Plot.top - Plot.bottom
      return Plot.top + (high - value) / (high - low) * room
    }
  }
}
