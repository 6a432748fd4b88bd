import Plotting
import Testing

@Suite struct PlotTests {
  private static var rates: Plot {
    var plot = Plot(
      "Rates <of> a line", unit: "kbit/s",
      [
        Plot.Line("capacity", [(0, 2000), (10, 2000), (10, 600), (20, 600)]),
        Plot.Line("carried", (0..<20).map { (Double($0), Double($0) * 50) }),
      ])
    plot.spans = [("audio only", 12, 18)]
    return plot
  }

  @Test func `in a page a plot has its caption, its names and a line each`() {
    let svg = Self.rates.svg
    #expect(svg.contains("Rates &lt;of&gt; a line (kbit/s)") && svg.contains("carried"))
    #expect(svg.split(separator: "<polyline").count == 3)
    #expect(svg.contains("audio only"))
  }

  @Test func `a file has all of its plots and needs no page`() {
    let nothing = Plot("nothing", unit: "ms", [])
    let text = Plot.document("A case & more", [Self.rates, nothing, Self.rates])
    #expect(text.hasPrefix("<svg xmlns=\"http://www.w3.org/2000/svg\""))
    #expect(text.hasSuffix("</svg>\n") && text.contains("A case &amp; more"))
    #expect(text.split(separator: "<polyline").count == 5)
    #expect(text.split(separator: "<svg", omittingEmptySubsequences: true).count == 3)
    #expect(!text.contains("figure") && !text.contains("nothing"))
  }

  @Test func `numbers that are none are left out`() {
    let odd = Plot(
      "x", unit: "y", [Plot.Line("a", [(0, .nan), (1, .infinity), (2, 1e9), (3, -4)])])
    #expect(odd.svg.contains("<polyline"))
    #expect(!odd.svg.contains("nan") && !odd.svg.contains("inf"))
    #expect(Plot("x", unit: "y", []).svg.isEmpty)
  }

  /// Goal: an events file may hold any numbers, and none of them ends the program.
  @Test func `numbers out of all reason are left out`() {
    let values = [
      0, 1, -1, 1e9, -1e9, 1e15, -1e15, 1e16, 1e300, -1e300, .greatestFiniteMagnitude,
      -.greatestFiniteMagnitude, .leastNonzeroMagnitude, .nan, .infinity, -.infinity,
    ]
    for x in values {
      for y in values {
        var plot = Plot("x", unit: "y", [Plot.Line("a", [(x, y), (y, x), (1, 2)])])
        plot.spans = [("span", x, y)]
        #expect(plot.svg.contains("<svg") && !plot.svg.contains("inf"))
      }
    }
    #expect(Plot("x", unit: "y", [Plot.Line("a", [(1e300, 1), (1, -1e300)])]).svg.isEmpty)
  }

  @Test func `a scale has steps of one, two or five`() {
    for (most, step) in [
      (4.0, "1"), (9, "2"), (20, "5"), (45, "10"), (900, "200"), (0.2, "0.05"), (0.004, "0.001"),
    ] {
      let plot = Plot("x", unit: "y", [Plot.Line("a", [(0, 0), (1, most)])])
      #expect(plot.svg.contains(">\(step)</text>"), "\(most)")
    }
  }

  @Test func `a time axis has whole times, none of which is cut`() {
    for (last, texts) in [
      (9.4, ["0:00", "0:02", "0:08"]), (14, ["0:05", "0:10"]), (78, ["0:15", "1:15"]),
      (3600, ["10:00", "1:00:00"]), (86_400, ["4 h", "24 h"]), (1, ["0:00.2", "0:01"]),
    ] as [(Double, [String])] {
      let svg = Plot("x", unit: "y", [Plot.Line("a", [(0, 0), (last, 1)])]).svg
      for text in texts { #expect(svg.contains(">\(text)</text>"), "\(last) \(text): \(svg)") }
    }
    let nothing = Plot("x", unit: "y", [Plot.Line("a", [(0, 0), (9, 0)])]).svg
    #expect(nothing.contains(">1.0</text>"), "an axis of which all is nothing goes up to one")
    var grade = Plot("x", unit: "y", [Plot.Line("a", [(0, 1), (9, 1)])])
    grade.leastTop = 6
    #expect(grade.svg.contains(">6</text>"))
    #expect(TimeAxis.ticks(until: 1e9).count == 7 && TimeAxis.ticks(until: 90).last == 90)
    #expect(TimeAxis.text(90, until: 90) == "1:30" && TimeAxis.text(0.4, until: 2) == "0:00.4")
    let svg = Plot("x", unit: "y", [Plot.Line("a", [(0, 0), (3600, 1)])]).svg
    #expect(
      svg.contains("text-anchor=\"end\">1:00:00<"), "the last one ends where the drawing does")
  }

  @Test func `pairs are drawn around the line on which both are the same`() {
    let scatter = Scatter(
      "Round <trip>", unit: "ms",
      [(41, 40, "bob"), (120, 131, "<carol>"), (.nan, 3, "x"), (1, .infinity, "y")])
    #expect(scatter.points.count == 2)
    #expect(
      scatter.svg.contains("Round &lt;trip&gt; (ms)") && scatter.svg.contains("&lt;carol&gt;"))
    #expect(scatter.svg.split(separator: "<circle").count == 3 && !scatter.svg.contains("nan"))
    let file = Scatter.document("All", [scatter, Scatter("none", unit: "ms", []), scatter])
    #expect(file.split(separator: "<circle").count == 5 && !file.contains("none"))
    #expect(Scatter("none", unit: "ms", []).svg.isEmpty)
    #expect(Scatter("one", unit: "ms", [(0, 0, "z")]).svg.contains("<circle"))
  }

  @Test func `markup of others stays text`() {
    #expect(Markup.escaped("<a href=\"x\">&\u{7}") == "&lt;a href=&quot;x&quot;&gt;&amp; ")
  }
}
