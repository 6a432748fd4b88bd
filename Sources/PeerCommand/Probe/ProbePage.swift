package import Earshot
package import Plotting

/// `--report` of a probe: the sentence, the tables and the test over time, on one page that needs
/// nothing else.
package enum ProbePage {
  /// - Parameter series: of a line that was probed again and again: the page is about all of it,
  ///   and about the last probe below.
  package static func html(
    _ report: LineReport, _ rating: LineRating, series: ProbeSeries? = nil, target: String,
    origin: PageOrigin? = nil
  ) -> String {
    let sides = ProbeTable.rows(report, rating).enumerated().map { index, row in
      let cell = index == 0 ? "th" : "td"
      // Further figures of the row above.
      let style = row.title.hasPrefix(" ") ? " class=\"part\"" : ""
      return "<tr><th\(style)>\(Markup.escaped(row.title))</th>"
        + "<\(cell)>\(Markup.escaped(row.up))</\(cell)>"
        + "<\(cell)>\(Markup.escaped(row.down))</\(cell)></tr>\n"
    }
    let facts = ProbeTable.facts(report, rating).map { title, text in
      "<tr><th>\(Markup.escaped(title))</th><td>\(Markup.escaped(text))</td></tr>\n"
    }
    var body = "<p class=\"verdict\">\(Markup.escaped(rating.sentence))</p>\n"
    if report.state != .unavailable {
      body += "<table>\n\(sides.joined())</table>\n<table>\n\(facts.joined())</table>\n"
    }
    if let series {
      body =
        all(series)
        + "<h2>The last probe</h2>\n" + body
    }
    let drawings = plots(report).map(\.svg).joined()
    body += drawings.isEmpty ? "<p>Nothing was sent: there is nothing to draw.</p>\n" : drawings
    return Page.html(
      title: "Earshot: probe of \(target)", heading: "Probe of \(target)", origin: origin, body)
  }

  package static func plots(_ report: LineReport) -> [Plot] {
    let directions = LineDirection.allCases.filter { report.plan.probes($0) }
    let timeline = ProbeTable.settled(report)
    func lines(_ value: (TimelinePoint) -> Double?) -> [Plot.Line] {
      directions.map { direction in
        Plot.Line(
          direction.word,
          timeline.filter { $0.direction == direction }
            .compactMap { point in value(point).map { (point.at, $0) } })
      }
    }
    var plots = [
      Plot("Delay above the least", unit: "ms", lines { $0.addedDelayMs }),
      Plot(
        "Loss", unit: "% of the packets of 100 ms",
        lines { $0.sent > 0 ? 100 * Double($0.lost) / Double($0.sent) : nil }),
      Plot("Rate sent", unit: "kbit/s", lines { $0.sentRate / 1000 }),
      Plot("Rate that arrived", unit: "kbit/s", lines(arrived)),
    ]
    for index in plots.indices {
      plots[index].spans = report.phases.map { ($0.phase.word, $0.from, $0.to) }
    }
    return plots
  }

  /// What all probes of a line have found, in words and drawings.
  package static func all(_ series: ProbeSeries) -> String {
    "<pre>\(Markup.escaped(series.text))</pre>\n"
      + (series.clockSecond == nil ? "" : "<p>Times are those of the day, UTC.</p>\n")
      + plots(series).map(\.svg).joined()
  }

  /// All of a watched line at a glance.
  package static func plots(_ series: ProbeSeries) -> [Plot] {
    func line(_ name: String, _ value: (ProbeSeries.Sample) -> Double?) -> Plot.Line {
      Plot.Line(name, series.samples.compactMap { sample in value(sample).map { (sample.at, $0) } })
    }
    var grade = Plot(
      "Grade", unit: "1 excellent to 6 nothing passes",
      // Who refuses, or is busy, says nothing of the line.
      [line("grade") { $0.grade == .unknown ? nil : Double($0.grade.rawValue) }])
    grade.leastTop = 6
    var plots = [
      grade,
      Plot("Round trip", unit: "ms", [line("median", \.roundTripMs)]),
      Plot(
        "Loss", unit: "%",
        [
          line("uplink") { $0.uplinkLoss.map { $0 * 100 } },
          line("downlink") { $0.downlinkLoss.map { $0 * 100 } },
        ]),
      Plot(
        "What it carries", unit: "kbit/s",
        [
          line("uplink") { $0.uplinkBps.map { $0 / 1000 } },
          line("downlink") { $0.downlinkBps.map { $0 / 1000 } },
        ]),
    ]
    for index in plots.indices { plots[index].secondOfDay = series.clockSecond }
    return plots
  }

  private static func arrived(_ point: TimelinePoint) -> Double? {
    guard point.sent > 0 else { return nil }
    return point.sentRate / 1000 * (1 - Double(point.lost) / Double(point.sent))
  }
}
