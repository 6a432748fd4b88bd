import Channels
import Primitives
import Testing
import Tokens
import Wire

@testable import Rendezvous

/// A relay that is gone where the member, the channel and the relay are at three nodes
/// (docs/protocol/cluster.md §9).
@Suite struct ClusterRelayLossTests {
  private static var key: TokenSigningKey {
    var random = RandomSource(seed: 3)
    return TokenSigningKey(random: &random)
  }

  private let relays = [TestClient(51), TestClient(52)]
  private let carol = TestClient(3)
  private let world: ClusterWorld
  private let rooms: [ChannelIdentity]

  init() throws {
    rooms = try (0..<12).map { number in
      ChannelIdentity(name: try #require(PeerName("tea-\(number)")), key: Self.key.publicKey)
    }
    world = ClusterWorld(nodeCount: 3, relayIDs: Set(relays.map(\.id)))
    world.join(carol, 0)
    for (node, relay) in zip([1, 2], relays) {
      world.nodes[node].join(relay)
      let here = RelayHere(address: try #require(SocketAddress("0.0.0.0:7500")))
      relay.request(.relayHere(here), now: world.nodes[node].now)
    }
    world.run(.milliseconds(1500))
    for room in rooms { enter(room) }
  }

  private func ask(_ room: ChannelIdentity, _ content: ChannelRequest.Content) {
    let request = ChannelRequest(channel: room.id, stay: 1, number: 0, content)
    carol.request(.channel(request), now: world.nodes[0].now)
    world.run(.milliseconds(300))
  }

  private func enter(_ room: ChannelIdentity) {
    let claims = TokenClaims(
      audience: room.audience, subject: carol.id, scope: "host",
      expires: Server.unixSeconds * 1000 + 3_600_000)
    let token = Array(PublicToken(signing: claims.json, by: Self.key).text.utf8)
    ask(
      room,
      .join(
        ChannelJoin(
          role: .host, uid: 5, key: Self.key.publicKey.bytes, name: room.name, token: token)))
  }

  private func relay(
    of room: ChannelIdentity, lost: PeerID? = nil, tries: Int = 1
  ) -> PeerID? {
    carol.messages = []
    for _ in 0..<tries {
      ask(room, lost.map { .relayLost($0) } ?? .relay)
      for case .channelNotice(let notice) in carol.messages where notice.channel == room.id {
        if case .relay(let grant) = notice.content { return grant.relay }
      }
    }
    return nil
  }

  @Test func `a lost relay of another node is asked there, and another one granted`() {
    // While it is there it keeps its channels.
    for room in rooms {
      let own = relay(of: room, tries: 3)
      #expect(own != nil && relay(of: room, lost: own, tries: 5) == own)
    }
    world.nodes[1].silence(relays[0])
    for room in rooms {
      #expect(relay(of: room, lost: relays[0].id, tries: 8) == relays[1].id)
      #expect(relay(of: room) == relays[1].id)
    }
  }
}
