import Congestion
import Peer
import Primitives
import Simulation
import Testing
import Video
import Wire

/// Video beside audio through whole machines: what the path carries is used and no more, and where
/// it carries too little audio goes on alone.
@Suite struct VideoCallTests {
  private static let settings = VideoSettings()

  final class Talk {
    let pair: TwoPeers
    let call: CallID
    let alice: VideoEnd
    let bob: VideoEnd

    /// - Parameters:
    ///   - uplink: Alice's, bit/s, with 300 ms of queue.
    init(
      seed: UInt64, uplink: UInt64, fallsBack: Bool = true,
      nat: (SimulatedNAT.Behaviour?, SimulatedNAT.Behaviour?) = (nil, nil),
      configure: ((inout PeerConfiguration) -> Void)? = nil
    ) throws {
      pair = TwoPeers(
        seed: seed, roundTrip: .milliseconds(50), nat: nat, configure: configure)
      var settings = VideoCallTests.settings
      settings.fallsBack = fallsBack
      pair.alice.video = settings
      pair.bob.video = settings
      VideoCallTests.setUplink(pair, uplink)
      call = try pair.connect()
      pair.alice.isSilent = true
      pair.bob.isSilent = true
      pair.world.mediaInterval = .seconds(3600)
      alice = VideoEnd(pair.alice, call, in: pair.world)
      bob = VideoEnd(pair.bob, call, in: pair.world)
    }

    func run(_ duration: Duration) {
      for _ in 0..<Int(duration.milliseconds / 20) {
        pair.world.run(.milliseconds(20))
        alice.tick()
        bob.tick()
      }
    }
  }

  static func setUplink(_ pair: TwoPeers, _ bitsPerSecond: UInt64) {
    var access = pair.world.network.conditions(of: pair.alice.site)
    access.up.rate = LinkConditions.Rate(bitsPerSecond, queue: .time(.milliseconds(300)))
    pair.world.network.setConditions(access, of: pair.alice.site, now: pair.world.now)
  }

