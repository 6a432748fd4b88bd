import Earshot
import PeerCommand
import Reactor
import Testing

/// The contract's `probe` line.
@Suite struct ProbeLineTests {
  private static func keys(_ value: JSONValue?) -> [String] {
    guard case .object(let members) = value else { return [] }
    return members.map(\.key)
  }

  private static func line(_ report: LineReport) -> JSONValue {
    var object = JSONObject()
    ProbeLine.fill(&object, report, report.rating)
    return JSONReader.value(of: object.value.text) ?? .boolean(false)
  }

  @Test func `the keys of the contract stand first, in its order`() {
    let line = Self.line(ProbeSample.report())
    #expect(
      Self.keys(line).prefix(11) == [
        "state", "quality", "rttMs", "loadedRttMs", "uplink", "downlink", "fit", "recommended",
        "cost", "mos", "mosBasis",
      ])
    #expect(Self.keys(line["rttMs"]) == ["min", "p50", "p95", "p99"])
    #expect(Self.keys(line["loadedRttMs"]) == ["min", "p50", "p95", "p99"])
    #expect(
      Self.keys(line["uplink"]).prefix(9) == [
        "packetLossRate", "lossInterval95", "meanLossBurst", "jitterMs", "reordered",
        "duplicated", "availableBandwidthBps", "bandwidthInterval95Bps", "cappedByTest",
      ])
    #expect(Self.keys(line["fit"]) == ["voice", "video", "hd", "limit"])
    #expect(
      Self.keys(line["recommended"]) == [
        "audioBitrateBps", "fec", "jitterBufferStartMs", "videoMaxBps", "frameMs",
      ])
    #expect(Self.keys(line["cost"]).prefix(3) == ["seconds", "bytesSent", "bytesReceived"])
  }

  @Test func `a line is read again as what was written`() throws {
    var report = ProbeSample.report()
    report.uplink?.bandwidth?.ranOutOfTime = true
    report.downlink?.otherEndLimit = 2_500_000
    var object = JSONObject()
    ProbeLine.fill(&object, report, report.rating)
    ProbeLine.addOverTime(report, to: &object)
    let line = try #require(JSONReader.value(of: object.value.text))
    let again = try #require(LineReport(probeLine: line))
    // The same sentence, tables and lines over time, to the letter.
    #expect(ProbeTable.text(again, again.rating) == ProbeTable.text(report, report.rating))
    let page = ProbePage.html(report, report.rating, target: "bob")
    #expect(ProbePage.html(again, again.rating, target: "bob") == page)
    #expect(page.contains("at least 1104 kbit/s") && page.contains("the test's time"))
    #expect(object.value.text.utf8.count < 32 << 10)
  }

  @Test(
    arguments: [
      #"{"state":"complete"}"#, #"{"state":"complete","ending":"finished","uplink":7}"#,
      #"{"state":"complete","ending":"finished","rttMs":{"p50":-1,"p95":1e99,"p99":3}}"#,
      #"{"state":"complete","ending":"finished","timeline":{"uplink":[[1],[1,2,3,"x"],7]}}"#,
      #"{"state":"complete","ending":"finished","phases":[{"phase":"idle","fromMs":9,"toMs":1}]}"#,
      #"{"state":"complete","ending":"finished","uplink":{"lossInterval95":[3,2],"packetLossRate":2}}"#,
    ])
  func `what is no figure of ours is absent`(text: String) throws {
    let report = LineReport(probeLine: try #require(JSONReader.value(of: text)))
    #expect(report?.idleRoundTrip == nil && report?.timeline.isEmpty != false)
    #expect(report?.phases.isEmpty != false && report?.uplink?.loss == nil)
    _ = report.map { ProbePage.html($0, $0.rating, target: "x") }
  }

  @Test func `directions are never mixed up, and units are those of the names`() {
    let line = Self.line(ProbeSample.report())
    #expect(line["state"]?.asString == "complete")
    #expect(line["quality"]?.asNumber == 2)
    #expect(line["uplink"]?["packetLossRate"]?.asNumber == 0.02)
    #expect(line["downlink"]?["packetLossRate"]?.asNumber == 0)
    #expect(line["uplink"]?["availableBandwidthBps"]?.text == "1104322")
    #expect(line["downlink"]?["availableBandwidthBps"]?.text == "2500000")
    #expect(line["uplink"]?["cappedByTest"]?.text == "false")
    #expect(line["downlink"]?["cappedByTest"]?.text == "true")
    #expect(line["loadedRttMs"]?["p50"]?.asNumber == 240)
    #expect(line["rttMs"]?["p95"]?.asNumber == 45.25)
    #expect(line["cost"]?["seconds"]?.asNumber == 7.8)
  }

  @Test func `what became of ECN, and what the clocks did, are told`() {
    let line = Self.line(ProbeSample.report())
    #expect(line["uplink"]?["ecn"]?.asString == "survived")
    #expect(line["downlink"]?["ecn"]?.asString == "bleached")
    #expect(
      Self.keys(line["clock"]) == [
        "resolutionUs", "driftPpm", "driftUncertaintyPpm", "sendLatenessP95Us", "arrivalStamps",
      ])
    #expect(line["clock"]?["driftPpm"]?.asNumber == -2.5)
    #expect(line["clock"]?["arrivalStamps"]?.asString == "kernel")
  }

  @Test func `what was not measured is absent`() {
    var report = ProbeSample.report()
    report.state = .incompleteNoBandwidth
    report.downlink = nil
    report.uplink?.bandwidth = nil
    report.uplink?.meanLossBurst = nil
    report.uplink?.loadedRoundTrip = nil
    report.idleRoundTrip = nil
    let line = Self.line(report)
    #expect(
      Self.keys(line).prefix(6) == ["state", "quality", "uplink", "fit", "recommended", "cost"])
    let side = Self.keys(line["uplink"])
    for key in ["availableBandwidthBps", "cappedByTest", "meanLossBurst", "loadedRttMs"] {
      #expect(!side.contains(key))
    }
    #expect(line["recommended"]?["videoMaxBps"] == nil)
    let nothing = Self.line(ProbeSample.unavailable(.busy))
    #expect(Self.keys(nothing).prefix(3) == ["state", "quality", "cost"])
    #expect(nothing["ending"]?.asString == "busy" && nothing["quality"]?.asNumber == 0)
  }

  @Test(arguments: [
    (LineReport.Ending.noAnswer, ExitCode.unreachable, "unreachable"),
    (.noPath, .unreachable, "unreachable"), (.sessionLost, .unreachable, "unreachable"),
    (.busy, .refused, "busy"),
    (.notAllowed, .refused, "rejected"), (.callInProgress, .refused, "busy"),
    (.cancelled, .interrupted, "cancelled"), (.notSupported, .failed, "failed"),
  ])
  func `an end without figures has its code and its word`(
    ending: LineReport.Ending, code: ExitCode, outcome: String
  ) {
    let report = ProbeSample.unavailable(ending)
    #expect(ExitCode(report, report.rating, required: nil) == code)
    #expect(ExitCode(report, report.rating, required: .voice) == code)
    #expect(ProbeSummary.outcome(report) == outcome)
  }

  @Test func `what is required decides, and only a clear yes will do`() {
    let report = ProbeSample.report()
    #expect(ExitCode(report, report.rating, required: nil) == .done)
    #expect(ExitCode(report, report.rating, required: .video) == .done)
    #expect(report.rating.fitness.hd == .maybe)
    #expect(ExitCode(report, report.rating, required: .hd) == .quality)
  }
}
