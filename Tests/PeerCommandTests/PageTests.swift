import Earshot
import Foundation
import FoundationXML
import PeerCommand
import Plotting
import Testing

/// Pages that are sent to somebody: they say where they come from, and what happened when.
@Suite struct PageTests {
  private static let origin = PageOrigin(
    date: "2026-03-01T12:00:00.000Z", host: "alpha<1>", version: "0.1.0",
    words: [
      "earshot", "call", "bob", "--turn-password", "hunter2", "--turn-password=hunter3",
      "--extension", #"{"private":1}"#, "--play", "my song.wav",
    ])

  private static func isWellFormed(_ page: String) -> Bool {
    XMLParser(data: Data(page.utf8)).parse()
  }

  @Test func `a page says when, where and by which command it was made, without what is secret`() {
    #expect(
      Self.origin.command
        == "earshot call bob --turn-password … --turn-password=… --extension … --play 'my song.wav'"
    )
    let page = ReportPage.html(Sample.report(), [Sample.statistics()], origin: Self.origin)
    #expect(Self.isWellFormed(page))
    #expect(page.contains("2026-03-01T12:00:00.000Z · host alpha&lt;1&gt; · earshot 0.1.0"))
    #expect(!page.contains("hunter") && !page.contains("private"))
    #expect(page.contains("prefers-color-scheme: dark"))
  }

  @Test func `what happened is marked in each plot, and told in words`() {
    let samples = (0..<50).map { Sample.statistics(atMs: $0 * 2000, packets: 100 * $0 + 2) }
    let marks = [(name: "other side muted", at: 12.0), (name: "path changed: <direct>", at: 33.5)]
    let page = ReportPage.html(Sample.report(), samples, marks: marks)
    #expect(Self.isWellFormed(page))
    #expect(page.contains("<p>0:12 other side muted; 0:33 path changed: &lt;direct&gt;</p>"))
    let plots = page.components(separatedBy: "<svg").count - 1
    #expect(page.components(separatedBy: "class=\"mark\"").count - 1 == 2 * plots)
    let late = ReportPage.html(Sample.report(), samples, marks: [("after the end", 1e6)])
    #expect(!late.contains("class=\"mark\""))
  }

  @Test func `a pointer is shown the values of the moment`() {
    var plot = Plot(
      "Rates", unit: "kbit/s",
      [Plot.Line("a", [(0, 1), (10, 2), (20, 3)]), Plot.Line("b", [(10, 250.4)])])
    plot.marks = [("muted", 12)]
    #expect(plot.svg.contains("<title>0:07: a 2.0, b 250, muted</title>"), "\(plot.svg)")
    let many = Plot("x", unit: "y", [Plot.Line("a", (0..<5000).map { (Double($0), 1) })])
    #expect(many.svg.components(separatedBy: "<title>").count == 121)
    let one = Plot("x", unit: "y", [Plot.Line("a", [(3, 1)])])
    #expect(!one.svg.contains("<title>"))
  }

  @Test func `a probe that was refused says nothing of the line, one without an answer all`() {
    var series = ProbeSeries()
    for ending in [LineReport.Ending.busy, .noAnswer] {
      let report = ProbeSample.unavailable(ending)
      series.append(report, report.rating, at: 1)
    }
    #expect(ProbePage.plots(series)[0].lines[0].points.map(\.y) == [6])
  }

  @Test func `the event of one probe gives its own tables and page`() throws {
    let report = ProbeSample.report()
    var object = JSONObject()
    object.add("type", "probe")
    object.add("ts", "2026-03-01T10:00:00.000Z")
    ProbeLine.fill(&object, report, report.rating)
    ProbeLine.addOverTime(report, to: &object)
    let summary =
      #"{"type":"summary","ts":"2026-03-01T10:00:08.000Z","outcome":"completed","target":"bob"}"#
    let text = try EventText(Array("\(object.value.text)\n\(summary)".utf8), name: "x")
    let page = EventPlots.html(text, origin: Self.origin)
    #expect(page == ProbePage.html(report, report.rating, target: "bob", origin: Self.origin))
    let story = try #require(EventStory(text)).text
    #expect(story.contains("the probe of bob ended: completed"))
    #expect(story.hasSuffix(ProbeTable.text(report, report.rating)))
    #expect(page?.contains("<th class=\"part\">  95 % interval</th>") == true)
  }

  @Test func `the events of probes, over midnight as well, become a page`() throws {
    let lines = ["23:59:00", "00:00:00", "00:01:00"].map { time in
      #"{"type":"probe","ts":"2026-03-01T\#(time).000Z","state":"complete","quality":2,"#
        + #""rttMs":{"p50":41},"uplink":{"packetLossRate":0.02,"availableBandwidthBps":1e6},"#
        + #""downlink":{"packetLossRate":0}}"#
    }
    let wild = #"{"type":"probe","ts":"x","state":7,"quality":99,"rttMs":{"p50":1e300}}"#
    let text = (lines + [wild]).joined(separator: "\n")
    let page = EventPlots.html(try EventText(Array(text.utf8), name: "x"), origin: Self.origin)
    let found = try #require(page)
    #expect(Self.isWellFormed(found))
    #expect(found.contains("4 probes in 2:00, 3 answered; the worst was 2 good, at 0:00"))
    #expect(found.contains("carries up    1 Mbit/s"))
    #expect(found.components(separatedBy: "<svg").count == 5)
  }
}
