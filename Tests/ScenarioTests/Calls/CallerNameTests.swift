import Peer
import Primitives
import Rendezvous
import Simulation
import Testing
import Wire

/// What a callee learns of the caller's name: a claim, or what the rendezvous says
/// (docs/protocol/rendezvous.md §2, §3).
struct CallerNameTests {
  /// The invitations that a peer was told of.
  private func notices(at peer: SimulatedPeer) -> [InvitationNotice] {
    peer.events.compactMap { entry in
      if case .link(_, .invitation(let notice)) = entry.event { notice } else { nil }
    }
  }

  @Test func `a name that was granted is confirmed`() throws {
    let pair = TwoPeers()
    _ = try pair.connect()
    let notice = try #require(notices(at: pair.bob).first)
    #expect(notice.claimedName == pair.alice.name.description && notice.isNameConfirmed)
    pair.expectHungUp()
  }

  /// Method: the rendezvous cannot look the name up when alice registers, and confirms nothing: as
  /// one of before, which knows no names in FORWARDED.
  @Test func `a name that the rendezvous does not vouch for stays a claim`() throws {
    let world = CallWorld(seed: 3, rendezvousAccess: .clean(oneWay: .milliseconds(25)))
    world.rendezvous.store.failure = StoreFailure("the disk is full")
    let line = AccessConditions.clean(oneWay: .milliseconds(25))
    let alice = world.addPeer(CallWorld.names[0], line)
    try #require(world.run(atMost: .seconds(20)) { alice.isRegistered })
    world.run(.seconds(1))
    world.rendezvous.store.failure = nil
    let bob = world.addPeer(CallWorld.names[1], line)
    try #require(world.run(atMost: .seconds(20)) { bob.isRegistered })
    world.run(.seconds(1))
    _ = try #require(alice.call(.id(bob.id)))
    world.run(.seconds(2))
    let notice = try #require(notices(at: bob).first)
    #expect(notice.claimedName == alice.name.description && !notice.isNameConfirmed)
  }

  /// Goal: whoever has not got the name that it asks for is registered all the same, and claims
  /// nothing; when the name is free, it comes back.
  @Test func `a peer whose name is taken registers with a card without it`() throws {
    let pair = TwoPeers()
    let name = pair.alice.name
    let other = pair.world.addPeer(CallWorld.names[2], .lan) { $0.name = name }
    try #require(pair.world.run(atMost: .seconds(5)) { other.isRegistered })
    pair.world.run(.seconds(1))
    let statuses = other.events.compactMap { entry -> RegistrationStep.NameStatus? in
      if case .registration(.registered(_, let status)) = entry.event { status } else { nil }
    }
    #expect(statuses == [.taken])
    _ = try #require(other.call(.id(pair.bob.id)))
    pair.world.run(.seconds(2))
    let notice = try #require(notices(at: pair.bob).first)
    #expect(notice.claimedName == nil && !notice.isNameConfirmed && notice.peer == other.id)
  }
}
