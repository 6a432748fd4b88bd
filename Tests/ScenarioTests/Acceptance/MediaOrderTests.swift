import Primitives
import Simulation
import Synchronization
import Testing
import Wire

@testable import Earshot

/// Scenarios 9 to 14, media: every event of both programs (docs/scenarios.md).
@Suite struct MediaOrderTests {
  /// Alice and Bob with a program each.
  final class Pair {
    let world: CallWorld
    let two: TwoPeers
    let alice: SimulatedProgram
    let bob: SimulatedProgram
    private(set) var call: Wire.CallID?

    init(
      seed: UInt64 = 1, _ alices: CallOptions = Pair.audio, _ bobs: CallOptions = Pair.audio,
      change: (inout LinkConditions) -> Void = { _ in }
    ) {
      two = TwoPeers(seed: seed, roundTrip: .milliseconds(60), change: change)
      world = two.world
      alice = SimulatedProgram(two.alice, in: world, alices)
      bob = SimulatedProgram(two.bob, in: world, bobs)
    }

    static var audio: CallOptions { CallOptions(source: Whistle(), sink: Listener()) }

    static func video(_ stage: Stage?, _ screen: Screen? = nil) -> CallOptions {
      var options = audio
      (options.videoSource, options.videoSink) = (stage, screen)
      return options
    }

    var programs: [SimulatedProgram] { [alice, bob] }

    /// Alice calls, Bob answers after a second, and both talk for so long.
    func talk(_ duration: Duration) throws {
      call = try alice.call(bob)
      run(.seconds(1) + duration)
    }

    func run(_ duration: Duration) { world.run(duration) }

    func setLoss(ofAlice share: Double) {
      var access = world.network.conditions(of: two.alice.site)
      access.up.loss = share > 0 ? .random(share) : .none
      world.network.setConditions(access, of: two.alice.site, now: world.now)
    }

    /// The last that were told.
    func rates(of program: SimulatedProgram) throws -> RemoteAudioStats {
      let numbers = try #require(program.numbers.last).numbers
      return try #require(numbers.audio?.agora)
    }
  }

  @Test func `9: audio begins`() throws {
    let order = EventOrder("09-audio")
    let ear = Listener()
    let pair = Pair(Pair.audio, CallOptions(source: Whistle(), sink: ear))
    let start = pair.world.now
    try pair.talk(.seconds(3))
    order.record("alice calls, bob accepts after 1 s", pair.programs, since: start)
    let before = ear.crossings
    pair.run(.seconds(2))
    #expect(abs(ear.crossings - before - 880) <= 4, "\(ear.crossings - before) in 2 s of 440 Hz")
    try order.expectGolden()
  }

  @Test func `10: video begins, changes its size, and is turned`() throws {
    let order = EventOrder("10-video")
    let stage = Stage(640, 360)
    let pair = Pair(Pair.video(stage), Pair.video(nil, Screen()))
    var start = pair.world.now
    try pair.talk(.seconds(10))
    order.record("alice's source has 640x360", pair.programs, since: start)
    start = pair.world.now
    stage.state.withLock { ($0.width, $0.height) = (320, 180) }
    pair.run(.seconds(10))
    order.record("and then 320x180", pair.programs, since: start)
    start = pair.world.now
    stage.state.withLock { $0.rotation = .quarter }
    pair.run(.seconds(3))
    order.record("and is turned by 90 degrees", pair.programs, since: start)
    try order.expectGolden()
  }

  /// What is switched in turn, by alice unless it is said.
  private static var switches:
    [(title: String, isAlice: Bool, change: (inout MediaSwitches, Bool) -> Void)]
  {
    [
      ("alice mutes her audio", true, { $0.audio.isMuted = $1 }),
      ("alice mutes her video", true, { $0.video.isMuted = $1 }),
      ("alice's audio takes nothing from its source", true, { $0.audio.isCaptureOff = $1 }),
      ("alice's video takes nothing from its source", true, { $0.video.isCaptureOff = $1 }),
      ("alice's audio is off", true, { $0.audio.isOff = $1 }),
      ("alice's video is off", true, { $0.video.isOff = $1 }),
      ("bob mutes alice's audio", false, { $0.audio.isRemoteMuted = $1 }),
      ("bob mutes alice's video", false, { $0.video.isRemoteMuted = $1 }),
    ]
  }

