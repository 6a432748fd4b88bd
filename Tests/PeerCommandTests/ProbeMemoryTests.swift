import Earshot
import PeerCommand
import Reactor
import Testing

@Suite struct ProbeMemoryTests {
  private static func entry(_ target: String, at: UInt64) throws -> ProbeMemory.Entry {
    let report = ProbeSample.report()
    return try #require(ProbeMemory.Entry(report, report.rating, target: target, at: at))
  }

  @Test func `the last probe of each peer is kept, for a day`() throws {
    let folder = try TemporaryFolder()
    let memory = ProbeMemory(besideIdentity: folder.file("me"))
    #expect(memory.entries().isEmpty)
    memory.remember(try Self.entry("bob", at: 1000))
    memory.remember(try Self.entry("carol", at: 2000))
    memory.remember(try Self.entry("bob", at: 3000))
    #expect(memory.entries().map(\.target) == ["bob", "carol"])
    let newest = try Self.entry("bob", at: 3000)
    #expect(memory.entry(for: ["x", "bob"], now: 3600) == newest)
    #expect(memory.entry(for: ["bob"], now: 3000 + 24 * 3600 + 1) == nil)
    #expect(memory.entry(for: ["dave"], now: 3600) == nil)
    for number in 0..<100 { memory.remember(try Self.entry("peer\(number)", at: 4000)) }
    #expect(memory.entries().count == ProbeMemory.maxEntries)
    #expect(memory.entries().first?.target == "peer99")
  }

  @Test func `a rate that was found just now is where a call begins`() throws {
    var entry = try Self.entry("bob", at: 1000)
    entry.uplinkBps = 1_234_567
    let folder = try TemporaryFolder()
    let memory = ProbeMemory(besideIdentity: folder.file("me"))
    memory.remember(entry)
    let read = try #require(memory.entry(for: ["bob"], now: 1060))
    #expect(read == entry && read.knownUplinkBitrate(now: 1060) == 1_234_567)
    #expect(read.knownUplinkBitrate(now: 1121) == nil && read.knownUplinkBitrate(now: 999) == nil)
  }

  @Test func `a damaged file is an empty one`() throws {
    let folder = try TemporaryFolder()
    try OutputFile(creating: folder.file("me.probes")).write(
      "{\"target\":1}\n\u{0}\n{\"target\":\"bob\",\"at\":-1,\"quality\":2}\n[]\n"
        + "{\"target\":\"bob\",\"at\":1e300,\"quality\":2}\n{\"target\":\"b\",\"at\":5,\"quality\":99}\n"
    )
    #expect(ProbeMemory(besideIdentity: folder.file("me")).entries().isEmpty)
    let nowhere = ProbeMemory(besideIdentity: "/nowhere/me")
    nowhere.remember(try Self.entry("bob", at: 1))
    #expect(nowhere.entries().isEmpty)
  }

  @Test func `nothing measured is nothing to remember`() {
    let report = ProbeSample.unavailable(.noAnswer)
    #expect(ProbeMemory.Entry(report, report.rating, target: "bob", at: 1) == nil)
  }

  @Test func `a call says what was predicted and what was`() throws {
    let entry = try Self.entry("bob", at: 1000)
    let text = entry.comparison(with: Sample.statistics(), now: 1190)
    #expect(text.hasPrefix("by a probe 3 min before: MOS 4."))
    #expect(text.hasSuffix("loss received 0 %, was 1 %; of it not repaired 0 %, was 0.5 %"))
    #expect(text.contains("loss sent 2 %, was 1.2 %; "))
    #expect(text.contains("round trip 41 ms, was 20 ms"))
    let table = EndTable.text(Sample.report(), savedTo: nil, prediction: text)
    #expect(table.contains("  predicted  by a probe 3 min before"))
    #expect(ReportPage.html(Sample.report(), [], prediction: text).contains("by a probe 3 min"))
    let object = entry.prediction(now: 1190).value
    #expect(object["ageSeconds"]?.asNumber == 190 && object["uplinkLossRate"]?.asNumber == 0.02)
    let reported = entry.comparison(with: Sample.detailed(), now: 1190)
    #expect(
      reported.contains("; loss sent 2 %, was 1.2 %; of it not repaired 0 %, was 0.6 %; loss rec"),
      "\(reported)")
    let bare = entry.comparison(with: CallStatistics(atMs: 0), now: 1000)
    #expect(
      bare == "by a probe just before: loss received 0 %, was 0 %; of it not repaired 0 %, was 0 %")
  }
}
