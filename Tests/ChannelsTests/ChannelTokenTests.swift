import Primitives
import Testing
import Tokens
import Wire

@testable import Channels

/// Channels whose members need tokens (docs/protocol/channels.md §5, §6).
@Suite struct ChannelTokenTests {
  @Test func `name and key are the channel`() throws {
    let one = try TokenRoom("tea").identity
    let other = try TokenRoom("tea", seed: 6).identity
    #expect(one.id != other.id)
    #expect(one.id != (try room("tea")).id)
    #expect(ChannelIdentity(one.description) == one)
    #expect(ChannelIdentity("tea") == (try room("tea")))
    for text in ["", "a b", "tea@", "@k4.public.x", "tea@k4.secret.AAAA"] {
      #expect(ChannelIdentity(text) == nil, "\(text)")
    }
  }

  @Test func `without a token, or with another's, nobody joins`() throws {
    let world = ChannelWorld(seed: 1)
    let tea = try TokenRoom("tea")
    let ends = (0..<6).map { _ in world.addEnd() }
    let foreign = try TokenRoom("tea", seed: 6)
    try ends[0].client.join(tea.identity, as: .host, now: world.now)
    try ends[1].client.join(
      tea.identity, as: .host,
      token: tea.token(for: ends[0], "host", seconds: 60, world: world), now: world.now)
    try ends[2].client.join(
      tea.identity, as: .host,
      token: foreign.token(for: ends[2], "host", seconds: 60, world: world), now: world.now)
    try ends[3].client.join(
      tea.identity, as: .host,
      token: tea.token(for: ends[3], "audience", seconds: 60, world: world), now: world.now)
    let short = tea.token(for: ends[4], "host", seconds: 2, world: world)
    world.run(.seconds(3))
    try ends[4].client.join(tea.identity, as: .host, token: short, now: world.now)
    try ends[5].client.join(
      tea.identity, as: .host,
      token: tea.token(for: ends[5], "host audience", seconds: 60, world: world), now: world.now)
    world.run(.seconds(1))
    let faults: [TokenFault?] = [nil, .subject, .signature, .scope, .expired]
    for (end, fault) in zip(ends, faults) {
      #expect(
        end.all(tea.identity).suffix(2) == [
          .stateChanged(.failed, .refused(.token(fault))), .tokenNeeded,
        ])
    }
    #expect(world.server.members(of: tea.identity.id).map(\.id) == [ends[5].program.id])
  }

  @Test func `30 s before the end it is warned once; a newer token goes on without a gap`() throws {
    let world = ChannelWorld(seed: 2)
    let tea = try TokenRoom("tea")
    let (alice, bob) = (world.addEnd(), world.addEnd())
    for end in [alice, bob] {
      try end.client.join(
        tea.identity, as: .host,
        token: tea.token(for: end, "host audience", seconds: 60, world: world), now: world.now)
    }
    let start = world.now
    world.run(.seconds(40))
    for end in [alice, bob] {
      let warnings = end.events.filter {
        if case .tokenWillExpire = $0.event { return true }
        return false
      }
      #expect(warnings.count == 1)
      let at = try #require(warnings.first).at - start
      #expect(at >= .seconds(29) && at <= .milliseconds(30_100), "\(at)")
    }
    try alice.client.renewToken(
      tea.token(for: alice, "host audience", seconds: 60, world: world), in: tea.identity.id)
    world.run(.seconds(25))
    #expect(alice.all(tea.identity).contains(.tokenRenewed))
    #expect(alice.client.state(of: tea.identity.id) == .joined)
    #expect(
      alice.all(tea.identity).count { if case .stateChanged = $0 { true } else { false } } == 2)
    #expect(
      bob.all(tea.identity).suffix(2) == [.stateChanged(.failed, .ended(.expired)), .tokenNeeded])
    #expect(
      alice.all(tea.identity).contains(
        .userOffline(uid: bob.uid(in: tea.identity), .ended(.expired))))
    world.run(.seconds(15))
    #expect(
      alice.all(tea.identity).count { if case .tokenWillExpire = $0 { true } else { false } } == 2)
  }

  @Test func `a renewal that permits less changes nothing`() throws {
    let world = ChannelWorld(seed: 3)
    let tea = try TokenRoom("tea")
    let alice = world.addEnd()
    try alice.client.join(
      tea.identity, as: .host, token: tea.token(for: alice, "host", seconds: 60, world: world),
      now: world.now)
    world.run(.seconds(1))
    try alice.client.renewToken(
      tea.token(for: alice, "audience", seconds: 90, world: world), in: tea.identity.id)
    try alice.client.setRole(.audience, in: tea.identity.id)
    world.run(.seconds(1))
    #expect(
      alice.all(tea.identity).suffix(2) == [
        .tokenRefused(.token(.scope)), .roleChangeFailed(.token(.scope), current: .host),
      ])
    #expect(alice.client.state(of: tea.identity.id) == .joined)
  }

  @Test func `a token that names a uid has it`() throws {
    let world = ChannelWorld(seed: 4)
    let tea = try TokenRoom("tea")
    let (alice, bob) = (world.addEnd(), world.addEnd())
    try alice.client.join(
      tea.identity, as: .host, uid: 7,
      token: tea.token(for: alice, "host", seconds: 60, world: world), now: world.now)
    world.run(.seconds(1))
    #expect(alice.uid(in: tea.identity) == 7)
    try bob.client.join(
      tea.identity, as: .host,
      token: tea.token(for: bob, "host", seconds: 60, uid: 7, world: world), now: world.now)
    world.run(.seconds(1))
    #expect(bob.uid(in: tea.identity) == 7)
    #expect(alice.all(tea.identity).last == .stateChanged(.failed, .ended(.replaced)))
  }

  @Test func `who may manage removes, and bans for a time`() throws {
    let world = ChannelWorld(seed: 5)
    let tea = try TokenRoom("tea")
    let (alice, bob) = (world.addEnd(), world.addEnd())
    func join(_ end: ChannelWorld.End, _ scope: String) throws {
      try end.client.join(
        tea.identity, as: .host, token: tea.token(for: end, scope, seconds: 600, world: world),
        now: world.now)
      world.run(.seconds(1))
    }
    try join(alice, "host manage")
    try join(bob, "host")
    try bob.client.removeMember(alice.uid(in: tea.identity), from: tea.identity.id)
    world.run(.seconds(1))
    #expect(
      bob.all(tea.identity).last
        == .removalFinished(uid: alice.uid(in: tea.identity), .notPermitted))
    try alice.client.removeMember(bob.uid(in: tea.identity), from: tea.identity.id)
    world.run(.seconds(1))
    #expect(bob.all(tea.identity).last == .stateChanged(.failed, .ended(.removed)))
    try join(bob, "host")
    #expect(bob.client.state(of: tea.identity.id) == .joined)
    try alice.client.removeMember(
      bob.uid(in: tea.identity), banSeconds: 60, from: tea.identity.id)
    world.run(.seconds(1))
    #expect(bob.all(tea.identity).last == .stateChanged(.failed, .ended(.banned)))
    try join(bob, "host")
    #expect(bob.all(tea.identity).last == .stateChanged(.failed, .refused(.banned)))
    world.run(.seconds(60))
    try join(bob, "host")
    #expect(bob.client.state(of: tea.identity.id) == .joined)
  }

  @Test func `each member can read what another has shown`() throws {
    let world = ChannelWorld(seed: 6)
    let tea = try TokenRoom("tea")
    let (alice, bob) = (world.addEnd(), world.addEnd())
    let token = tea.token(for: alice, "host", seconds: 60, world: world)
    try alice.client.join(tea.identity, as: .host, token: token, now: world.now)
    try bob.client.join(
      tea.identity, as: .audience,
      token: tea.token(for: bob, "audience", seconds: 60, world: world), now: world.now)
    world.run(.seconds(1))
    let member = try #require(bob.client.members(of: tea.identity.id).first { $0.role == .host })
    try bob.client.requestProof(of: member.uid, in: tea.identity.id)
    world.run(.seconds(1))
    #expect(
      bob.all(tea.identity).last
        == .proven(uid: member.uid, joinNumber: member.joinNumber, token: token))
  }
}
