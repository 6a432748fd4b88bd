import Calling
import Congestion
import Peer
import Primitives
import Simulation
import Testing
import Video
import Wire

/// Several calls of one endpoint through whole machines: one uplink, divided between them.
@Suite struct SharedUplinkTests {
  /// Alice calls Bob and Carol, with video both ways, over one line of hers.
  private final class Party {
    let world: CallWorld
    let alice: SimulatedPeer
    let others: [SimulatedPeer]
    var calls: [CallID] = []
    /// Alice's, by call; and the others'.
    var near: [VideoEnd] = []
    var far: [VideoEnd] = []

    init(
      seed: UInt64, uplink: UInt64, others count: Int = 2, weights: [Double] = [1, 1]
    ) throws {
      world = CallWorld(seed: seed, rendezvousAccess: .clean(oneWay: .milliseconds(12)))
      world.mediaInterval = .milliseconds(20)
      let line = AccessConditions.clean(oneWay: .milliseconds(12))
      let made = (0...count).map { [world] index in
        world.addPeer(CallWorld.names[index], line) { $0.policy.mostCalls = count }
      }
      alice = made[0]
      others = Array(made.dropFirst())
      let isReady = world.run(atMost: .seconds(20)) { made.allSatisfy(\.isRegistered) }
      try #require(isReady)
      world.run(.seconds(1))
      setUplink(uplink)
      for (index, other) in others.enumerated() {
        var settings = VideoSettings()
        settings.mostBitsPerSecond = 2_500_000
        alice.video = settings
        other.video = settings
        alice.uplinkWeight = weights[index]
        other.habits.answer = .accept(after: .zero)
        alice.habits.talk = nil
        let call = try #require(alice.call(.id(other.id)))
        calls.append(call)
        let isUp = world.run(atMost: .seconds(12)) { [self] in isConnected(call, other) }
        try #require(isUp, "not connected, seed \(seed)")
      }
      for peer in made { peer.isSilent = true }
      world.mediaInterval = .seconds(3600)
      for (call, other) in zip(calls, others) {
        near.append(VideoEnd(alice, call, in: world, beside: near.last))
        far.append(VideoEnd(other, call, in: world))
      }
    }

    private func isConnected(_ call: CallID, _ other: SimulatedPeer) -> Bool {
      [alice, other].allSatisfy {
        world.testimony.side(call, at: $0.hostID)?.time(of: .connected) != nil
      }
    }

    func setUplink(_ bitsPerSecond: UInt64) {
      var access = world.network.conditions(of: alice.site)
      access.up.rate = LinkConditions.Rate(bitsPerSecond, queue: .time(.milliseconds(300)))
      world.network.setConditions(access, of: alice.site, now: world.now)
    }

    func run(_ duration: Duration) {
      for _ in 0..<Int(duration.milliseconds / 20) {
        world.run(.milliseconds(20))
        for end in near + far { end.tick() }
      }
    }

    /// Of the video that each of the others got in the last so many seconds, bit/s.
    func rates(last duration: Duration) -> [Double] {
      far.map { $0.receivedRate(from: world.now - duration, to: world.now) }
    }

    /// Alice's calls': the 95th percentile of what they saw of the queue, in ms.
    func waits() throws -> [Double] {
      try near.map { try #require($0.statistics?.congestion?.queueDelayP95) / 1_000 }
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `two calls get the same of one uplink, and leave no queue`(seed: UInt64) throws {
    let party = try Party(seed: seed, uplink: 2_000_000)
    party.run(.seconds(30))
    let rates = party.rates(last: .seconds(15))
    #expect(rates.reduce(0, +) > 1_500_000, "\(rates)")
    #expect(abs(rates[0] - rates[1]) < 0.15 * (rates[0] + rates[1]) / 2, "\(rates)")
    #expect(try party.waits().allSatisfy { $0 < 60 })
    for (near, far) in zip(party.near, party.far) {
      #expect(near.changes.isEmpty && far.changes.isEmpty)
      #expect(far.audioReceived >= near.audioSent - 15)
    }
  }

  @Test func `by their weights`() throws {
    let party = try Party(seed: 4, uplink: 2_000_000, weights: [2, 1])
    party.run(.seconds(30))
    let rates = party.rates(last: .seconds(15))
    #expect(rates.reduce(0, +) > 1_500_000, "\(rates)")
    #expect((1.6...2.4).contains(rates[0] / rates[1]), "\(rates)")
  }

  @Test func `when one ends the other has the whole line`() throws {
    let party = try Party(seed: 5, uplink: 1_500_000)
    party.run(.seconds(15))
    #expect(try #require(party.near[1].statistics?.congestion).share < 1_500_000)
    party.alice.end(party.calls[0])
    party.run(.seconds(10))
    #expect(try #require(party.near[1].statistics?.congestion).share == .infinity)
    #expect(party.rates(last: .seconds(5))[1] > 1_100_000, "\(party.rates(last: .seconds(5)))")
    #expect(party.near[1].changes.isEmpty)
  }

  /// Bob's own line loses a quarter: he asks for audio alone, and Carol notices nothing.
  @Test func `of two links one is asked for audio, the other keeps its video`() throws {
    let party = try Party(seed: 6, uplink: 2_000_000)
    party.run(.seconds(15))
    let before = party.rates(last: .seconds(5))[1]
    var access = party.world.network.conditions(of: party.others[0].site)
    access.down.loss = .random(0.25)
    party.world.network.setConditions(access, of: party.others[0].site, now: party.world.now)
    party.run(.seconds(20))
    let asked = party.far[0].changes.first { !$0.isPublishing }
    let left = party.near[0].changes.first { $0.isPublishing }
    #expect(asked?.change.mode == .audioOnly || left?.change.mode == .audioOnly)
    #expect(try #require(party.near[0].statistics?.video).isPublishing == false)
    #expect(party.near[1].changes.isEmpty && party.far[1].changes.isEmpty)
    #expect(try #require(party.near[1].statistics?.video).isPublishing)
    #expect(party.rates(last: .seconds(5))[1] > before)
    access.down.loss = .none
    party.world.network.setConditions(access, of: party.others[0].site, now: party.world.now)
    party.run(.seconds(20))
    #expect(try #require(party.near[0].statistics?.video).isPublishing)
  }

  @Test func `three calls of audio fit where three videos do not`() throws {
    let party = try Party(seed: 7, uplink: 300_000, others: 3, weights: [1, 1, 1])
    party.run(.seconds(40))
    for (near, far) in zip(party.near, party.far) {
      #expect(far.audioReceived >= near.audioSent * 97 / 100)
      #expect(near.changes.count <= 4, "\(near.changes)")
    }
  }

  @Test func `one call more than allowed is answered busy`() throws {
    let party = try Party(seed: 8, uplink: 2_000_000)
    let dave = party.world.addPeer(CallWorld.names[3], .clean(oneWay: .milliseconds(12)))
    let isReady = party.world.run(atMost: .seconds(20)) { dave.isRegistered }
    try #require(isReady)
    let call = try #require(dave.call(.id(party.alice.id)))
    party.run(.seconds(3))
    #expect(party.world.testimony.side(call, at: dave.hostID)?.outcome == .busy)
    #expect(party.alice.call(.id(dave.id)) == nil)
  }
}
