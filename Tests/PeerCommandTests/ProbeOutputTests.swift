import Earshot
import Foundation
import PeerCommand
import Plotting
import Reactor
import Testing

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// What a probe prints, to the letter.
@Suite struct ProbeOutputTests {
  private static func text(_ change: (inout LineReport) -> Void = { _ in }) -> String {
    var report = ProbeSample.report()
    change(&report)
    return ProbeTable.text(report, report.rating)
  }

  private static let golden = """
    Good for voice and 360p video; the uplink is the weak side: 1.1 Mbit/s, loss 2 %; a full uplink adds 199 ms of delay.

                          uplink                    downlink
      grade               2 good                    1 excellent
      bandwidth           1104 kbit/s               at least 2500 kbit/s
        95 % interval     1080 to 1130 kbit/s       from 2480 kbit/s
      loss                2 %                       0 %
        95 % interval     1.23 to 3.22 %            0.00 to 0.32 %
        in a row          1.6 packets               -
        left by repair    0 % (predicted)           -
      loss when full      2 %                       -
      jitter              1.5 ms                    1 ms
        95 %, 99 %        8 ms, 13 ms               3 ms, 4 ms
      round trip, full    240 ms                    48 ms
        95 %              260 ms                    55 ms
        RPM               250                       1250
      reordered           3                         -
      duplicated          1                         -
      ECN                 survived                  bleached
      packets             980 of 1000               1500 of 1500
    """

  @Test func `the sentence comes first, then both directions side by side`() {
    #expect(Self.text().hasPrefix(Self.golden), "\(Self.text())")
  }

  @Test func `less than a millisecond is not 0`() {
    let text = Self.text { report in
      report.clock?.sendLatenessP95Us = 12
      report.uplink?.loadedRoundTrip?.p50Ms = 0.021
    }
    #expect(text.contains("packets left up to 12 µs late"), "\(text)")
    #expect(text.contains("over 600000"))
  }

