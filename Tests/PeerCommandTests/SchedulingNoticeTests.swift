import Reactor
import Testing

@testable import PeerCommand

/// That threads may not run in real time is said (`SchedulingNotice`).
@Suite struct SchedulingNoticeTests {
  private static func events(_ notice: SchedulingNotice) throws -> [JSONValue] {
    let folder = try TemporaryFolder()
    let path = folder.file("lines")
    notice.write(to: JSONLines(to: [try OutputFile(creating: path)], wallNanoseconds: { 0 }))
    return String(decoding: try folder.bytes(of: "lines"), as: UTF8.self).split(separator: "\n")
      .compactMap { JSONReader.value(of: $0) }
  }

  @Test func `where the kernel refuses it, what that means and what to do is said`() throws {
    let notice = SchedulingNotice(isGranted: false, isQuiet: false)
    let words = try #require(notice.words)
    #expect(words.hasPrefix("The kernel grants this program no real-time threads: on a busy host "))
    for remedy in ["LimitRTPRIO=20", "/etc/security/limits.conf", "CAP_SYS_NICE"] {
      #expect(words.contains(remedy))
    }
    let event = try #require(try Self.events(notice).last)
    #expect(event["type"]?.asString == "event" && event["name"]?.asString == "realTimeRefused")
    #expect(event["message"]?.asString == SchedulingNotice.message)
    #expect(event["advice"]?.asString == SchedulingNotice.advice)
  }

  @Test func `a quiet program has it in its lines alone`() throws {
    let notice = SchedulingNotice(isGranted: false, isQuiet: true)
    #expect(notice.words == nil)
    #expect(try Self.events(notice).last?["name"]?.asString == "realTimeRefused")
  }

  @Test(arguments: [true, nil]) func `where it is granted or not known nothing is said`(
    isGranted: Bool?
  ) throws {
    let notice = SchedulingNotice(isGranted: isGranted, isQuiet: false)
    #expect(notice.words == nil)
    #expect(try Self.events(notice).allSatisfy { $0["name"] == nil })
  }
}