  @Test func `11: audio and video are muted, not captured, and off`() throws {
    let order = EventOrder("11-mute")
    let pair = Pair(Pair.video(Stage()), Pair.video(nil, Screen()))
    try pair.talk(.seconds(5))
    let call = try #require(pair.call)
    for step in Self.switches {
      let start = pair.world.now
      for isOn in [true, false] {
        try (step.isAlice ? pair.alice : pair.bob).switchMedia(call) { step.change(&$0, isOn) }
        pair.run(.seconds(2))
      }
      order.record("\(step.title), for 2 s", pair.programs, since: start)
    }
    try order.expectGolden()
  }

  @Test func `12: audio stops for 10 and for 16 s`() throws {
    let order = EventOrder("12-silence")
    let pair = Pair()
    try pair.talk(.seconds(3))
    let call = try #require(pair.call)
    let media = try #require(pair.alice.media[call])
    for seconds in [10, 16] as [Int64] {
      let start = pair.world.now
      media.dropsAudio = true
      pair.run(.seconds(seconds))
      media.dropsAudio = false
      pair.run(.seconds(5))
      order.record("nothing of alice's audio leaves for \(seconds) s", pair.programs, since: start)
    }
    try order.expectGolden()
  }

  @Test func `13: a picture stands, and audio is lost`() throws {
    let order = EventOrder("13-freezes")
    let stage = Stage()
    let pair = Pair(Pair.video(stage), Pair.video(nil, Screen()))
    try pair.talk(.seconds(5))
    for milliseconds in [400, 600] as [Int64] {
      let start = pair.world.now
      stage.state.withLock { $0.act = .dark }
      pair.run(.milliseconds(milliseconds - 66))
      stage.state.withLock { $0.act = .moving }
      pair.run(.seconds(3))
      order.record("a picture stands for \(milliseconds) ms", pair.programs, since: start)
    }
    // Without repair, each lost frame is a gap.
    var bare = Pair.audio
    (bare.usesFEC, bare.usesNACK) = (false, false)
    let lossy = Pair(bare, bare)
    try lossy.talk(.seconds(6))
    let before = try lossy.rates(of: lossy.bob)
    let start = lossy.world.now
    lossy.setLoss(ofAlice: 0.1)
    lossy.run(.seconds(4))
    lossy.setLoss(ofAlice: 0)
    lossy.run(.seconds(4))
    order.record("a tenth of alice's packets is lost for 4 s", lossy.programs, since: start)
    let after = try lossy.rates(of: lossy.bob)
    let frozen = after.totalFrozenTime - before.totalFrozenTime
    #expect(before.totalFrozenTime == 0 && (100...800).contains(frozen), "\(frozen) ms")
    let share = Double(after.totalFrozenTime) / Double(after.totalActiveTime) * 100
    #expect(abs(Double(after.frozenRate) - share) <= 1, "\(after.frozenRate), \(share)")
    try order.expectGolden()
  }

  @Test func `14: a source gives nothing, or the same again and again`() throws {
    let order = EventOrder("14-capture")
    for (width, height) in [(320, 240), (160, 120)] {
      let stage = Stage(width, height, framesPerSecond: 10)
      let pair = Pair(Pair.video(stage), Pair.video(nil, Screen()))
      try pair.talk(.seconds(5))
      for act in [Stage.Act.dark, .still] {
        let start = pair.world.now
        stage.state.withLock { $0.act = act }
        pair.run(.seconds(6))
        stage.state.withLock { $0.act = .moving }
        pair.run(.seconds(3))
        let what = act == .dark ? "nothing" : "the same picture"
        order.record("\(width)x\(height), \(what) for 6 s", pair.programs, since: start)
      }
    }
    try order.expectGolden()
  }
}
