import Calling
import Channels
import Primitives
import Simulation
import Testing
import Tokens
import Wire

@testable import Peer

/// Alice and Bob talk, and Alice brings in Carol: their call becomes a part of a channel
/// (docs/protocol/channels.md §10).
@Suite struct ThirdTests {
  private final class Party {
    let world: CallWorld
    let peers: [SimulatedPeer]
    let key: TokenSigningKey
    let room: ChannelIdentity
    let pair: CallID
    let began: Instant

    init(seed: UInt64) throws {
      world = CallWorld(seed: seed, rendezvousAccess: .clean(oneWay: .milliseconds(25)))
      world.mediaInterval = .milliseconds(20)
      let line = AccessConditions.clean(oneWay: .milliseconds(25))
      peers = (0..<4).map { [world] in world.addPeer(CallWorld.names[$0], line) }
      let isReady = world.run(atMost: .seconds(20)) { [peers] in
        peers.allSatisfy(\.isRegistered)
      }
      try #require(isReady)
      world.run(.seconds(1))
      var random = RandomSource(seed: seed)
      key = TokenSigningKey(random: &random)
      room = try #require(ChannelIdentity("call-1@\(key.publicKey.text)"))
      for peer in peers {
        peer.habits.answer = .accept(after: .zero)
        peer.habits.talk = nil
      }
      pair = try #require(peers[0].call(.id(peers[1].id)))
      let (call, all) = (pair, peers)
      let isUp = world.run(atMost: .seconds(12)) { [world] in
        all[..<2].allSatisfy {
          world.testimony.side(call, at: $0.hostID)?.time(of: .connected) != nil
        }
      }
      try #require(isUp)
      began = world.now
    }

    func offer(to index: Int) throws -> ChannelOffer {
      let claims = TokenClaims(
        audience: room.audience, subject: peers[index].id, scope: "host audience",
        expires: UInt64(world.wallClock) + 86_400_000)
      let token = PublicToken(signing: claims.json, by: key).text
      return try #require(
        ChannelOffer(room: Array(room.description.utf8), token: Array(token.utf8)))
    }

    func say(_ offer: ChannelOffer, to call: CallID) {
      peers[0].host.command(now: world.now) { machine, now in
        machine.say(.channel(offer), on: call, now: now)
      }
    }

    /// What somebody was offered in a call.
    func offers(_ index: Int) -> [ChannelOffer] {
      peers[index].events.compactMap { entry in
        if case .link(_, .said(.channel(let offer))) = entry.event { offer } else { nil }
      }
    }

    func allowCalls(_ index: Int) {
      peers[index].host.command(now: world.now) { machine, _ in
        machine.configuration.policy.mostCalls = 16
        machine.ledger.policy.mostCalls = 16
      }
    }

    func join(_ index: Int, _ offer: ChannelOffer) throws {
      allowCalls(index)
      let identity = try #require(
        ChannelIdentity(String(decoding: offer.room, as: UTF8.self)))
      peers[index].host.command(now: world.now) { machine, now in
        try? machine.withChannels(now: now) { client throws(ChannelRefusal) in
          try client.join(identity, as: .host, uid: 0, token: offer.token, now: now)
        }
      }
    }

    func members(_ index: Int) -> [PeerID] {
      peers[index].host.command(now: world.now) { machine, _ in
        machine.channels.members(of: room.id).map(\.id)
      } ?? []
    }

    /// The longest silence of the first call since then, in ms.
    func longestGap(_ index: Int) -> Int64 {
      let times = peers[index].heard.filter { $0.call == pair && $0.at >= began }.map(\.at)
      return zip(times, times.dropFirst()).map { ($1 - $0).milliseconds }.max() ?? .max
    }
  }

  @Test(arguments: [UInt64(1), 2, 3])
  func `the third answers, and all are in one channel without a gap`(seed: UInt64) throws {
    let party = try Party(seed: seed)
    let (world, peers) = (party.world, party.peers)
    party.allowCalls(0)
    peers[2].habits.answer = .accept(after: .seconds(3))
    let third = try #require(peers[0].call(.id(peers[2].id)))
    world.run(.seconds(2))
    #expect(party.offers(1).isEmpty && party.members(1).isEmpty)
    let hasAnswered = world.run(atMost: .seconds(5)) {
      world.testimony.side(third, at: peers[0].hostID)?.time(of: .connected) != nil
    }
    try #require(hasAnswered)
    try party.join(0, try party.offer(to: 0))
    party.say(try party.offer(to: 1), to: party.pair)
    party.say(try party.offer(to: 2), to: third)
    world.run(.milliseconds(500))
    for index in 1...2 {
      let offer = try #require(party.offers(index).first)
      #expect(offer == (try party.offer(to: index)) && party.offers(index).count == 1)
      try party.join(index, offer)
    }
    // Somebody who has heard of the name has no token, and another's is worth nothing.
    try party.join(3, try party.offer(to: 1))
    world.run(.seconds(1))
    let all = Set(peers[..<3].map(\.id))
    for index in 0..<3 { #expect(Set(party.members(index)) == all, "seed \(seed), \(index)") }
    #expect(party.members(3).isEmpty)
    // The two who had no call have one now; the others keep theirs.
    let last = try #require(peers[1].call(.id(peers[2].id)))
    world.run(.seconds(6))  // Carol accepts after three.
    for index in 1...2 {
      #expect(peers[index].heard.contains { $0.call == last }, "seed \(seed), \(index)")
    }
    for index in 0...1 {
      #expect(party.longestGap(index) <= 60, "seed \(seed): \(party.longestGap(index)) ms")
    }
  }

  @Test func `who refuses leaves the call of two as it was`() throws {
    let party = try Party(seed: 4)
    let (world, peers) = (party.world, party.peers)
    party.allowCalls(0)
    peers[2].habits.answer = .reject(after: .seconds(1))
    _ = try #require(peers[0].call(.id(peers[2].id)))
    world.run(.seconds(6))
    #expect(party.offers(1).isEmpty && party.offers(2).isEmpty)
    for index in 0...1 { #expect(party.longestGap(index) <= 60) }
    // Whoever is in a call of its own is still busy for others.
    let fourth = try #require(peers[3].call(.id(peers[1].id)))
    world.run(.seconds(3))
    #expect(world.testimony.side(fourth, at: peers[3].hostID)?.outcome == .busy)
  }
}
