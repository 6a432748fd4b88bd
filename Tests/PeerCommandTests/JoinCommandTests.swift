import Arguments
import Foundation
import Primitives
import Testing

@testable import Earshot
@testable import PeerCommand

/// `earshot join`: its options, its files and its words.
struct JoinCommandTests {
  private func command(_ words: String) throws -> JoinCommand {
    try JoinCommand(
      Arguments((words + " --rendezvous h:1").split(separator: " ").map(String.init))
    ) { _ in nil }
  }

  private static let key = "k4.public.AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

  @Test func `options are read`() throws {
    let join = try command("tea --role audience --save a.wav --uid 7 --duration 3 --mesh")
    #expect(join.room.description == "tea" && join.role == .audience && join.uid == 7)
    // It may be host later, or host of another channel.
    let later = try command("tea --role audience --also milk:host --play a.wav")
    #expect(later.play != nil && later.role == .audience)
    #expect(join.save == "a.wav" && join.duration == 3 && join.online.token == nil)
    #expect(try command("tea").role == .host)
    let ways = try ["tea", "tea --relay"].map { try command($0).way }
    #expect(join.way == .mesh && ways == [.auto, .relay])
    let two = try command(
      "tea --save-each a-{uid}-{room}.wav --also milk --role audience --also gin:host")
    #expect(two.saveEach == "a-{uid}-{room}.wav" && two.also.map(\.role) == [.audience, .host])
    #expect(two.also.map(\.room.description) == ["milk", "gin"])
    let seen = try command("tea --video test --save-video {uid}.ivf --max-video-bitrate 500000")
    #expect(seen.video.picture == .test && seen.video.maxBitrate == 500_000)
    let keyed = try command("tea@\(Self.key) --token t --access-token a")
    #expect(keyed.channelToken == "t" && keyed.online.token == "a")
    let both = try command("tea --also milk@\(Self.key):host:a:b --role audience --text -")
    #expect(both.also[0].token == "a:b" && both.also[0].role == .host && both.readsText)
    #expect(try command("tea").readsText == false)
    #expect(try command("tea --mute").startsMuted && !command("tea").startsMuted)
    let hidden = try command("tea --relay-only")
    #expect(hidden.way == .relayOnly && hidden.online.paths == "on-accept")
    for words in [
      "tea --relay-only --mesh", "tea --relay --relay-only", "tea --relay-only --paths early",
      "tea --also milk@\(Self.key):audience", "tea --also milk:audience:t", "tea --text hello",
      "tea --also milk@\(Self.key):audience:", "tea --role audience --text -",
      "a!b", "tea --token t", "tea@\(Self.key)", "tea --role x",
      "tea --save x.mp3", "tea --mesh --relay", "", "tea --also tea", "tea --also milk:host",
      "tea --also milk:guest", "tea --also milk@\(Self.key)", "tea --save-each a.wav",
      "tea --save-each {uid}.mp3", "tea --save-video a.ivf",
      "tea --video -", "tea --role audience --video test", "tea --mesh --loudest 5",
    ] {
      #expect(throws: UsageError.self, "\(words)") { try command(words) }
    }
  }

  @Test func `files of two channels are told apart, and any of them may have the host`() throws {
    let shown = try command("tea --role audience --also milk:host --video test")
    #expect(shown.video.picture == .test && shown.role == .audience)
    for words in [
      "tea --role audience --also milk --video test",
      "tea --also milk --save-each {uid}.wav", "tea --also milk --save-video {uid}.ivf",
      "tea --also tea@\(Self.key):audience:t --save-each {room}-{uid}.wav",
    ] {
      #expect(throws: UsageError.self, "\(words)") { try command(words) }
    }
  }

  @Test(arguments: OthersWordsTests.hostile)
  func `a message is shown in one line, without orders to the terminal`(text: String) {
    let shown = RoomMessages.words(Array(text.utf8))
    #expect(shown.unicodeScalars.allSatisfy(Printable.contains), "\(shown.debugDescription)")
  }

  @Test func `a long message is shown in part, and what is no text does no harm`() {
    #expect(RoomMessages.words(Array("hello, tea".utf8)) == "hello, tea")
    let long = RoomMessages.words([UInt8](repeating: 97, count: 65_536))
    #expect(long.count == 1001 && long.hasSuffix("a…"))
    let marks = RoomMessages.words(
      Array("a".utf8) + Array(repeating: [0xCC, 0x81], count: 30_000).joined())
    #expect(marks.utf8.count < 2100, "one letter with marks without end")
    #expect(RoomMessages.words([0xFF, 0x1B, 0x5B, 0x9B, 0xC3]).contains("\u{1B}") == false)
  }

