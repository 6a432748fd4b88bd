import Channels
import Primitives
import Testing
import Tokens
import Wire

@testable import Rendezvous

/// A relay that is gone, and another one that is there (docs/protocol/relay.md §2): the members say
/// what they have lost, and the rendezvous asks before it believes them.
@Suite struct RelayLossTests {
  private let relays = [TestClient(51), TestClient(52)]
  private let alice = TestClient(1)
  private let bob = TestClient(2)
  private let server: Server
  private let tea: ChannelIdentity

  init() throws {
    tea = try #require(ChannelIdentity("tea"))
    server = Server(relayIDs: Set(relays.map(\.id)))
    for relay in relays { try register(relay) }
    for client in [alice, bob] {
      server.join(client)
      ask(client, .join(ChannelJoin(role: .host, uid: 0, name: tea.name)))
    }
  }

  private func register(_ relay: TestClient) throws {
    server.join(relay)
    let here = RelayHere(address: try #require(SocketAddress("0.0.0.0:7500")))
    relay.request(.relayHere(here), now: server.now)
    server.exchange()
  }

  private func ask(_ client: TestClient, _ content: ChannelRequest.Content) {
    client.request(
      .channel(ChannelRequest(channel: tea.id, stay: 1, number: 3, content)), now: server.now)
    server.run(.milliseconds(100))
  }

  /// The relay that a client is granted within a second, as it asks five times.
  private func relay(of client: TestClient, lost: PeerID? = nil) -> PeerID? {
    client.messages = []
    for _ in 0..<10 {
      ask(client, lost.map { .relayLost($0) } ?? .relay)
      for case .channelNotice(let notice) in client.messages {
        if case .relay(let grant) = notice.content { return grant.relay }
      }
    }
    return nil
  }

  private func other(than relay: PeerID) -> TestClient {
    relays[0].id == relay ? relays[1] : relays[0]
  }

  @Test func `who has lost a relay that is gone is granted the other one, and so is who comes`()
    throws
  {
    let first = try #require(relay(of: alice))
    let second = other(than: first)
    let dead = other(than: second.id)
    server.silence(dead)
    let begin = server.now
    #expect(relay(of: alice, lost: first) == second.id)
    #expect(server.now - begin <= .milliseconds(800))
    // The others need not wait, and who comes is with them.
    let then = server.now
    #expect(relay(of: bob, lost: first) == second.id)
    #expect(relay(of: bob) == second.id)
    #expect(server.now - then <= .milliseconds(200))
    // Even when the first one is there again: nobody of the channel is there.
    try register(dead)
    #expect(relay(of: alice) == second.id)
    // The second one goes as well.
    server.silence(second)
    #expect(relay(of: bob, lost: second.id) == first)
  }

  /// Goal: nobody moves a channel by saying so.
  @Test func `a relay that answers keeps its channel, whatever a member says`() throws {
    let first = try #require(relay(of: alice))
    for _ in 0..<5 {
      #expect(relay(of: alice, lost: first) == first)
      server.run(.seconds(2), pinging: relays + [alice, bob])
      #expect(relay(of: bob) == first)
    }
    // Nor is the one that it does not have asked.
    #expect(relay(of: alice, lost: other(than: first).id) == first)
  }

  @Test func `a question that gets lost on its way to the relay is repeated`() throws {
    let first = try #require(relay(of: alice))
    let dead = other(than: other(than: first).id)
    server.silence(dead)
    ask(alice, .relayLost(first))
    server.attach(dead)
    #expect(relay(of: alice, lost: first) == first)
  }

  @Test func `where there is no other relay the lost one is granted again`() throws {
    let first = try #require(relay(of: alice))
    for relay in relays { server.silence(relay) }
    let second = other(than: first).id
    #expect(relay(of: alice, lost: first) == second)
    // Each of them is asked, and one is as good as the other.
    #expect(relay(of: alice, lost: second) == first)
  }
}
