internal import Primitives

/// Pairs of values, predicted and actual, with the line on which both are the same, as SVG.
package struct Scatter: Sendable {
  package var title: String
  package var unit: String
  /// What a point is goes into its tip.
  package var points: [(predicted: Double, actual: Double, name: String)]

  package init(
    _ title: String, unit: String, _ points: [(predicted: Double, actual: Double, name: String)]
  ) {
    self.title = title
    self.unit = unit
    self.points = points.filter { Plot.canBeShown(($0.predicted, $0.actual)) }
  }

  private static let side = 300.0
  private static let left = 58.0
  private static let bottom = 44.0
  private static let top = 12.0
  private static let right = 24.0

  /// The drawing, to stand in a page; empty without points.
  package var svg: String {
    guard let drawing else { return "" }
    let width = Int(Self.side + Self.left + Self.right)
    let height = Int(Self.side + Self.top + Self.bottom)
    return """
      <figure class="scatter"><figcaption>\(Markup.escaped(title)) (\(Markup.escaped(unit)))</figcaption>
      <svg viewBox="0 0 \(width) \(height)" role="img">\n
      """ + drawing + "</svg></figure>\n"
  }

  /// Drawings beside one another as a file that needs no page.
  package static func document(_ title: String, _ scatters: [Scatter]) -> String {
    let panels = scatters.compactMap { scatter in scatter.drawing.map { (scatter, $0) } }
    let width = Int(side + left + right)
    let height = Int(side + top + bottom)
    let rows = (panels.count + 1) / 2
    var text = """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(2 * width) \(24 + rows * (height + 24))" \
      font-family="sans-serif" font-size="11" fill="#59636e">
      <rect width="100%" height="100%" fill="#ffffff"/>
      <text x="8" y="16" font-size="14" fill="#1f2328">\(Markup.escaped(title))</text>\n
      """
    for (index, panel) in panels.enumerated() {
      let x = index % 2 * width
      let y = 24 + index / 2 * (height + 24)
      let caption = "\(Markup.escaped(panel.0.title)) (\(Markup.escaped(panel.0.unit)))"
      text += "<text x=\"\(x + 8)\" y=\"\(y + 16)\" fill=\"#1f2328\">\(caption)</text>\n"
      text += "<svg x=\"\(x)\" y=\"\(y + 24)\" width=\"\(width)\" height=\"\(height)\">\n"
      text += panel.1 + "</svg>\n"
    }
    return text + "</svg>\n"
  }

  private var drawing: String? {
    guard let most = points.map({ max($0.predicted, $0.actual) }).max() else { return nil }
    let least = points.map { min($0.predicted, $0.actual) }.min() ?? 0
    // Both axes have one scale: from nothing, unless all lies far from it.
    let scale = Plot.Scale(lastX: 1, low: least > 0.5 * most ? least : 0, high: most)
    let (low, high) = (scale.low, scale.high)
    func x(_ value: Double) -> Double { Self.left + (value - low) / (high - low) * Self.side }
    func y(_ value: Double) -> Double {
      Self.top + Self.side - (value - low) / (high - low) * Self.side
    }
    var text = ""
    for value in scale.ticks {
      text += rule(x(low), y(value), x(high), y(value), "class=\"grid\" stroke=\"#d8dee4\"")
      text += rule(x(value), y(low), x(value), y(high), "class=\"grid\" stroke=\"#d8dee4\"")
      text += label(scale.text(value), x(low) - 6, y(value) + 4, "end")
      text += label(scale.text(value), x(value), y(low) + 19, "middle")
    }
    text += rule(x(low), y(low), x(high), y(high), "stroke=\"#8c959f\" stroke-dasharray=\"4 3\"")
    text += label("predicted", Self.left + Self.side / 2, y(low) + 37, "middle")
    let middle = Plot.short(Self.top + Self.side / 2)
    text += "<text x=\"12\" y=\"\(middle)\" text-anchor=\"middle\" "
    text += "transform=\"rotate(-90 12 \(middle))\">actual</text>\n"
    for point in points {
      let tip = "\(point.name): \(Plot.decimal(point.predicted)), was \(Plot.decimal(point.actual))"
      text += "<circle cx=\"\(Plot.short(x(point.predicted)))\" "
      text += "cy=\"\(Plot.short(y(point.actual)))\" r=\"3.5\" fill=\"#1f6feb\" "
      text += "fill-opacity=\"0.6\"><title>\(Markup.escaped(tip))</title></circle>\n"
    }
    return text
  }

  private func rule(
    _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ style: String
  ) -> String {
    "<line x1=\"\(Plot.short(x1))\" y1=\"\(Plot.short(y1))\" x2=\"\(Plot.short(x2))\" "
      + "y2=\"\(Plot.short(y2))\" \(style)/>\n"
  }

  private func label(_ text: String, _ x: Double, _ y: Double, _ anchor: String) -> String {
    "<text x=\"\(Plot.short(x))\" y=\"\(Plot.short(y))\" text-anchor=\"\(anchor)\">"
      + "\(text)</text>\n"
  }
}
