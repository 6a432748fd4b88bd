import Channels
import Primitives
import Testing
import Wire

@testable import Rendezvous

/// Channels through the seal: clients of a rendezvous, and what it counts of them.
struct ChannelServiceTests {
  private func welcomes(_ client: TestClient) -> [ChannelWelcome] {
    client.messages.compactMap { message in
      guard case .channelNotice(let notice) = message, case .welcome(let welcome) = notice.content
      else { return nil }
      return welcome
    }
  }

  private func join(
    _ client: TestClient, _ server: Server, _ identity: ChannelIdentity, stay: UInt64 = 1
  ) {
    let join = ChannelJoin(role: .host, uid: 0, name: identity.name)
    client.request(
      .channel(ChannelRequest(channel: identity.id, stay: stay, number: 0, .join(join))),
      now: server.now)
  }

  @Test func `two clients join, and each hears of the other`() throws {
    let server = Server()
    let (alice, bob) = (TestClient(1), TestClient(2))
    for client in [alice, bob] { server.join(client) }
    server.run(.milliseconds(100))
    let tea = try #require(ChannelIdentity("tea"))
    for client in [alice, bob] { join(client, server, tea) }
    server.run(.seconds(1))
    #expect(welcomes(alice).count == 1 && welcomes(bob).count == 1)
    #expect(server.gauges.channels == 1 && server.gauges.channelMembers == 2)
    let uid = try #require(welcomes(bob).first).uid
    let news = alice.messages.contains { message in
      guard case .channelNotice(let notice) = message, case .changes(let changes) = notice.content
      else { return false }
      return changes.changes.contains { $0.uid == uid }
    }
    #expect(news)
    #expect(server.counters.messagesInvalid == 0)
    // Neither says SYNC: both are found out.
    server.run(.seconds(23))
    #expect(server.gauges.channelMembers == 0)
  }

  @Test func `whoever joins without end is asked to wait`() throws {
    let server = Server()
    let alice = TestClient(1)
    server.join(alice)
    server.run(.milliseconds(100))
    for number in 0..<40 {
      join(alice, server, try #require(ChannelIdentity("tea-\(number)")))
    }
    server.run(.seconds(1))
    let refused = alice.messages.count { message in
      guard case .channelNotice(let notice) = message, case .result(let result) = notice.content
      else { return false }
      return result.status == .tooManyRequests
    }
    #expect(refused > 0 && welcomes(alice).count + refused == 40)
  }

  @Test func `addresses of one network are counted together`() throws {
    let service = ChannelService(
      limits: ChannelLimits(), hash: KeyedHash(key0: 1, key1: 2), random: RandomSource(seed: 1))
    let one = service.source(of: try #require(SocketAddress("192.0.2.1:1000")))
    let other = service.source(of: try #require(SocketAddress("192.0.2.9:1000")))
    let far = service.source(of: try #require(SocketAddress("192.0.3.1:1000")))
    #expect(one.host != other.host && one.network == other.network)
    #expect(one.network != far.network)
    #expect(SweepClock().due == nil)
  }
}
