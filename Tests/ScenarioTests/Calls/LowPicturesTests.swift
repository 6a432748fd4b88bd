import Calling
import Congestion
import Primitives
import Simulation
import Testing
import Video
import Wire

@testable import Peer

/// The low pictures that a sender offers, asked for by the other side's user or by what its way
/// carries; and limits that are changed while a call runs.
@Suite struct LowPicturesTests {
  private static let low = SmallVideo(
    width: 160, height: 120, framesPerSecond: 8, bitsPerSecond: 90_000)

  private final class Talk {
    let pair: TwoPeers
    let call: CallID
    let alice: VideoEnd
    let bob: VideoEnd

    init(
      seed: UInt64, small: SmallVideo? = LowPicturesTests.low,
      bob change: (inout VideoSettings) -> Void = { _ in }
    ) throws {
      pair = TwoPeers(seed: seed, roundTrip: .milliseconds(50))
      var settings = VideoSettings()
      settings.fallsBack = false
      settings.small = small
      pair.alice.video = settings
      settings.small = nil
      settings.sends = false
      settings.subscribeFallback = .audioOnly
      change(&settings)
      pair.bob.video = settings
      VideoCallTests.setUplink(pair, 2_000_000)
      call = try pair.connect()
      pair.alice.isSilent = true
      pair.bob.isSilent = true
      pair.world.mediaInterval = .seconds(3600)
      alice = VideoEnd(pair.alice, call, in: pair.world)
      bob = VideoEnd(pair.bob, call, in: pair.world)
    }

    func run(_ seconds: Int64) {
      for _ in 0..<seconds * 50 {
        pair.world.run(.milliseconds(20))
        alice.tick()
        bob.tick()
      }
    }

    func change(_ peer: SimulatedPeer, _ body: (CallMedia) -> Void) {
      peer.host.command(now: pair.world.now) { machine, now in
        try? machine.change(call, now: now, body)
      }
    }

    var isLowSent: Bool { bob.remoteStates.last?.state.contains(.smallVideo) == true }

    /// Of the last so many seconds, bit/s.
    func rate(last seconds: Int64) -> Double {
      bob.receivedRate(from: pair.world.now - .seconds(seconds), to: pair.world.now)
    }
  }

  /// Goal: the user of the other side gets low pictures when asked for, and the usual ones again.
  @Test(arguments: [1, 2] as [UInt64])
  func `low pictures come while they are asked for`(seed: UInt64) throws {
    let talk = try Talk(seed: seed)
    talk.run(10)
    #expect(talk.rate(last: 3) > 1_000_000 && !talk.isLowSent)
    #expect(!talk.bob.remoteStates.contains { $0.state.contains(.smallVideo) })
    var asked = talk.pair.world.now
    talk.change(talk.pair.bob) { $0.video?.wish.wantsSmall = true }
    talk.run(6)
    #expect(talk.isLowSent && (20_000...95_000).contains(talk.rate(last: 4)))
    // A round trip of 50 ms, and the picture after that.
    #expect(try #require(talk.bob.remoteStates.last).at - asked <= .milliseconds(200))
    asked = talk.pair.world.now
    talk.change(talk.pair.bob) { $0.video?.wish.wantsSmall = false }
    talk.run(10)
    #expect(!talk.isLowSent && talk.rate(last: 3) > 800_000, "\(talk.rate(last: 3))")
    #expect(try #require(talk.bob.remoteStates.last).at - asked <= .milliseconds(200))
    #expect(talk.bob.changes.isEmpty)
  }

  /// Goal: where the way does not hold the usual pictures but the low ones, these come in place of
  /// none; the usual ones return by themselves.
  @Test(arguments: [1, 2, 3] as [UInt64])
  func `a narrow way gets the low pictures first`(seed: UInt64) throws {
    let talk = try Talk(seed: seed)
    talk.run(10)
    // What the usual pictures need at the least does not fit beside the audio.
    VideoCallTests.setUplink(talk.pair, 100_000)
    talk.run(12)
    let first = try #require(talk.bob.changes.first)
    #expect(first.change.mode == .audioAndVideo && first.change.reason != .recovered)
    let states = talk.bob.remoteStates.map(\.state)
    #expect(states.contains([.audio, .video, .smallVideo]), "\(states)")
    VideoCallTests.setUplink(talk.pair, 2_000_000)
    talk.run(80)
    #expect(!talk.isLowSent, "\(talk.bob.changes)")
    #expect(talk.rate(last: 4) > 500_000)
  }

  /// Goal: a side that wants nothing but low pictures is never left without any.
  @Test func `only low pictures are asked for where that is said`() throws {
    let talk = try Talk(seed: 4) { $0.subscribeFallback = .smallVideo }
    talk.run(10)
    VideoCallTests.setUplink(talk.pair, 60_000)
    talk.run(30)
    #expect(talk.bob.changes.allSatisfy { $0.change.mode == .audioAndVideo })
    #expect(talk.bob.remoteStates.allSatisfy { $0.state.contains(.video) })
  }

  /// Goal: limits of bits and the fallback are changed in a call, and hold from then on.
  @Test func `bits and fallback are changed in a call`() throws {
    let talk = try Talk(seed: 5, small: nil) { $0.subscribeFallback = .disabled }
    talk.run(10)
    talk.change(talk.pair.alice) { $0.video?.change { $0.mostBitsPerSecond = 200_000 } }
    talk.run(6)
    #expect((100_000...215_000).contains(talk.rate(last: 4)), "\(talk.rate(last: 4))")
    talk.change(talk.pair.alice) {
      $0.video?.change {
        $0.mostBitsPerSecond = 2_500_000
        $0.fallsBack = true
      }
    }
    talk.run(12)
    #expect(talk.rate(last: 3) > 600_000, "\(talk.rate(last: 3))")
    VideoCallTests.setUplink(talk.pair, 50_000)
    talk.run(10)
    #expect(talk.alice.changes.map(\.change.mode) == [.audioOnly])
    talk.change(talk.pair.alice) { $0.video?.change { $0.fallsBack = false } }
    talk.run(2)
    #expect(talk.alice.changes.map(\.change.mode) == [.audioOnly, .audioAndVideo])
    #expect(talk.alice.changes.last?.change.reason == .recovered)
  }

  @Test func `the wish for pictures grows patient with each relapse`() {
    var wish = VideoWish()
    var now = Instant.zero + .seconds(100)
    var waits: [Int64] = []
    #expect(wish.handle(.audioOnly, hasSmall: true, mayEnd: true, now: now) == .small)
    #expect(wish.takeWanted() == [.audio, .video, .smallVideo] && wish.takeWanted() == nil)
    for _ in 0..<6 {
      let since = now
      while !wish.riseIfQuiet(hasSmall: true, now: now) { now = now + .milliseconds(100) }
      waits.append((now - since).milliseconds)
      now = now + .seconds(3)
      #expect(wish.handle(.audioOnly, hasSmall: true, mayEnd: true, now: now) == .small)
    }
    #expect(waits == [8_000, 16_000, 32_000, 64_000, 64_000, 64_000])
    #expect(wish.handle(.audioOnly, hasSmall: true, mayEnd: true, now: now) == .none)
    #expect(wish.takeWanted() == .audio)
    #expect(wish.handle(.audioAndVideo, hasSmall: true, mayEnd: true, now: now) == .small)
  }
}
