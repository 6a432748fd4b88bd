import Arguments
import Earshot
import PeerCommand
import Reactor
import Testing

@Suite struct ProbeHistoryTests {
  private static func pair(_ target: String, at: UInt64) throws -> ProbeHistory.Pair {
    let report = ProbeSample.report()
    let probed = try #require(
      ProbeMemory.Entry(report, report.rating, target: target, at: at - 60))
    return try #require(ProbeHistory.Pair(probed, Sample.statistics(), at: at, seconds: 30))
  }

  @Test func `each call after a probe is kept with what was predicted and what was`() throws {
    let folder = try TemporaryFolder()
    let history = ProbeHistory(besideIdentity: folder.file("me"))
    #expect(try history.pairs().isEmpty)
    try history.append(try Self.pair("bob", at: 1000))
    try history.append(try Self.pair("carol", at: 2000))
    let pairs = try history.pairs()
    #expect(pairs == [try Self.pair("bob", at: 1000), try Self.pair("carol", at: 2000)])
    #expect(pairs[0].predicted[.rttMs] == 41 && pairs[0].actual[.rttMs] == 20)
    #expect(pairs[0].ageSeconds == 60 && pairs[0].seconds == 30)
  }

  @Test func `a damaged file loses what is damaged, and a full one the oldest`() throws {
    let folder = try TemporaryFolder()
    let good = try Self.pair("bob", at: 1000)
    let lines = (0..<ProbeHistory.maxPairs).map { number in
      var pair = good
      pair.at = UInt64(number)
      return pair.json.value.text
    }
    try OutputFile(creating: folder.file("me.probe-history")).write(
      "{\"target\":1}\n\u{0}\n[]\n" + lines.joined(separator: "\n") + "\n")
    let history = ProbeHistory(besideIdentity: folder.file("me"))
    #expect(try history.pairs().count == ProbeHistory.maxPairs)
    try history.append(good)
    let kept = try history.pairs()
    #expect(kept.count == ProbeHistory.maxPairs && kept[0].at == 1)
    // What is no history is not written over.
    let long = String(repeating: "x", count: ProbeHistory.maxByteCount)
    try OutputFile(creating: folder.file("me.probe-history")).write(long)
    let error = #expect(throws: ReactorError.self) { try history.append(good) }
    #expect(
      error?.description.contains("longer than 1 MiB") == true, "\(String(describing: error))")
    let left = try ProcessSurroundings.contents(
      of: folder.file("me.probe-history"), limit: 2 * ProbeHistory.maxByteCount)
    #expect(left.count == ProbeHistory.maxByteCount)
    #expect(throws: ReactorError.self) { try history.pairs() }
    let nowhere = ProbeHistory(besideIdentity: "/nowhere/me")
    #expect(throws: ReactorError.self) { try nowhere.append(good) }
    #expect(try nowhere.pairs().isEmpty)
  }

  @Test func `two programs that end their calls at once both stand in the history`() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("me")
    let pairs = try (0..<40).map { try Self.pair("bob\($0)", at: UInt64(1000 + $0)) }
    try await withThrowingTaskGroup { group in
      for pair in pairs { group.addTask { try ProbeHistory(besideIdentity: path).append(pair) } }
      try await group.waitForAll()
    }
    let kept = try ProbeHistory(besideIdentity: path).pairs().map(\.target)
    #expect(Set(kept) == Set(pairs.map(\.target)) && kept.count == 40)
  }

  @Test func `nothing heard is nothing to compare`() throws {
    let report = ProbeSample.report()
    let probed = try #require(ProbeMemory.Entry(report, report.rating, target: "bob", at: 1))
    let none = ProbeHistory.Pair(probed, CallStatistics(atMs: 0), at: 2, seconds: 0)
    #expect(none == nil)
  }

  @Test func `the history says for each figure how far off it was`() throws {
    #expect(HistoryText.text([]).hasPrefix("No call was made"))
    let pairs = try [Self.pair("bob", at: 1_000_000_000), Self.pair("bob", at: 1_000_003_600)]
    let text = HistoryText.text(pairs)
    #expect(text.contains("2001-09-09 01:46  bob  MOS 4"), "\(text)")
    #expect(text.contains("round trip 41 ms, was 20 ms"))
    #expect(text.contains("round trip: 2 calls, off by 21 ms (median), 21 ms (95 %)"), "\(text)")
    #expect(text.contains("on average 21 ms too high"))
    let other = HistoryText.text([], of: "carol", among: pairs)
    #expect(other.contains("No call with 'carol'") && other.contains("calls with bob."), "\(other)")
    var exact = pairs
    for index in exact.indices { exact[index].predicted = exact[index].actual }
    #expect(HistoryText.text(exact).contains("on average right"))
    #expect(!HistoryText.text(exact).contains("too high"))
    let page = HistoryText.page(pairs)
    #expect(page.split(separator: "<svg").count >= 6 && page.contains("predicted"))
  }

  @Test func `probe --history takes a peer, a page and no rendezvous`() throws {
    #expect(HistoryCommand.isMeant(["--history", "bob"]) && !HistoryCommand.isMeant(["bob"]))
    let command = try HistoryCommand(
      Arguments(["--history", "bob", "--json", "--report", "h.html"]))
    #expect(command.target == "bob" && command.isJSON && command.report == "h.html")
    #expect(throws: UsageError.self) {
      _ = try HistoryCommand(Arguments(["--history", "--watch"]))
    }
  }

  @Test func `every packet is a line, and what is not known is empty`() {
    var report = ProbeSample.report()
    #expect(report.packets.isEmpty)
    report.packets = []
    let text = ProbeJournal.text(report.packets)
    #expect(text == "direction,sequence,sent_us,arrived_us,bytes,ecn,part\r\n")
  }
}
