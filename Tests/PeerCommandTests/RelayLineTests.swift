import Earshot
import Primitives
import Reactor
import Testing

@testable import PeerCommand

/// Lines and sentences of what happens between a member and the relay of its channel.
struct RelayLineTests {
  private func line(_ step: ChannelRelayStep) throws -> JSONValue {
    let folder = try TemporaryFolder()
    let tea = try #require(ChannelName("tea"))
    let file = try OutputFile(creating: folder.file("lines"))
    RelayLine.write(tea, step, to: JSONLines(to: [file], wallNanoseconds: { 0 }))
    let text = String(decoding: try folder.bytes(of: "lines"), as: UTF8.self)
    return try #require(text.split(separator: "\n").last.flatMap { JSONReader.value(of: $0) })
  }

  @Test func `a host that sees other members is told of in a line and in words`() throws {
    let line = try line(.rosterDiffers(uid: 7))
    #expect(line["type"]?.asString == "event" && line["name"]?.asString == "relayRosterDiffers")
    #expect(line["channel"]?.asString == "tea" && line["uid"]?.asNumber == 7)
    #expect(ChannelWords.sentence(.rosterDiffers(uid: 7)).hasPrefix("Host 7 sees other members"))
  }

  @Test func `a relay that is lost, and there again, is a line each`() throws {
    #expect(try line(.lost)["name"]?.asString == "relayLost")
    #expect(try line(.connected)["name"]?.asString == "relayConnected")
  }
}