  @Test(arguments: [5, 15, 16, 18] as [Int64])
  func `sound beside video is back within a second of the line`(seconds: Int64) throws {
    for seed in UInt64(1)...3 {
      let talk = try Talk(seed: seed, uplink: 2_000_000)
      talk.run(.seconds(5))
      let network = talk.pair.world.network
      network.setDown(up: true, down: true, of: talk.pair.alice.site, now: talk.pair.world.now)
      talk.run(.seconds(seconds))
      network.setDown(up: false, down: false, of: talk.pair.alice.site, now: talk.pair.world.now)
      talk.run(.seconds(1))
      let before = [talk.alice.audioReceived, talk.bob.audioReceived]
      talk.run(.seconds(1))
      // 25 frames a second at least: of 40 ms where the rate is not known again.
      #expect(talk.alice.audioReceived - before[0] >= 20, "seed \(seed)\n\(talk.pair.story)")
      #expect(talk.bob.audioReceived - before[1] >= 20, "seed \(seed)\n\(talk.pair.story)")
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `video takes what the uplink carries beside the audio`(seed: UInt64) throws {
    let talk = try Talk(seed: seed, uplink: 1_000_000)
    talk.run(.seconds(20))
    let now = talk.pair.world.now
    let rate = talk.bob.receivedRate(from: now - .seconds(10), to: now)
    #expect(rate > 750_000, "\(rate)")
    let numbers = try #require(talk.alice.statistics?.congestion)
    #expect(try #require(numbers.queueDelayP95) < 60_000, "\(numbers)")
    #expect(talk.bob.audioReceived >= talk.alice.audioSent - 10)
    #expect(talk.alice.changes.isEmpty && talk.bob.changes.isEmpty)
    // The other way nothing is in the way.
    #expect(talk.alice.receivedRate(from: now - .seconds(10), to: now) > 1_800_000)
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `audio goes on alone where video has no room, and video comes back`(seed: UInt64) throws {
    let talk = try Talk(seed: seed, uplink: 2_000_000)
    talk.run(.seconds(10))
    let dropped = talk.pair.world.now
    let audioBefore = (talk.alice.audioSent, talk.bob.audioReceived)
    Self.setUplink(talk.pair, 60_000)
    talk.run(.seconds(30))
    let back = talk.pair.world.now
    let audioLost =
      (talk.alice.audioSent - audioBefore.0) - (talk.bob.audioReceived - audioBefore.1)
    Self.setUplink(talk.pair, 2_000_000)
    talk.run(.seconds(15))
    let own = talk.alice.changes.filter(\.isPublishing)
    try #require(own.map(\.change.mode) == [.audioOnly, .audioAndVideo], "\(own)")
    #expect((own[0].at - dropped).milliseconds <= 3_000, "\((own[0].at - dropped).milliseconds)")
    #expect((own[1].at - back).milliseconds <= 10_000, "\((own[1].at - back).milliseconds)")
    #expect(audioLost <= 75, "\(audioLost) of 1500")
    // The other side sees it as a pause, and a key frame soon after.
    #expect(talk.bob.remoteStates.map(\.state).contains([.audio, .videoPaused]))
    let key = talk.bob.framesReceived.first { $0.at > own[1].at && $0.frame.isKeyFrame }
    #expect((try #require(key).at - own[1].at).milliseconds <= 1_000)
    #expect(talk.bob.changes.isEmpty, "\(talk.bob.changes)")
  }

  /// Only the way there is cut: reports say that nothing comes.
  @Test func `audio waits while its way is dead, and goes on when it is back`() throws {
    let talk = try Talk(seed: 6, uplink: 2_000_000)
    talk.run(.seconds(8))
    let site = talk.pair.alice.site
    let before = try #require(talk.alice.statistics?.media)
    talk.pair.world.network.setDown(up: true, down: false, of: site, now: talk.pair.world.now)
    talk.run(.seconds(2))
    let cut = try #require(talk.alice.statistics?.media)
    // A few before it is known, and one each 100 or 200 ms, instead of 100.
    let probes = cut.packetsSent - before.packetsSent
    #expect((10...40).contains(probes), "\(probes)")
    #expect(cut.packetsHeldBack >= 50, "\(cut.packetsHeldBack)")
    talk.pair.world.network.setDown(up: false, down: false, of: site, now: talk.pair.world.now)
    talk.run(.milliseconds(500))
    let heard = talk.bob.audioReceived
    talk.run(.seconds(2))
    #expect(talk.bob.audioReceived - heard >= 98, "\(talk.bob.audioReceived - heard)")
  }

  /// The other way is cut as well, or only that: what is said may be heard, and is said.
  @Test func `audio goes on while nothing at all comes back`() throws {
    let talk = try Talk(seed: 7, uplink: 2_000_000)
    talk.run(.seconds(8))
    let before = talk.bob.audioReceived
    talk.pair.world.network.setDown(
      up: false, down: true, of: talk.pair.alice.site, now: talk.pair.world.now)
    talk.run(.seconds(2))
    #expect(talk.bob.audioReceived - before >= 95, "\(talk.bob.audioReceived - before)")
  }

  @Test func `no picture leaves while audio is alone`() throws {
    let talk = try Talk(seed: 4, uplink: 2_000_000)
    talk.run(.seconds(5))
    Self.setUplink(talk.pair, 60_000)
    talk.run(.seconds(5))
    let fell = try #require(talk.alice.statistics?.video)
    #expect(!fell.isPublishing)
    talk.run(.seconds(10))
    let later = try #require(talk.alice.statistics?.video)
    #expect(later.sent.packetsSent == fell.sent.packetsSent)
  }

  @Test func `with fallback disabled nothing is said and audio is kept`() throws {
    let talk = try Talk(seed: 5, uplink: 2_000_000, fallsBack: false)
    talk.run(.seconds(10))
    Self.setUplink(talk.pair, 80_000)
    talk.run(.seconds(2))
    let before = (talk.alice.audioSent, talk.bob.audioReceived)
    talk.run(.seconds(20))
    let lost = (talk.alice.audioSent - before.0) - (talk.bob.audioReceived - before.1)
    // Ten per cent as it is; one is the goal (Benchmarks/congestion/report.md, `unforced`).
    #expect(lost < 150, "\(lost) of 1000")
    #expect(talk.alice.changes.isEmpty && talk.bob.changes.isEmpty)
  }

  /// Goal: the picture is as large as the line carries within a second, not after the two that a
  /// step up waits for later; and a line that carries less is not asked for more.
  @Test(arguments: [(2_000_000, 1, 800), (1_000_000, 2, 900)] as [(UInt64, Int, Int64)])
  func `the first size that holds comes soon`(rate: UInt64, index: Int, after: Int64) throws {
    let talk = try Talk(seed: 6, uplink: rate)
    talk.alice.hurries = true
    let began = talk.pair.world.now
    talk.run(.seconds(6))
    let rungs = talk.alice.rungs
    let first = try #require(rungs.first { $0.index <= index })
    #expect((first.at - began).milliseconds <= after, "\(rungs)")
    #expect(rungs.allSatisfy { $0.index >= index } && rungs.count <= 3, "\(rungs)")
  }
}
