import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// What happens while the other side is away, and is right afterwards.
@Suite struct AbsenceTests {
  /// Alice's line is away for so long; `whileAway` in the middle of it.
  ///
  /// - Returns: when it was back.
  private static func cut(
    _ seconds: Int64, _ pair: TwoPeers, whileAway: () -> Void = {}
  ) -> Instant {
    for isDown in [true, false] {
      pair.world.network.setDown(
        up: isDown, down: isDown, of: pair.alice.site, now: pair.world.now)
      guard isDown else { break }
      pair.world.run(.milliseconds(seconds * 500))
      whileAway()
      pair.world.run(.milliseconds(seconds * 500))
    }
    return pair.world.now
  }

  private static func connected(
    seed: UInt64, absence: Int64, video: VideoSettings? = nil
  ) throws -> (TwoPeers, CallID) {
    let pair = TwoPeers(seed: seed, roundTrip: .milliseconds(60))
    for peer in [pair.alice, pair.bob] {
      peer.habits.absence = .seconds(absence)
      peer.video = video
    }
    let call = try pair.connect()
    pair.world.run(.seconds(3))
    return (pair, call)
  }

  private static func first(
    at peer: SimulatedPeer, since begin: Instant, _ isMeant: (CallEvent) -> Bool
  ) -> Instant? {
    peer.events.first {
      guard $0.at >= begin, case .calling(let event) = $0.event else { return false }
      return isMeant(event)
    }?.at
  }

  /// Goal: whoever mutes while the line is away is known to be muted 2 s after it is back, and both
  /// sides know that the other is there.
  @Test(arguments: [(12, 0), (18, 0), (30, 600), (300, 600)] as [(Int64, Int64)], [false, true])
  func `who mutes while the line is away is known to be muted`(
    times: (Int64, Int64), both: Bool
  ) throws {
    let (pair, call) = try Self.connected(seed: UInt64(times.0), absence: times.1)
    let back = Self.cut(times.0, pair) {
      let isMuted = pair.alice.mute(call) && (!both || pair.bob.mute(call))
      #expect(isMuted)
    }
    pair.world.run(.seconds(10))
    for peer in both ? [pair.alice, pair.bob] : [pair.bob] {
      let told = Self.first(at: peer, since: back) {
        if case .remoteMediaChanged(call, let state) = $0 { !state.contains(.audio) } else { false }
      }
      #expect(TwoPeers.milliseconds(back, told) <= 2_000, "\(peer.name)\n\(pair.story)")
    }
    for peer in [pair.alice, pair.bob] {
      let heard = Self.first(at: peer, since: back) {
        switch $0 {
        case .resumed(call), .rejoined(call, _): true
        default: false
        }
      }
      #expect(TwoPeers.milliseconds(back, heard) <= 2_000, "\(peer.name)\n\(pair.story)")
    }
    pair.expectHungUp()
  }

  /// A side whose video waits for the other is at rest. Goal: pictures 2 s after the line. A
  /// fallback first watches the line for `FallbackLimits.returnTime`, 2 s, so that it has 3 s.
  @Test(arguments: [18, 60] as [Int64], [false, true])
  func `a video call goes on after the line was away`(seconds: Int64, fallsBack: Bool) throws {
    var settings = VideoSettings()
    settings.fallsBack = fallsBack
    let (pair, call) = try Self.connected(seed: UInt64(seconds), absence: 600, video: settings)
    let ends = [pair.alice, pair.bob].map { VideoEnd($0, call, in: pair.world) }
    func run(_ seconds: Int64) {
      for _ in 0..<(seconds * 50) {
        pair.world.run(.milliseconds(20))
        for end in ends { end.tick() }
      }
    }
    run(5)
    for isDown in [true, false] {
      pair.world.network.setDown(
        up: isDown, down: isDown, of: pair.alice.site, now: pair.world.now)
      if isDown { run(seconds) }
    }
    let back = pair.world.now
    run(20)
    for end in ends {
      let picture = end.framesReceived.first { $0.at >= back }?.at
      let goal: Int64 = fallsBack ? 3_000 : 2_000
      #expect(TwoPeers.milliseconds(back, picture) <= goal, "\(end.peer.name)\n\(pair.story)")
    }
    // Nobody is woken again and again without anything to do.
    #expect(pair.world.simulator.livelock == nil)
  }
}
