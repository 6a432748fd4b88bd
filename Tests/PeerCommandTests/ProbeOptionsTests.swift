import Arguments
import Earshot
import PeerCommand
import Testing

@Suite struct ProbeOptionsTests {
  private static func options(
    _ words: [String], rendezvous: String? = nil
  ) throws(UsageError) -> ProbeOptions {
    try ProbeOptions(Arguments(words)) { $0 == "EARSHOT_RENDEZVOUS" ? rendezvous : nil }
  }

  @Test func `who probes a rendezvous too often for it is told`() throws {
    func often(_ words: String...) throws -> String? { try Self.options(words).tooOften }
    #expect(try often("1.2.3.4", "--every", "10s")?.contains("--every 15s") == true)
    #expect(try often("1.2.3.4", "--every", "15s") == nil)
    #expect(try often("1.2.3.4", "--watch") == nil && often("1.2.3.4") == nil)
  }

  @Test func `a probe has every option of the contract`() throws {
    let options = try Self.options(
      [
        "bob", "--uplink", "--expected-uplink", "100000", "--expected-downlink=5000000",
        "--duration", "30", "--watch", "--require", "hd", "--report", "r.html", "--json",
      ], rendezvous: "10.0.0.1:7400")
    #expect(options.target == "bob" && !options.isRendezvous)
    #expect(options.plan.probesUplink && !options.plan.probesDownlink)
    #expect(options.plan.expectedUplink == 100_000 && options.plan.expectedDownlink == 5_000_000)
    #expect(options.plan.seconds == 30 && options.watches && options.required == .hd)
    #expect(options.online.report == "r.html" && options.online.isJSON)
    #expect(!options.plan.measuresBandwidth && options.plan.isValid)
  }

  @Test func `a line is probed again and again, or watched, for as long as is wanted`() throws {
    let often = try Self.options(["h:1", "--every", "60s", "--for", "24h", "--csv", "day.csv"])
    #expect(
      often.repetition == ProbeRepetition(period: .seconds(60), total: .seconds(86_400))
        && !often.watches && often.plan.measuresBandwidth && often.csv == "day.csv")
    let watched = try Self.options(["h:1", "--watch", "--for", "10m"])
    #expect(watched.repetition == ProbeRepetition(period: .seconds(2), total: .seconds(600)))
    #expect(try Self.options(["h:1", "--interval", "1s"]).interval == 1)
  }

  @Test func `fast lines, both at once, marked packets and a line for each of them`() throws {
    let options = try Self.options(
      [
        "h:1", "--expected-uplink", "50M", "--expected-downlink", "100M", "--both-at-once",
        "--dscp", "ef", "--packets", "p.csv",
      ])
    #expect(options.plan.expectedUplink == 50_000_000 && options.plan.isValid)
    #expect(options.plan.expectedDownlink == 100_000_000 && options.plan.loading == .atOnce)
    #expect(options.plan.keepsPackets && options.packets == "p.csv")
    #expect(options.dscp?.value == 46)
    let values = try ["0", "63", "CS5", "AF41", "af11", "LE"].map { try DSCP(parsing: $0).value }
    #expect(values == [0, 63, 40, 34, 10, 1])
  }

  @Test func `what is not given has the defaults of the contract`() throws {
    let options = try Self.options(["192.0.2.1:7400"])
    #expect(options.isRendezvous && options.online.rendezvous == "192.0.2.1:7400")
    #expect(options.plan == ProbePlan() && !options.watches && options.required == nil)
    let both = try Self.options(["h:1", "--uplink", "--downlink"])
    #expect(both.plan.probesUplink && both.plan.probesDownlink)
  }

  @Test(arguments: [
    ("192.0.2.1", "192.0.2.1:7400"), ("[::1]", "[::1]:7400"), ("localhost", "localhost:7400"),
    ("line.example.org", "line.example.org:7400"), ("h:1", "h:1"),
  ])
  func `an address needs no port, and no rendezvous`(text: String, whole: String) throws {
    let options = try Self.options([text, "--expected-uplink", "2.5M", "--duration", "10s"])
    #expect(options.isRendezvous && options.target == whole && options.online.rendezvous == whole)
    #expect(options.plan.expectedUplink == 2_500_000 && options.plan.seconds == 10)
  }

  @Test func `what may be a name is one where somebody can be asked`() throws {
    let named = try Self.options(["b.smith"], rendezvous: "10.0.0.1")
    #expect(!named.isRendezvous && named.online.rendezvous == "10.0.0.1:7400")
    #expect(try Self.options(["10.0.0.2"], rendezvous: "10.0.0.1").isRendezvous)
  }

  @Test(arguments: [
    [], ["bob"], ["h:0"], ["h:1#short"], ["b ob", "--rendezvous", "h:1"],
    ["h:1", "--expected-uplink", "99999"], ["h:1", "--expected-downlink", "100000001"],
    ["h:1", "--duration", "31"], ["h:1", "--duration", "1"], ["h:1", "--require", "music"],
    ["h:1", "h:2"], ["h:1", "--play", "x.wav"], ["h:1", "--watch", "--every", "60s"],
    ["h:1", "--for", "1h"], ["h:1", "--every", "8s"], ["h:1", "--every", "25h"],
    ["h:1", "--interval", "0"], ["h:1", "--dscp", "64"], ["h:1", "--dscp", "AF14"],
    ["h:1", "--both-at-once", "--uplink"], ["h:1", "--packets", "p.csv", "--watch"],
    ["h:1", "--packets", "p.csv", "--every", "60s"],
  ])
  func `a wrong probe is refused with a sentence`(words: [String]) {
    let error = #expect(throws: UsageError.self) { _ = try Self.options(words) }
    #expect(error?.message.hasSuffix(".") == true)
    #expect(error.map { CommandFailure($0).code } == .usage)
  }
}