  @Test func `the test over time is a sparkline for each direction's delay and loss`() {
    let lines = Self.text().split(separator: "\n").map(String.init)
    let delay = lines.first { $0.hasPrefix("  uplink delay") }
    #expect(delay?.hasSuffix("▆▇▇▇▇▇▇▇▇███████") == true, "\(delay ?? "")")
    #expect(lines.contains { $0.hasPrefix("  downlink delay  ▁▁▁▁") })
    #expect(
      lines.contains {
        $0.hasSuffix("0 to 7.8 s; full height is 195 ms above the least delay, 20 % loss")
      })
    #expect(lines.contains { $0.hasPrefix("  loss            ▁▁▁▁▁█") })
  }

  @Test func `parts of the test are told one by one`() {
    let lines = ProbeTable.intervals(ProbeSample.report(), seconds: 2).split(separator: "\n")
    #expect(lines.first?.hasPrefix("  time        way    sent") == true)
    #expect(lines.count > 4 && lines.allSatisfy { $0.count <= 79 }, "\(lines)")
    #expect(lines.dropFirst().allSatisfy { $0.contains(" up ") || $0.contains(" down ") })
    let nothing = ProbeSample.unavailable(.noAnswer)
    #expect(ProbeTable.intervals(nothing, seconds: 2).isEmpty)
  }

  @Test func `a page of a series shows all of it, and the last probe`() {
    let report = ProbeSample.report()
    var series = ProbeSeries()
    for minute in 0..<1440 { series.append(report, report.rating, at: Double(minute) * 60) }
    let page = ProbePage.html(report, report.rating, series: series, target: "bob")
    let parser = XMLParser(data: Data(page.utf8))
    #expect(parser.parse(), "\(String(describing: parser.parserError))")
    #expect(page.components(separatedBy: "<svg").count == 9)
    #expect(page.contains("1440 probes in 23:59:00, 1440 answered"))
  }

  @Test func `a day's page and its worst moment have the times of the day`() {
    let report = ProbeSample.report()
    var series = ProbeSeries(secondOfDay: 9 * 3600 + 40 * 60)
    for minute in 0..<1440 { series.append(report, report.rating, at: Double(minute) * 60) }
    let page = ProbePage.html(report, report.rating, series: series, target: "bob")
    #expect(page.contains(">12:00</text>") && page.contains(">00:00</text>"))
    #expect(!page.contains(">4:00:00</text>"))
    #expect(page.contains("<title>23:") && page.contains("Times are those of the day, UTC."))
    #expect(series.text.contains(", at 09:40 UTC"))
    // A short one, and one of a week, count from their beginning.
    for step in [1.0, 600] {
      var other = ProbeSeries(secondOfDay: 9 * 3600 + 40 * 60)
      for number in 0..<1000 { other.append(report, report.rating, at: Double(number) * step) }
      #expect(other.clockSecond == nil && !other.text.contains("UTC"))
    }
  }

  @Test func `facts and advice have their basis`() {
    let text = Self.text()
    for part in [
      "round trip   41 ms (least 40 ms, 95 % 45 ms, 99 % 52 ms); 118 of 120 answered",
      "path         direct, to 192.0.2.1:7400, seen as 203.0.113.7:40000, translated",
      "fit for      voice yes, 360p video yes, 720p video maybe; limit: uplink bandwidth 1.1 Mbit/s",
      "begin with   audio of 48 kbit/s: the most that fits into 85 % of 1.1 Mbit/s",
      "             FEC on: loss of 2 % was seen", "video up to 800 kbit/s",
      "MOS 4.", "measured     in 7.8 s with 812 kB sent, 1.7 MB received",
      "the other clock 2.5 ± 4 ppm slow, arrivals stamped by the kernel",
    ] { #expect(text.contains(part), "\(part)\n\(text)") }
  }

  @Test func `what was not measured is not in the table`() {
    let text = Self.text {
      $0.uplink = nil
      $0.plan.probesUplink = false
      $0.downlink?.bandwidth = nil
      $0.downlink?.ecn = nil
    }
    #expect(text.contains("uplink (not probed)"))
    for absent in ["bandwidth  ", "ECN", "uplink delay", "duplicated"] {
      #expect(!text.contains(absent), "\(absent)")
    }
  }

  @Test(arguments: LineReport.Ending.allCases)
  func `a probe without any figure is one sentence`(ending: LineReport.Ending) {
    let report = ProbeSample.unavailable(ending)
    let text = ProbeTable.text(report, report.rating)
    #expect(!text.contains("\n") && text.hasSuffix("."))
  }

  @Test func `a page is well-formed, needs nothing else, and has four plots`() {
    let report = ProbeSample.report()
    let page = ProbePage.html(report, report.rating, target: "bob & <co>")
    let nothing = ProbeSample.unavailable(.noAnswer)
    for page in [page, ProbePage.html(nothing, nothing.rating, target: "x")] {
      let parser = XMLParser(data: Data(page.utf8))
      #expect(parser.parse(), "\(String(describing: parser.parserError))")
      for word in ["http", "src=", "<link", "<script", "url(", "@import"] {
        #expect(!page.contains(word), "\(word)")
      }
    }
    #expect(page.components(separatedBy: "<svg").count == 5)
    #expect(page.components(separatedBy: "<polyline").count == 9)
    #expect(page.contains("Probe of bob &amp; &lt;co&gt;"))
    #expect(page.contains("<title>uplink full</title>"))
    let empty = ProbePage.plots(nothing).filter { $0.svg.isEmpty }
    #expect(empty.count == 4)
  }

  @Test func `a watched line has one line a grade`() {
    var report = ProbeSample.report()
    report.uplink?.bandwidth = nil
    report.idleRoundTrip?.delay.p50Ms = 0.38
    #expect(ProbeRun.watchLine(report, report.rating, seconds: 1).contains("rtt 380 µs  up: "))
    report = ProbeSample.report()
    report.downlink?.bandwidth = nil
    #expect(
      ProbeRun.watchLine(report, report.rating, seconds: 72)
        == "1:12  2 good  rtt 41 ms  up: loss 2 %, jitter 8 ms, 1.1 Mbit/s  down: loss 0 %, jitter 3 ms"
    )
    let silent = ProbeSample.unavailable(.noAnswer)
    #expect(
      ProbeRun.watchLine(silent, silent.rating, seconds: 4)
        == "0:04  6 down  The other end did not answer within 8 s.")
  }

  @Test(arguments: [1, 5, 20, 40, 80, 200])
  func `the live region fits the terminal`(columns: Int) {
    var view = ProbeView(target: "192.0.2.1:7400")
    view.share = 0.5
    view.latestRoundTripMs = 41
    view.grade = .good
    for phase in ProbePhase.allCases {
      view.phase = phase
      let lines = view.lines(columns: columns)
      #expect(lines.count == 2 || columns < 80)
      #expect(lines.allSatisfy { $0.count <= max(1, columns - 1) })
    }
    #expect(view.lines(columns: 80)[1].hasSuffix("50 %  rtt 41 ms  so far good"))
    view.latestRoundTripMs = 0.056
    view.nextAt = 61
    #expect(
      view.lines(columns: 80)
        == ["probing 192.0.2.1:7400  the next one at 1:01", "rtt 56 µs  so far good"])
    var region = StatusRegion(usesColor: false)
    region.probe = view
    #expect(region.redraw(columns: 80).contains("probing 192.0.2.1:7400"))
  }

  @Test func `a sparkline has a letter a value, and none for what is not known`() {
    #expect(Sparkline.text([0, 4, 8, nil, .nan, 80, -1], top: 8) == "▁▅█  █▁")
    #expect(Sparkline.text([1, 2], top: 0) == "▁▁")
    let columns = Sparkline.columns([(0, 1), (0.9, 3), (1, 2), (5, 9)], count: 2, until: 2)
    #expect(columns == [3, 9])
    #expect(Sparkline.columns([(0, 1)], count: 0, until: 0) == [nil])
  }
}
