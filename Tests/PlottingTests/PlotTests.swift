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
    #expect(svg.contains("Rates &lt;of&gt; a line in kbit/s") && svg.contains("carried"))
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
    for (most, step) in [(4.0, "1.0"), (9, "2.0"), (20, "5.0"), (45, "10.0"), (900, "200")] {
      let plot = Plot("x", unit: "y", [Plot.Line("a", [(0, 0), (1, most)])])
      #expect(plot.svg.contains(">\(step)</text>"), "\(most)")
    }
  }

  @Test func `markup of others stays text`() {
    #expect(Markup.escaped("<a href=\"x\">&\u{7}") == "&lt;a href=&quot;x&quot;&gt;&amp; ")
  }
}
