import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// A callee that only its contacts may see (docs/protocol/rendezvous.md §6).
struct AudienceScenarioTests {
  /// Bob, who is there for familiar peers, and two who are not told apart but by that.
  private struct World {
    let world: CallWorld
    let bob: SimulatedPeer
    let alice: SimulatedPeer
    let mallory: SimulatedPeer

    init(seed: UInt64 = 1) {
      world = CallWorld(seed: seed, rendezvousAccess: .clean(oneWay: .milliseconds(25)))
      let line = AccessConditions.clean(oneWay: .milliseconds(25))
      alice = world.addPeer(CallWorld.names[0], line)
      bob = world.addPeer(CallWorld.names[1], line) { $0.isForFamiliars = true }
      mallory = world.addPeer(CallWorld.names[2], line)
      let peers = [alice, bob, mallory]
      let isReady = world.run(atMost: .seconds(20)) { peers.allSatisfy { $0.isRegistered } }
      #expect(isReady)
      world.run(.seconds(1))
    }

    func befriend() {
      let id = alice.id
      bob.host.command(now: world.now) { machine, _ in machine.setFamiliar(id, true) }
      world.run(.seconds(8))
    }

    /// What became of a call before there was one.
    func failures(at peer: SimulatedPeer) -> [LookUpFailure] {
      peer.events.compactMap { entry in
        if case .unresolved(_, let failure) = entry.event { failure } else { nil }
      }
    }

    var rings: Int {
      bob.events.count { entry in
        if case .calling(.incoming) = entry.event { true } else { false }
      }
    }
  }

  @Test func `a contact calls, and a stranger finds nobody, by ID and by name`() throws {
    let test = World()
    test.befriend()
    for target in [CallTarget.id(test.bob.id), .name(test.bob.name)] {
      _ = test.mallory.call(target)
      test.world.run(.seconds(3))
    }
    #expect(test.failures(at: test.mallory) == [.notOnline, .notOnline])
    #expect(test.rings == 0)
    test.bob.habits.answer = .accept(after: .seconds(1))
    let call = try #require(test.alice.call(.name(test.bob.name)))
    test.world.run(.seconds(5))
    #expect(test.rings == 1)
    #expect(test.world.testimony.side(call, at: test.alice.hostID)?.time(of: .connected) != nil)
  }

  @Test func `before there are contacts nobody finds it, and whoever it calls can answer`() throws {
    let test = World()
    _ = test.alice.call(.id(test.bob.id))
    test.world.run(.seconds(3))
    #expect(test.failures(at: test.alice) == [.notOnline] && test.rings == 0)
    test.mallory.habits.answer = .accept(after: .seconds(1))
    let call = try #require(test.bob.call(.id(test.mallory.id)))
    test.world.run(.seconds(6))
    #expect(test.world.testimony.side(call, at: test.bob.hostID)?.time(of: .connected) != nil)
  }

  /// Method: the rendezvous stops and comes back without what it knew of sessions.
  @Test func `contacts find it again after the rendezvous was away`() throws {
    let test = World()
    test.befriend()
    test.world.rendezvous.crash()
    test.world.run(.seconds(3))
    test.world.rendezvous.start()
    test.world.run(.seconds(30))
    _ = test.mallory.call(.id(test.bob.id))
    _ = test.alice.call(.id(test.bob.id))
    test.world.run(.seconds(4))
    #expect(test.failures(at: test.mallory) == [.notOnline])
    #expect(test.failures(at: test.alice) == [] && test.rings == 1)
  }
}
