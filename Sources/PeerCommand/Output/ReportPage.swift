package import Earshot
internal import Glibc
package import Plotting
internal import Primitives

/// `--report`: one page that needs nothing else, with plots over the call and its table.
package enum ReportPage {
  package static func html(
    _ report: CallReport, _ samples: [CallStatistics], prediction: String? = nil,
    marks: [(name: String, at: Double)] = [], origin: PageOrigin? = nil
  ) -> String {
    let rows = EndTable.rows(report, savedTo: nil, prediction: prediction).map { title, text in
      "<tr><th>\(Markup.escaped(title))</th><td>\(Markup.escaped(text))</td></tr>\n"
    }
    var all = plots(samples) + LinePlots.plots(samples)
    for index in all.indices { all[index].marks = marks }
    let drawings = all.map(\.svg).joined()
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

  package static func plots(_ samples: [CallStatistics]) -> [Plot] {
    [
      Plot(
        "Round trip", unit: "ms",
        [Plot.Line("round trip", points(samples) { $0.currentRttMs })]),
      Plot(
        "Loss on the way in", unit: "% of packets since the sample before",
        [
          Plot.Line("before repair", loss(samples) { $0.packetsLost }),
          Plot.Line("not repaired", loss(samples) { $0.residualLost }),
        ]),
      Plot(
        "Jitter buffer", unit: "ms",
        [
          Plot.Line("median so far", points(samples) { $0.received.jitterBufferDelayMs?.p50 }),
          Plot.Line("95 % so far", points(samples) { $0.received.jitterBufferDelayMs?.p95 }),
        ]),
      Plot(
        "Bit rate", unit: "kbit/s",
        [
          Plot.Line("received", rate(samples) { $0.received.bytesReceived }),
          Plot.Line("sent", rate(samples) { $0.sent.bytesSent }),
        ]),
      Plot(
        "Level heard", unit: "dB below full scale",
        [
          Plot.Line(
            "heard", points(samples) { 20 * log10(max($0.received.audioLevel, 0.000_1)) })
        ]),
    ]
  }

  private static func seconds(_ sample: CallStatistics) -> Double { Double(sample.atMs) / 1000 }

  private static func points(
    _ samples: [CallStatistics], _ value: (CallStatistics) -> Double?
  ) -> [(x: Double, y: Double)] {
    samples.compactMap { sample in value(sample).map { (seconds(sample), $0) } }
  }

  /// What is late for a sample may take a loss back: then none is drawn.
  private static func loss(
    _ samples: [CallStatistics], _ count: (CallStatistics.Inbound) -> Int
  ) -> [(x: Double, y: Double)] {
    zip(samples, samples.dropFirst()).compactMap { before, sample in
      let (now, then) = (sample.received, before.received)
      let all = now.packetsLost + now.packetsReceived - then.packetsLost - then.packetsReceived
      guard all > 0 else { return nil }
      let share = Double(count(now) - count(then)) / Double(all)
      return (seconds(sample), 100 * min(1, max(0, share)))
    }
  }

  private static func rate(
    _ samples: [CallStatistics], _ bytes: (CallStatistics) -> Int
  ) -> [(x: Double, y: Double)] {
    zip(samples, samples.dropFirst()).compactMap { before, sample in
      let milliseconds = sample.atMs - before.atMs
      guard milliseconds >= 200 else { return nil }
      return (seconds(sample), Double(bytes(sample) - bytes(before)) * 8 / Double(milliseconds))
    }
  }
}
