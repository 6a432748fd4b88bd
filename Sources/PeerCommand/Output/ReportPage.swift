package import Earshot
internal import Plotting

/// `--report`: one page that needs nothing else, with plots over the call and its table.
package enum ReportPage {
  package static func html(
    _ report: CallReport, _ samples: [CallStatistics], prediction: String? = nil,
    marks: [(name: String, at: Double)] = [], members: [(title: String, text: String)] = [],
    origin: PageOrigin? = nil
  ) -> String {
    let all = EndTable.rows(report, savedTo: nil, prediction: prediction) + members
    let rows = all.map { title, text in
      "<tr><th>\(Markup.escaped(title))</th><td>\(Markup.escaped(text))</td></tr>\n"
    }
    var plots = SoundPlots.plots(samples.map(SoundPlots.Sample.init)) + LinePlots.plots(samples)
    for index in plots.indices { plots[index].marks = marks }
    let drawings = plots.map(\.svg).joined()
    let body =
      "<table>\n\(rows.joined())\(steps(report.timeline))</table>\n"
      + (drawings.isEmpty ? "<p>Nothing was measured: no media flowed.</p>\n" : drawings)
    return Page.html(
      title: "Earshot: call \(report.callID)", heading: "Call \(report.callID)", origin: origin,
      CallMarks.markup(marks) + body)
  }

  private static func steps(_ timeline: CallReport.Timeline) -> String {
    let steps = [
      ("delivered", timeline.deliveredMs), ("accepted", timeline.acceptedMs),
      ("path ready", timeline.pathReadyMs), ("first frame sent", timeline.firstFrameSentMs),
      ("first frame received", timeline.firstFrameReceivedMs),
      ("connected", timeline.connectedMs),
      ("first picture", timeline.firstVideoFrameDecodedMs),
    ]
    let text = steps.compactMap { name, at in at.map { "\(name) \($0) ms" } }
    guard !text.isEmpty else { return "" }
    return "<tr><th>steps</th><td>\(text.joined(separator: ", "))</td></tr>\n"
  }
}