  private static func user(_ number: UInt64, _ role: ChannelRole) -> ChannelUser {
    ChannelUser(
      uid: UInt32(number), id: PeerID(word0: number, word1: 0, word2: 0, word3: 0), role: role)
  }

  /// It is called while nothing comes by the relay yet, and rejects: it has a seat there.
  @Test func `where a relay is waited for it is said what is missing, once`() {
    let now = Instant(nanoseconds: 0)
    for way in [ChannelMedia.Way.relayOnly, .relay] {
      var missing = MissingRelay()
      let first = missing.words(way, now: now)
      let isWaitedFor = way == .relayOnly
      #expect(first?.contains("it is waited for") == isWaitedFor)
      let soon = missing.words(way, now: now + .seconds(3))
      #expect(soon == nil)
      let late = missing.words(way, now: now + .seconds(12))
      #expect((late?.contains("--relay-key") ?? false) == isWaitedFor)
      let later = missing.words(way, now: now + .seconds(15))
      #expect(later == nil)
    }
  }

  @Test func `who rejects a call is heard by the relay`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("mix.wav")
    let tea = try #require(ChannelName("tea"))
    let join = try command("tea --save \(path)")
    let sound = try RoomSound(join)
    let voices = ChannelVoices(sound.options(for: join, in: tea) { _ in })
    _ = voices.makeSink(7, by: .mesh)
    voices.setRelayed(false, 7)
    voices.endCall(with: 7)
    let relay = voices.makeSink(7, by: .relay)
    relay.write([Int16](repeating: 500, count: 240), frameCount: 240)
    sound.finish()
    let saved = try Data(contentsOf: URL(filePath: path)).dropFirst(44)
    #expect(saved.contains { $0 != 0 })
  }

  @Test func `a folder that is missing is told before anybody is heard`() throws {
    let folder = try TemporaryFolder()
    for option in ["--save-each", "--save-video"] {
      let end = option == "--save-each" ? "wav" : "ivf"
      let missing = try command("tea \(option) \(folder.file("none/{uid}.\(end)"))")
      #expect(throws: (any Error).self) { try RoomSound(missing) }
      let there = try command("tea \(option) \(folder.file("{uid}.\(end)"))")
      _ = try RoomSound(there)
    }
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.file(""))
    #expect(left.isEmpty, "\(left)")
  }

  @Test func `a file of its own for whoever comes, also after hundreds who came and went`() throws {
    let folder = try TemporaryFolder()
    let each = folder.file("{uid}.wav")
    let tea = try #require(ChannelName("tea"))
    let join = try command("tea --save-each \(each)")
    let sound = try RoomSound(join)
    let voices = ChannelVoices(sound.options(for: join, in: tea) { _ in })
    func hear(_ uid: UInt32) {
      let samples = [Int16](repeating: 500, count: 240)
      voices.makeSink(uid, by: .relay).write(samples, frameCount: 240)
    }
    for uid in 1...600 as ClosedRange<UInt32> {
      hear(uid)
      voices.remove(uid)
    }
    // Who comes back after its file was closed gets a further one.
    hear(1)
    voices.finish()
    sound.finish()
    #expect(sound.fault == nil)
    for name in ["1.wav", "1-2.wav", "600.wav"] {
      #expect(FileManager.default.fileExists(atPath: folder.file(name)), "\(name)")
    }
  }

  @Test func `who finds too many members is told what to do`() {
    func words(_ way: ChannelMedia.Way, isFull: Bool) -> String {
      ChannelWords.refusal(members: 18, way, isRelayFull: isFull)
    }
    #expect(words(.mesh, isFull: false).contains("leave out --mesh"))
    #expect(words(.auto, isFull: false).contains("run earshot-relay"))
    #expect(words(.auto, isFull: true).contains("--limit-seats"))
  }

  @Test func `a key says who is removed, and never ourselves`() {
    let members = (1...40).map { Self.user($0, $0 == 2 ? .host : .audience) }
    let choice = RemovalChoice(members, own: 1, bans: true)
    #expect(choice?.question.hasPrefix("Ban for an hour whom? 1: 2, 2: 3") == true)
    #expect(choice?.uid(for: "1") == 2 && choice?.uid(for: "z") == 35)
    #expect(choice?.uid(for: "q") == nil && choice?.uid(for: "0") == nil)
    #expect(RemovalChoice([members[0]], own: 1, bans: false) == nil)
  }
}
