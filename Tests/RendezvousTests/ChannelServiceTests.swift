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

  /// How many answers of the rendezvous to a client say that it is too much.
  private func refusals(_ client: TestClient) -> Int {
    client.messages.count { message in
      switch message {
      case .lookUpResult(let result): result.status == .tooManyRequests
      case .forwardResult(let result): result.status == .tooMany
      case .pairResult(let result): result.answer == .tooMany
      case .channelNotice(let notice):
        if case .result(let result) = notice.content {
          result.status == .tooManyRequests
        } else {
          false
        }
      default: false
      }
    }
  }

  /// What a call costs at the rendezvous, on the side that makes it.
  private func call(_ client: TestClient, _ other: TestClient, _ number: UInt32, _ server: Server) {
    client.request(
      .lookUp(LookUp(request: number, target: .id(other.id))), now: server.now)
    client.request(
      .forward(
        Forward(
          id: ForwardID(random: &client.random), to: other.id, lifeSeconds: 8,
          body: [UInt8](repeating: 1, count: 509))),
      now: server.now)
  }

  private func askForPair(_ client: TestClient, _ other: TestClient, _ server: Server) throws {
    let call = try #require(CallID(client.random.bytes(16)))
    client.request(
      .pair(PairRequest(peer: other.id, call: call, program: .every)), now: server.now)
  }

  /// Method: 32 programs behind one address have a channel each; one more joins them all, and as
  /// many others. It calls them, or is called by them, without a pause.
  @Test(arguments: [true, false])
  func `a program joins 64 channels and has 32 calls at once, and nothing is refused`(
    calls: Bool
  ) throws {
    let server = Server()
    let hosts = (0..<32).map { number in
      TestClient(
        100 + UInt64(number), SocketAddress(v4: 60, 0, 0, 1, port: 4000 + UInt16(number)))
    }
    let alice = TestClient(1)
    for client in hosts + [alice] {
      client.abilities = .pairs
      server.join(client)
      server.run(.milliseconds(100))
    }
    for (number, host) in hosts.enumerated() {
      join(host, server, try #require(ChannelIdentity("room-\(number)")))
    }
    server.run(.seconds(20), pinging: hosts + [alice])
    for number in 0..<64 {
      join(alice, server, try #require(ChannelIdentity("room-\(number)")))
    }
    server.run(.milliseconds(10))
    for (number, host) in hosts.enumerated() {
      let (one, other) = calls ? (alice, host) : (host, alice)
      call(one, other, UInt32(number), server)
    }
    server.run(.milliseconds(10))
    for host in hosts {
      try askForPair(alice, host, server)
      try askForPair(host, alice, server)
    }
    server.run(.milliseconds(200))
    #expect(welcomes(alice).count == 64)
    #expect((hosts + [alice]).reduce(0) { $0 + refusals($1) } == 0)
    #expect(server.counters.forwards == 32)
  }

  @Test func `whoever joins without end is asked to wait`() throws {
    let server = Server()
    let alice = TestClient(1)
    server.join(alice)
    server.run(.milliseconds(100))
    for number in 0..<160 {
      join(alice, server, try #require(ChannelIdentity("tea-\(number)")))
    }
    server.run(.seconds(1))
    let refused = alice.messages.count { message in
      guard case .channelNotice(let notice) = message, case .result(let result) = notice.content
      else { return false }
      return result.status == .tooManyRequests
    }
    #expect((20...32).contains(refused), "\(refused)")
    #expect(welcomes(alice).count == ChannelLimits().perProgram)
  }

  @Test func `addresses of one network are counted together`() throws {
    let service = ChannelService(
      limits: ChannelLimits(), endings: ServerLimits().endings, hash: KeyedHash(key0: 1, key1: 2),
      random: RandomSource(seed: 1))
    let one = service.source(of: try #require(SocketAddress("192.0.2.1:1000")))
    let other = service.source(of: try #require(SocketAddress("192.0.2.9:1000")))
    let far = service.source(of: try #require(SocketAddress("192.0.3.1:1000")))
    #expect(one.host != other.host && one.network == other.network)
    #expect(one.network != far.network)
    #expect(SweepClock().due == nil)
  }
}
