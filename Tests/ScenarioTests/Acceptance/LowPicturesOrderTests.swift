import Peer
import Primitives
import Simulation
import Synchronization
import Testing
import Video
import Wire

@testable import Earshot

/// The low pictures of scenario 22 with the library's encoder: what they are, when they are made,
/// and how soon they come (docs/scenarios.md).
@Suite struct LowPicturesOrderTests {
  private typealias Pair = MediaOrderTests.Pair

  private static func pair() throws -> (pair: Pair, screen: Screen) {
    var options = Pair.video(Stage(320, 240, framesPerSecond: 20))
    options.lowVideoStream = LowVideoStream(framesPerSecond: 8, bitsPerSecond: 90_000)
    options.fallback = .disabled
    let screen = Screen()
    let pair = Pair(options, Pair.video(nil, screen))
    try pair.talk(.seconds(8))
    return (pair, screen)
  }

  /// Pictures that bob is shown in 4 s, and what alice has sent for them, in bytes.
  private static func rates(_ pair: Pair, _ screen: Screen) throws -> (shown: Int, bytes: Int) {
    let call = try #require(pair.call)
    func sent() -> Int { pair.two.alice.statistics(of: call)?.video?.sent.bytesSent ?? 0 }
    let before = (screen.shown.withLock { $0 }, sent())
    pair.run(.seconds(4))
    return (screen.shown.withLock { $0 } - before.0, sent() - before.1)
  }

  private static func ask(_ stream: VideoStreamKind, _ pair: Pair) throws {
    try pair.bob.changeVideo(try #require(pair.call)) { $0.remoteVideoStream = stream }
  }

  /// Goal: 160x120 at 8 a second and 90 kbit/s at the most, within a second of asking; the usual
  /// ones within a second of asking for those, and in their full size within five.
  @Test func `low pictures are what was set, and come and go within a second`() throws {
    let order = EventOrder("22-low-pictures")
    let (pair, screen) = try Self.pair()
    let usual = try Self.rates(pair, screen)
    #expect((70...90).contains(usual.shown), "\(usual.shown)")
    var start = pair.world.now
    try Self.ask(.low, pair)
    pair.run(.seconds(1))
    #expect(pair.bob.told.last?.text == "remoteVideoSizeChanged(width: 160, height: 120)")
    let low = try Self.rates(pair, screen)
    #expect((24...34).contains(low.shown), "\(low.shown)")
    #expect(low.bytes * 8 / 4 <= 99_000 && low.bytes > 2_000, "\(low.bytes)")
    order.record("bob asks for low pictures", pair.programs, since: start)
    start = pair.world.now
    try Self.ask(.high, pair)
    pair.run(.seconds(1))
    let texts = pair.bob.told.map(\.text)
    #expect(texts.contains("remoteVideoStreamChanged(high)"), "\(texts.suffix(4))")
    pair.run(.seconds(4))
    #expect(pair.bob.told.last?.text == "remoteVideoSizeChanged(width: 320, height: 240)")
    let again = try Self.rates(pair, screen)
    #expect((60...90).contains(again.shown), "\(again.shown)")
    order.record("and for the usual ones", pair.programs, since: start)
    try order.expectGolden()
  }

  /// Goal: nothing is made of the low pictures before they are wanted, and nothing of the usual
  /// ones meanwhile: each picture of the source is encoded once.
  @Test func `low pictures are made in place of the usual ones, and only while wanted`() throws {
    let (pair, screen) = try Self.pair()
    func encoded() throws -> (frames: Int, captured: Int, width: Int) {
      pair.run(.seconds(4))
      let last = try #require(pair.alice.numbers.last)
      let sent = try #require(last.numbers.videoSent)
      return (sent.framesEncoded, sent.framesCaptured, sent.frameWidth)
    }
    let first = try encoded()
    #expect(first.frames <= first.captured && first.width == 320)
    #expect(pair.alice.numbers.allSatisfy { $0.numbers.videoStreamSent == .high })
    try Self.ask(.low, pair)
    let second = try encoded()
    let third = try encoded()
    // 8 of 20.
    #expect((third.frames - second.frames) * 2 <= third.captured - second.captured)
    #expect(second.width == 160)
    #expect(try #require(pair.alice.numbers.last).numbers.videoStreamSent == .low)
    #expect(try #require(pair.bob.numbers.last).numbers.videoStreamReceived == .low)
    #expect(screen.shown.withLock { $0 } > 0)
  }

  /// Goal: what the low pictures are can be changed while they are seen.
  @Test func `other low pictures are offered in a call, and none any more`() throws {
    let (pair, _) = try Self.pair()
    let call = try #require(pair.call)
    try Self.ask(.low, pair)
    pair.run(.seconds(3))
    try pair.alice.changeVideo(call) {
      $0.lowVideoStream = LowVideoStream(
        size: VideoSize(width: 80, height: 60), bitsPerSecond: 40_000)
    }
    pair.run(.seconds(3))
    let texts = pair.bob.told.map(\.text)
    #expect(texts.last == "remoteVideoSizeChanged(width: 80, height: 60)", "\(texts.suffix(4))")
    try pair.alice.changeVideo(call) { $0.lowVideoStream = nil }
    pair.run(.seconds(15))
    let later = pair.bob.told.map(\.text).dropFirst(texts.count)
    #expect(later.contains("remoteLowVideoOffered(nil)"), "\(later)")
    #expect(later.contains("remoteVideoStreamChanged(high)"), "\(later)")
    #expect(later.last == "remoteVideoSizeChanged(width: 320, height: 240)", "\(later)")
  }
}
