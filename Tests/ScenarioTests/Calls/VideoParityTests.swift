import Peer
import Primitives
import Simulation
import Testing
import Video
import Wire

/// Parity through whole machines (docs/decisions/0019); the table is `VideoQuality repair`.
@Suite struct VideoParityTests {
  private struct Outcome {
    /// Of the frames sent.
    var decoded = 0.0
    /// Of those decoded, later than 200 ms after they could have been there.
    var late = 0.0
    var parityShare = 0.0
    var sent = VideoSendStatistics()
    var queueDelayP95 = 0.0
  }

  /// Twenty seconds of a call after ten to begin with.
  private static func call(
    seed: UInt64, roundTrip: Int, loss: LinkConditions.Loss, protects: Bool = true
  ) throws -> Outcome {
    let pair = TwoPeers(seed: seed, roundTrip: .milliseconds(Int64(roundTrip)))
    var settings = VideoSettings()
    settings.protects = protects
    (pair.alice.video, pair.bob.video) = (settings, settings)
    let call = try pair.connect()
    (pair.alice.isSilent, pair.bob.isSilent) = (true, true)
    pair.world.mediaInterval = .seconds(3600)
    let alice = VideoEnd(pair.alice, call, in: pair.world, layers: 2)
    let bob = VideoEnd(pair.bob, call, in: pair.world, layers: 2)
    VideoCallTests.setUplink(pair, 1_500_000)
    var access = pair.world.network.conditions(of: pair.alice.site)
    access.up.loss = loss
    pair.world.network.setConditions(access, of: pair.alice.site, now: pair.world.now)
    let run = { (seconds: Int) in
      for _ in 0..<(seconds * 50) {
        pair.world.run(.milliseconds(20))
        alice.tick()
        bob.tick()
      }
    }
    run(10)
    let from = pair.world.now
    run(20)
    let to = pair.world.now
    run(2)
    return try outcome(alice, bob, from: from, to: to, roundTrip: roundTrip)
  }

  private static func outcome(
    _ alice: VideoEnd, _ bob: VideoEnd, from: Instant, to: Instant, roundTrip: Int
  ) throws -> Outcome {
    var outcome = Outcome()
    let shown = Dictionary(
      bob.framesReceived.map { ($0.frame.mediaTime, $0.at) }, uniquingKeysWith: { $1 })
    let frames = alice.framesSent.filter { $0.at >= from && $0.at < to }
    let waits = frames.compactMap { frame in shown[frame.mediaTime].map { $0 - frame.at } }
    outcome.decoded = Double(waits.count) / Double(frames.count)
    let limit = Duration.milliseconds(Int64(roundTrip / 2 + 200))
    outcome.late = Double(waits.filter { $0 > limit }.count) / Double(waits.count)
    let numbers = try #require(alice.statistics)
    outcome.sent = try #require(numbers.video?.sent)
    let parity = Double(outcome.sent.fecBytesSent)
    outcome.parityShare = parity / (parity + Double(outcome.sent.bytesSent))
    outcome.queueDelayP95 = try #require(numbers.congestion?.queueDelayP95)
    return outcome
  }

  /// Goal: at a round trip of 300 ms pictures come without waiting for what was lost, and parity
  /// is no burden beyond what the path carries.
  @Test(arguments: [(5, 1), (5, 2), (10, 3)] as [(Int, UInt64)])
  func `on a long line with loss pictures need not wait`(percent: Int, seed: UInt64) throws {
    let loss = LinkConditions.Loss.random(Double(percent) / 100)
    let plain = try Self.call(seed: seed, roundTrip: 300, loss: loss, protects: false)
    let outcome = try Self.call(seed: seed, roundTrip: 300, loss: loss)
    #expect(outcome.decoded > 0.96, "\(outcome)")
    #expect(outcome.late < 0.08 && outcome.late < plain.late / 4, "\(outcome) \(plain)")
    #expect((0.1...0.45).contains(outcome.parityShare), "\(outcome)")
    #expect(outcome.queueDelayP95 < 100_000, "\(outcome)")
    #expect(plain.sent.fecPacketsSent == 0)
  }

  @Test func `a clean line, and one that answers soon, has no parity`() throws {
    let clean = try Self.call(seed: 4, roundTrip: 300, loss: .none)
    #expect(clean.parityShare < 0.02 && clean.decoded == 1, "\(clean)")
    let short = try Self.call(seed: 5, roundTrip: 40, loss: .random(0.02))
    #expect(short.sent.fecPacketsSent == 0 && short.late < 0.03, "\(short)")
  }
}
