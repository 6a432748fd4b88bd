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

  @Test func `what a call tells of its streams a channel tells of each host, with its uid`() throws
  {
    let change = StreamChange(
      .remoteAudio, from: .starting, to: .decoding, .firstFrame, elapsed: .milliseconds(40))
    let remote = try line(.progress(uid: 7, .streamChanged(change)))
    #expect(remote["name"]?.asString == "streamChanged" && remote["uid"]?.asNumber == 7)
    #expect(remote["state"]?.asString == "decoding" && remote["elapsedMs"]?.asNumber == 40)
    let own = try line(.progress(uid: nil, .firstFrameSent))
    #expect(own["name"]?.asString == "firstFrameSent" && own["uid"] == nil)
    let first = try line(.firstFrame(uid: 7, elapsed: .milliseconds(310)))
    #expect(first["name"]?.asString == "relayFirstFrame")
    #expect(first["elapsedMs"]?.asNumber == 310)
    let bad = AudioQualityChange(isBad: true, reason: .loss, mos: 2.5)
    let quality = try line(.audioQualityChanged(uid: 7, bad))
    #expect(quality["name"]?.asString == "audioQualityChanged" && quality["uid"]?.asNumber == 7)
    #expect(quality["mos"]?.asNumber == 2.5)
  }

  @Test func `numbers of a seat are a line of the way, and one of each host`() throws {
    let folder = try TemporaryFolder()
    let tea = try #require(ChannelName("tea"))
    let file = try OutputFile(creating: folder.file("lines"))
    let all = RelayStatistics(
      own: Sample.statistics(),
      hosts: [RelayStatistics.Host(uid: 7, numbers: Sample.statistics())])
    RelayStatsLine.write(all, in: tea, to: JSONLines(to: [file], wallNanoseconds: { 0 }))
    let text = String(decoding: try folder.bytes(of: "lines"), as: UTF8.self)
    // The first line is that of the schema.
    let lines = text.split(separator: "\n").dropFirst().compactMap { JSONReader.value(of: $0) }
    #expect(lines.count == 2 && lines.allSatisfy { $0["type"]?.asString == "stats" })
    #expect(lines.allSatisfy { $0["channel"]?.asString == "tea" })
    let types = lines.map { line -> [String] in
      guard case .array(let objects)? = line["stats"] else { return [] }
      return objects.compactMap { $0["id"]?.asString }
    }
    #expect(lines[0]["uid"] == nil && lines[0]["qualityTx"] != nil)
    #expect(types[0].contains("audio-out") && !types[0].contains("audio-in"))
    #expect(lines[1]["uid"]?.asNumber == 7 && lines[1]["qualityTx"] == nil)
    #expect(types[1].contains("audio-in") && !types[1].contains("audio-out"))
  }
}
