import Peer
import Primitives
import Simulation
import Testing
import Wire

/// Cuts of 1 to 25 s, with video to 19 s, each direction and both, in the worlds that calls are in:
/// every pair of translators that can meet, hosts with addresses of other networks. Each with 8
/// seeds, and by `tools/trials` with 20.
@Suite struct OutageWorldsTests {
  /// What a seed chooses.
  private struct Choice {
    let length: Duration
    let isUp: Bool
    let isDown: Bool
    /// Own addresses of other networks, from which nothing gets through.
    let deadAddresses: Int

    init(_ pair: RoamingTests.Pair, _ seed: UInt64, upTo most: Int64) {
      let place = RoamingTests.pairs.firstIndex { "\($0)" == "\(pair)" } ?? 0
      var random = RandomSource(seed: seed &* 100 &+ UInt64(place))
      length = random.duration(.seconds(1) ... .seconds(most))
      let way = random.below(3)
      isUp = way != 2
      isDown = way != 1
      deadAddresses = Int(random.below(3))
    }

    func configure(_ configuration: inout PeerConfiguration) {
      for index in 0..<deadAddresses {
        configuration.hostCandidates.append(
          SocketAddress(v4: 10, 0, UInt8(index), 1, port: 7_000))
      }
    }
  }

  /// Cuts alice's line, and looks a second after it carries again.
  ///
  /// - Parameters:
  ///   - run: lets time pass.
  ///   - heard: how many frames alice and bob have heard.
  private func expectReturn(
    _ peers: TwoPeers, _ call: CallID, _ choice: Choice, atLeast least: Int, _ story: String,
    run: (Duration) -> Void, heard: () -> [Int]
  ) {
    let (network, site) = (peers.world.network, peers.alice.site)
    network.setDown(up: choice.isUp, down: choice.isDown, of: site, now: peers.world.now)
    run(choice.length)
    network.setDown(up: false, down: false, of: site, now: peers.world.now)
    run(.seconds(1))
    let before = heard()
    run(.milliseconds(500))
    let after = heard()
    for (index, peer) in [peers.alice, peers.bob].enumerated() {
      let hasEnded = peers.outcome(of: call, at: peer) != nil
      let count = after[index] - before[index]
      let story = "\(peer.name), \(story), \(choice): \(count) frames\n\(peers.story)"
      #expect(hasEnded || count >= least, "\(story)")
      if choice.length < .seconds(19) { #expect(!hasEnded, "\(story)") }
      if choice.length > .seconds(22) { #expect(hasEnded, "\(story)") }
    }
  }

  @Test(arguments: RoamingTests.pairs)
  func `sound is back within a second of the line, or the call ends`(
    pair: RoamingTests.Pair
  ) throws {
    for seed in RoamingTests.seeds {
      let choice = Choice(pair, seed, upTo: 25)
      let peers = TwoPeers(
        seed: seed, roundTrip: .milliseconds(60),
        nat: (pair.alice.behaviour, pair.bob.behaviour), configure: choice.configure)
      let call = try peers.connect()
      peers.world.run(.milliseconds(2_000 + Int64(seed) * 17))
      expectReturn(
        peers, call, choice, atLeast: 20, "seed \(seed)", run: { peers.world.run($0) },
        heard: { [peers.alice.heard.count, peers.bob.heard.count] })
      if peers.outcome(of: call, at: peers.alice) == nil {
        peers.expectHungUp()
      } else {
        peers.world.run(.seconds(10))
        peers.expectNoViolations()
      }
    }
  }

  /// Frames are of 40 ms where the rate is not known again.
  @Test(arguments: RoamingTests.pairs)
  func `sound beside video is back within a second of the line`(
    pair: RoamingTests.Pair
  ) throws {
    for seed in RoamingTests.seeds {
      let choice = Choice(pair, seed &+ 100, upTo: 19)
      let talk = try VideoCallTests.Talk(
        seed: seed, uplink: 800_000, nat: (pair.alice.behaviour, pair.bob.behaviour),
        configure: choice.configure)
      talk.run(.milliseconds(3_000 + Int64(seed) * 20))
      expectReturn(
        talk.pair, talk.call, choice, atLeast: 10, "seed \(seed)", run: { talk.run($0) },
        heard: { [talk.alice.audioReceived, talk.bob.audioReceived] })
    }
  }
}
