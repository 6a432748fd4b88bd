import Arguments
import Earshot
import Foundation
import Primitives
import Synchronization
import Testing

@testable import PeerCommand

/// `earshot join`: its options, its mesh and its mix.
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
    let two = try command("tea --save-each a-{uid}.wav --also milk --role audience --also gin:host")
    #expect(two.saveEach == "a-{uid}.wav" && two.also.map(\.role) == [.audience, .host])
    #expect(two.also.map(\.room.description) == ["milk", "gin"])
    let seen = try command("tea --video test --save-video {uid}.ivf --max-video-bitrate 500000")
    #expect(seen.video.picture == .test && seen.video.maxBitrate == 500_000)
    let keyed = try command("tea@\(Self.key) --token t --access-token a")
    #expect(keyed.channelToken == "t" && keyed.online.token == "a")
    let both = try command("tea --also milk@\(Self.key):host:a:b --role audience --text -")
    #expect(both.also[0].token == "a:b" && both.also[0].role == .host && both.readsText)
    #expect(try command("tea").readsText == false)
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
      "tea --video -", "tea --role audience --video test",
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

  @Test func `who has no seat calls those as well who would call it, when they had time to`() {
    let now = Instant(nanoseconds: 0)
    var links = RoomLinks(own: Self.user(5, .host).id, checks: false)
    links.add(Self.user(3, .host))
    links.setCallsAll(true, now: now)
    #expect(links.nextToDial(own: .host, now: now) == nil)
    #expect(links.nextRetry(own: .host) == now + .seconds(1))
    #expect(links.nextToDial(own: .host, now: now + .seconds(1))?.uid == 3)
    links.setCallsAll(false, now: now)
    #expect(links.nextToDial(own: .host, now: now + .seconds(2)) == nil)
    #expect(links.nextRetry(own: .host) == nil)
    // At the other end.
    links.add(Self.user(9, .host))
    #expect(links.caller(Self.user(9, .host).id, own: .host) == nil)
    #expect(links.caller(Self.user(9, .host).id, own: .host, isSeatless: true) == 9)
    #expect(links.caller(Self.user(5, .host).id, own: .host, isSeatless: true) == nil)
    let call = CallID(bytes: Array(repeating: 7, count: 16))
    links.begin(call, with: 9, isSeatless: true)
    #expect(links.seatless == [call])
    links.end(call, now: now)
    #expect(links.seatless.isEmpty)
  }

  /// It is called while nothing comes by the relay yet, and rejects: it has a seat there.
  @Test func `who rejects a call is heard by the relay`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("mix.wav")
    let tea = try #require(ChannelName("tea"))
    let sound = try RoomSound(try command("tea --save \(path)"))
    _ = sound.makeSink(7, in: tea, by: .mesh)
    sound.setRelayed(false, 7, in: tea)
    sound.endCall(with: 7, in: tea)
    let relay = sound.makeSink(7, in: tea, by: .relay)
    relay.write([Int16](repeating: 500, count: 240), frameCount: 240)
    sound.finish()
    let saved = try Data(contentsOf: URL(filePath: path)).dropFirst(44)
    #expect(saved.contains { $0 != 0 })
  }

  @Test func `a file of its own for whoever comes, also after hundreds who came and went`() throws {
    let folder = try TemporaryFolder()
    let each = folder.file("{uid}.wav")
    let tea = try #require(ChannelName("tea"))
    let sound = try RoomSound(try command("tea --save-each \(each)"))
    func hear(_ uid: UInt32) {
      let samples = [Int16](repeating: 500, count: 240)
      sound.makeSink(uid, in: tea, by: .relay).write(samples, frameCount: 240)
    }
    for uid in 1...600 as ClosedRange<UInt32> {
      hear(uid)
      sound.remove(uid, in: tea)
    }
    // Who comes back after its file was closed gets a further one.
    hear(1)
    sound.finish()
    #expect(sound.fault == nil)
    for name in ["1.wav", "1-2.wav", "600.wav"] {
      #expect(FileManager.default.fileExists(atPath: folder.file(name)), "\(name)")
    }
  }

  @Test func `a key says who is removed, and never ourselves`() {
    let members = (1...40).map { Self.user($0, $0 == 2 ? .host : .audience) }
    let choice = RemovalChoice(members, own: 1, bans: true)
    #expect(choice?.question.hasPrefix("Ban for an hour whom? 1: 2, 2: 3") == true)
    #expect(choice?.uid(for: "1") == 2 && choice?.uid(for: "z") == 35)
    #expect(choice?.uid(for: "q") == nil && choice?.uid(for: "0") == nil)
    #expect(RemovalChoice([members[0]], own: 1, bans: false) == nil)
  }

  @Test func `of two the lesser ID calls, and the audience calls no audience`() {
    let now = Instant(nanoseconds: 0)
    var links = RoomLinks(own: Self.user(5, .host).id, checks: false)
    for user in [Self.user(3, .host), Self.user(8, .audience), Self.user(9, .host)] {
      links.add(user)
    }
    #expect(links.nextToDial(own: .host, now: now)?.uid == 8)
    #expect(links.nextToDial(own: .audience, now: now)?.uid == 9)
    #expect(links.caller(Self.user(3, .host).id, own: .audience) == 3)
    #expect(links.caller(Self.user(9, .host).id, own: .host) == nil)
    #expect(links.caller(Self.user(4, .host).id, own: .host) == nil)
    let call = CallID(bytes: Array(repeating: 1, count: 16))
    links.begin(call, with: 9)
    #expect(links.nextToDial(own: .audience, now: now) == nil)
    links.end(call, now: now)
    #expect(links.nextToDial(own: .audience, now: now) == nil)
    #expect(links.nextRetry(own: .host) == now + .seconds(1))
    #expect(links.nextToDial(own: .audience, now: now + .seconds(1))?.uid == 9)
    #expect(links.remove(9) == nil && links.metCount == 3)
  }

  @Test func `where tokens are needed nobody is linked whose token we have not checked`() {
    let now = Instant(nanoseconds: 0)
    var links = RoomLinks(own: Self.user(5, .host).id, checks: true)
    links.add(Self.user(8, .host))
    links.add(Self.user(3, .host))
    #expect(links.nextToDial(own: .host, now: now) == nil)
    #expect(links.caller(Self.user(3, .host).id, own: .host) == nil)
    links.check(8, isGenuine: true)
    links.check(3, isGenuine: false)
    #expect(links.nextToDial(own: .host, now: now)?.uid == 8)
    #expect(links.caller(Self.user(3, .host).id, own: .host) == nil)
    links.setAudience(8)
    #expect(links.nextToDial(own: .audience, now: now) == nil)
  }

  @Test func `the limiter keeps the sum below the greatest value, and lets it rise again`() {
    var limiter = PeakLimiter()
    limiter.look(at: 60_000)
    limiter.settle()
    #expect((31_900...32_000).contains(Int(limiter.limited(60_000))))
    for _ in 0..<100 {
      limiter.look(at: 1000)
      limiter.settle()
    }
    #expect(limiter.limited(1000) == 1000)
  }

  @Test func `voices add up at their time`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("mix.wav")
    let began = Instant(nanoseconds: 0)
    let mixer = RoomMixer(try AudioFileSink(path, channelCount: 1), now: began)
    #expect(mixer.frame(at: began + .milliseconds(10)) == 480)
    let block = [Int16](repeating: 1000, count: 240)
    var (one, other) = (0, 480)
    for step in 0..<40 {
      let now = step * 240
      one = mixer.add(block, channels: 1, frameCount: 240, at: one, now: now)
      other = mixer.add(block, channels: 1, frameCount: 240, at: other, now: now)
    }
    mixer.finish()
    let source = try PlayedSource(path, isLooped: false) {}
    var samples = [Int16](repeating: 0, count: 20_000)
    let count = source.read(into: &samples, frameCount: 20_000)
    #expect(count == 42 * 240)
    #expect(samples[0] == 1000 && samples[479] == 1000 && samples[480] == 2000)
    #expect(samples[40 * 240 - 1] == 2000 && samples[40 * 240] == 1000)
  }

  /// Counts up.
  private final class Counter: AudioSource {
    let channelCount = 1
    private let next = Mutex(0)

    func read(into samples: inout [Int16], frameCount: Int) -> Int {
      next.withLock { next in
        let count = max(0, min(frameCount, 1000 - next))
        for index in 0..<count { samples[index] = Int16(next + index) }
        next += count
        return count
      }
    }
  }

  @Test func `all hear the same at the same time, and who comes later what is there then`() {
    let source = SharedSource(Counter())
    let (early, late) = (SharedEar(source), SharedEar(source))
    var samples = [Int16](repeating: 0, count: 480)
    #expect(early.read(into: &samples, frameCount: 480) == 480)
    #expect(late.read(into: &samples, frameCount: 240) == 240 && samples[0] == 480)
    #expect(early.read(into: &samples, frameCount: 240) == 240 && samples[0] == 480)
    #expect(early.read(into: &samples, frameCount: 480) == 280 && samples[279] == 999)
    #expect(late.read(into: &samples, frameCount: 480) == 280)
    #expect(late.read(into: &samples, frameCount: 480) == 0)
  }
}
