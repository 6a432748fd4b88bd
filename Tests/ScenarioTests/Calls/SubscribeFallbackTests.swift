import Calling
import Congestion
import Peer
import Primitives
import Simulation
import Testing
import Video
import Wire

/// Bob sees Alice and Carol, whose own fallback is off. What Bob asks of each follows what Bob
/// receives from each.
@Suite struct SubscribeFallbackTests {
  final class Party {
    let world: CallWorld
    let bob: SimulatedPeer
    let others: [SimulatedPeer]
    var calls: [CallID] = []
    /// Bob's ends and the others', by call.
    var near: [VideoEnd] = []
    var far: [VideoEnd] = []

    init(seed: UInt64, senderFallsBack: Bool = false) throws {
      world = CallWorld(seed: seed, rendezvousAccess: .clean(oneWay: .milliseconds(12)))
      world.mediaInterval = .milliseconds(20)
      let line = AccessConditions.clean(oneWay: .milliseconds(12))
      let made = (0..<3).map { [world] index in
        world.addPeer(CallWorld.names[index], line) { $0.policy.mostCalls = 2 }
      }
      bob = made[0]
      others = Array(made.dropFirst())
      let isReady = world.run(atMost: .seconds(20)) { made.allSatisfy(\.isRegistered) }
      try #require(isReady)
      world.run(.seconds(1))
      bob.video = VideoSettings()
      bob.video?.sends = false
      bob.habits.answer = .accept(after: .zero)
      for other in others {
        other.video = VideoSettings()
        other.video?.fallsBack = senderFallsBack
        setLine(of: other, 2_000_000)
        let call = try #require(other.call(.id(bob.id)))
        calls.append(call)
        let isUp = world.run(atMost: .seconds(12)) { [self] in
          [bob, other].allSatisfy {
            world.testimony.side(call, at: $0.hostID)?.time(of: .connected) != nil
          }
        }
        try #require(isUp, "not connected, seed \(seed)")
      }
      for peer in made { peer.isSilent = true }
      world.mediaInterval = .seconds(3600)
      for (call, other) in zip(calls, others) {
        near.append(VideoEnd(bob, call, in: world, beside: near.last))
        far.append(VideoEnd(other, call, in: world))
      }
    }

    /// The way from one of the others to Bob.
    func setLine(of peer: SimulatedPeer, _ bitsPerSecond: UInt64, loss: Double = 0) {
      var access = world.network.conditions(of: peer.site)
      access.up.rate = LinkConditions.Rate(bitsPerSecond, queue: .time(.milliseconds(300)))
      access.up.loss = loss > 0 ? .random(loss) : .none
      world.network.setConditions(access, of: peer.site, now: world.now)
    }

    func run(_ duration: Duration) {
      for _ in 0..<Int(duration.milliseconds / 20) {
        world.run(.milliseconds(20))
        for end in near + far { end.tick() }
      }
    }

    /// Of the video of one of the others in the last so many seconds, bit/s.
    func rate(_ index: Int, last duration: Duration) -> Double {
      near[index].receivedRate(from: world.now - duration, to: world.now)
    }
  }

  /// Goal: who receives too little of one asks that one alone to leave its video out, hears its
  /// audio on, and has its video again within 15 s of the line's return.
  @Test(
    arguments: [(1, 70_000, 0), (2, 70_000, 0), (3, 70_000, 0), (4, 2_000_000, 0.3)]
      as [(UInt64, UInt64, Double)])
  func `the receiver asks one sender to leave its video out`(
    seed: UInt64, rate: UInt64, loss: Double
  ) throws {
    let party = try Party(seed: seed)
    party.run(.seconds(10))
    let began = party.world.now
    party.setLine(of: party.others[0], rate, loss: loss)
    party.run(.seconds(10))
    // By now it has come to rest.
    let before = (party.far[0].audioSent, party.near[0].audioReceived)
    party.run(.seconds(20))
    let audioSent = party.far[0].audioSent - before.0
    let audioHeard = party.near[0].audioReceived - before.1
    #expect(
      Double(audioHeard) >= Double(audioSent) * (0.96 - loss), "\(audioHeard) of \(audioSent)")
    #expect(audioSent >= 450)
    #expect(party.rate(0, last: .seconds(10)) == 0)
    #expect(party.rate(1, last: .seconds(20)) > 1_200_000)
    let back = party.world.now
    party.setLine(of: party.others[0], 2_000_000)
    party.run(.seconds(20))

    let changes = party.near[0].changes
    try #require(changes.map(\.change.mode) == [.audioOnly, .audioAndVideo], "\(changes)")
    #expect(changes.allSatisfy { !$0.isPublishing && $0.change.estimate.isFinite }, "\(changes)")
    #expect((changes[0].at - began).milliseconds <= 7_000, "\(changes)")
    #expect((changes[1].at - back).milliseconds <= 15_000, "\(changes)")
    #expect(party.rate(0, last: .seconds(4)) > 300_000)
    for end in [party.near[1]] + party.far { #expect(end.changes.isEmpty, "\(end.changes)") }
    // The sender says that it leaves it out.
    #expect(party.near[0].remoteStates.map(\.state).contains([.audio, .videoPaused]))
  }

  /// Goal: on a line that holds the video, nothing is asked.
  @Test(
    arguments: [(11, 2_000_000, 0.0), (12, 400_000, 0), (13, 2_000_000, 0.05)]
      as [(UInt64, UInt64, Double)])
  func `nothing is asked where video fits`(seed: UInt64, rate: UInt64, loss: Double) throws {
    let party = try Party(seed: seed)
    party.setLine(of: party.others[0], rate, loss: loss)
    party.run(.seconds(40))
    for end in party.near + party.far { #expect(end.changes.isEmpty, "\(end.changes)") }
  }

  /// Goal: a sender that falls back by itself does so first; the receiver asks nothing.
  @Test(arguments: [21, 22] as [UInt64])
  func `the sender's own fallback comes first`(seed: UInt64) throws {
    let party = try Party(seed: seed, senderFallsBack: true)
    party.run(.seconds(10))
    party.setLine(of: party.others[0], 70_000)
    party.run(.seconds(20))
    party.setLine(of: party.others[0], 2_000_000)
    party.run(.seconds(15))
    #expect(party.far[0].changes.map(\.change.mode) == [.audioOnly, .audioAndVideo])
    for end in party.near { #expect(end.changes.isEmpty, "\(end.changes)") }
  }
}
