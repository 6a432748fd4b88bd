import Primitives
import Testing
import Wire

@testable import Relay

/// Several TURN servers of one program, in simulated time.
@Suite struct RelayRosterTests {
  private static let credentials = RelayCredentials(user: "alice", password: "secret")

  private struct World {
    var servers: [TestServer]
    var away: Set<Int> = []
    var roster: RelayRoster
    var now = Instant(nanoseconds: 1_000_000_000)
    var events: [RelayEvent] = []
    /// What datagrams of servers come by.
    var local = LocalAddressID.unspecified

    init(_ count: Int) {
      servers = (0..<count).map { index in
        var server = TestServer()
        server.relayed.port = 50_000 + UInt16(index)
        return server
      }
      roster = RelayRoster(
        (0..<count).map { RelayServer(server: address($0), credentials: credentials) },
        random: RandomSource(seed: 3))
    }

    mutating func settle() {
      for _ in 0..<200 {
        var bytes: [UInt8] = []
        var path: DatagramPath?
        bytes.append(addingCapacity: 1200) { path = roster.pollTransmit(into: &$0, now: now) }
        guard let path else { break }
        guard let index = servers.indices.first(where: { address($0) == path.remote }),
          !away.contains(index), let answer = servers[index].answer(bytes)
        else { continue }
        _ = roster.handle(answer.span, from: path.remote, at: local, now: now)
      }
      while let event = roster.pollEvent() { events.append(event) }
    }

    mutating func run(_ duration: Duration) {
      let end = now + duration
      settle()
      for _ in 0..<10_000 {
        guard let next = roster.nextDeadline, next <= end else { break }
        now = max(now, next)
        roster.handleTimeout(now: now)
        settle()
      }
      now = end
    }

    var relayedPort: UInt16? { roster.relayedAddress?.port }
  }

  private static func address(_ index: Int) -> SocketAddress {
    SocketAddress(v4: 192, 0, 2, UInt8(1 + index), port: 3478)
  }

  @Test func `the first server that answers is used and the others are not asked`() {
    var world = World(3)
    world.roster.start(now: world.now)
    world.run(.seconds(30))
    #expect(world.relayedPort == 50_000 && world.events.count == 1)
    #expect(world.servers[1].requests.isEmpty && world.servers[2].requests.isEmpty)
    #expect(world.roster.allocations == 1)
  }

  @Test func `a silent server is passed over after a second`() {
    var world = World(3)
    world.away = [0, 1]
    world.roster.start(now: world.now)
    world.run(.milliseconds(1900))
    #expect(world.relayedPort == nil && world.events.isEmpty)
    world.run(.milliseconds(200))
    #expect(world.relayedPort == 50_002, "after two head starts")
    #expect(world.events == [.allocated(world.servers[2].relayed)])
  }

  @Test func `a refusal leads to the next server at once`() {
    var world = World(2)
    world.servers[0].refusals = [486]
    world.roster.start(now: world.now)
    world.run(.milliseconds(1))
    #expect(world.relayedPort == 50_001)
    #expect(world.events == [.allocated(world.servers[1].relayed)], "no failure is told")
  }

  @Test func `servers that were asked beside the one in use are let go`() {
    var world = World(2)
    world.away = [0, 1]
    world.roster.start(now: world.now)
    world.run(.milliseconds(1200))
    world.away = []
    world.run(.milliseconds(100))
    #expect(world.relayedPort == 50_001, "asked again 250 ms after its head start")
    let requests = world.servers[0].requests.count
    world.run(.seconds(60))
    #expect(world.servers[0].requests.count == requests && world.events.count == 1)
  }

  @Test func `when the relay in use fails the next server gives one`() {
    var world = World(2)
    world.roster.start(now: world.now)
    world.run(.seconds(1))
    world.away = [0]
    world.run(.seconds(320))
    #expect(world.relayedPort == 50_001)
    #expect(
      world.events == [
        .allocated(world.servers[0].relayed), .failed(.noAnswer),
        .allocated(world.servers[1].relayed),
      ])
    #expect(world.roster.allocations == 2)
  }

  @Test func `only when all fail is it told, and all are asked again`() {
    var world = World(3)
    world.away = [0, 1, 2]
    world.roster.start(now: world.now)
    world.run(.seconds(19))
    #expect(world.events == [.failed(.noAnswer)])
    world.away = [0, 1]
    world.run(.seconds(30))
    #expect(world.relayedPort == 50_002)
  }

  @Test func `newer credentials are for the next relay`() {
    var world = World(1)
    world.roster.start(now: world.now)
    world.run(.seconds(1))
    let fresh = RelayCredentials(user: "alice2", password: "secret2")
    let server = RelayServer(server: Self.address(0), credentials: fresh)
    world.roster.setServers([server], now: world.now)
    world.run(.seconds(700))
    #expect(world.events.count == 1, "refreshed twice as the user of before")
    world.servers[0].credentials = fresh
    world.servers[0].relayed.port = 50_009
    world.run(.seconds(320))
    #expect(world.relayedPort == 50_009, "\(world.events)")
  }

  @Test func `credentials that lapsed are replaced when new ones come`() {
    var world = World(1)
    let fresh = RelayCredentials(user: "alice2", password: "secret2")
    world.servers[0].credentials = fresh
    world.roster.start(now: world.now)
    world.run(.seconds(100))
    #expect(world.events == [.failed(.wrongCredentials)])
    world.roster.setServers(
      [RelayServer(server: Self.address(0), credentials: fresh)], now: world.now)
    world.run(.seconds(1))
    #expect(world.relayedPort == 50_000)
  }

  @Test func `other servers take the place of those that are gone and the one in use stays`() {
    var world = World(4)
    world.roster.start(now: world.now)
    world.run(.seconds(1))
    let others = (1..<4).map {
      RelayServer(server: Self.address($0), credentials: Self.credentials)
    }
    world.roster.setServers(others, now: world.now)
    world.run(.seconds(1))
    #expect(world.relayedPort == 50_000 && world.roster.owns(Self.address(3)))
    world.away = [0]
    world.run(.seconds(330))
    #expect(world.relayedPort == 50_001)
  }

  @Test func `gives all relays back and asks for none any more`() {
    var world = World(2)
    world.roster.start(now: world.now)
    world.run(.seconds(1))
    world.roster.close(now: world.now)
    world.run(.seconds(60))
    #expect(world.relayedPort == nil && world.roster.nextDeadline == nil)
    #expect(!world.servers[0].hasAllocation && world.servers[1].requests.isEmpty)
  }

  // MARK: - Streams

  private static func overTCP(_ index: Int) -> RelayServer {
    RelayServer(server: address(index), transport: .tcp, credentials: credentials)
  }

  @Test func `over a stream a relay is asked for once it is open, and each request goes once`()
    throws
  {
    var world = World(1)
    world.roster = RelayRoster([Self.overTCP(0)], random: RandomSource(seed: 1))
    world.roster.start(now: world.now)
    world.run(.seconds(3))
    #expect(world.servers[0].requests.isEmpty)
    let action = world.roster.pollStreamAction()
    guard case .open(let stream, Self.overTCP(0)) = action else {
      Issue.record("\(String(describing: action))")
      return
    }
    #expect(world.roster.owns(Self.address(0), at: stream))
    #expect(!world.roster.owns(Self.address(0)), "not by UDP")
    #expect(!world.roster.owns(Self.address(0), at: .stream(200)))
    world.local = stream
    world.roster.streamOpened(stream, now: world.now)
    world.run(.seconds(1))
    #expect(world.relayedPort == 50_000 && world.servers[0].requests.count == 2)
    // Padded to four bytes.
    for packet in [[UInt8](1...5), [1, 2, 3, 4]] {
      var bytes: [UInt8] = []
      var path: DatagramPath?
      bytes.append(addingCapacity: 1200) { output in
        output.append(bytes: packet)
        path = world.roster.wrap(&output, to: Self.address(9), now: world.now)
      }
      #expect(bytes.count & 3 == 0 && path?.local == stream)
      world.settle()
    }
  }

  @Test func `a stream that ends is opened anew and the relay asked for again`() {
    var world = World(1)
    world.roster = RelayRoster([Self.overTCP(0)], random: RandomSource(seed: 1))
    world.roster.start(now: world.now)
    for round in 1...3 {
      guard case .open(let stream, _) = world.roster.pollStreamAction() else {
        Issue.record("no stream in round \(round)")
        return
      }
      world.local = stream
      world.roster.streamOpened(stream, now: world.now)
      world.run(.seconds(11))
      #expect(world.roster.allocations == round && world.relayedPort != nil)
      world.roster.streamEnded(stream, .connectionLost, now: world.now)
      #expect(world.relayedPort == nil)
      world.run(.milliseconds(1))
    }
    #expect(world.events.count { $0 == .failed(.connectionLost) } == 3)
  }

  @Test func `a server that gives relays and takes them again is asked twice in ten seconds`() {
    var world = World(1)
    world.roster = RelayRoster([Self.overTCP(0)], random: RandomSource(seed: 1))
    world.roster.start(now: world.now)
    var streams = 0
    for _ in 0..<600 {
      while let action = world.roster.pollStreamAction() {
        guard case .open(let stream, _) = action else { continue }
        streams += 1
        world.local = stream
        world.roster.streamOpened(stream, now: world.now)
        world.settle()
        world.roster.streamEnded(stream, .connectionLost, now: world.now)
      }
      world.run(.milliseconds(100))
    }
    #expect(streams == 12 && world.roster.allocations == streams)
  }

  @Test func `a stream that is dead after a change of addresses is opened anew within a second`() {
    var world = World(1)
    world.roster = RelayRoster([Self.overTCP(0)], random: RandomSource(seed: 1))
    world.roster.start(now: world.now)
    guard case .open(let first, _) = world.roster.pollStreamAction() else {
      Issue.record("no stream")
      return
    }
    world.local = first
    world.roster.streamOpened(first, now: world.now)
    world.run(.seconds(1))
    world.roster.checkAllocation(.ownAddresses, now: world.now)
    world.run(.seconds(3))
    let none = world.roster.pollStreamAction()
    #expect(none == nil, "it answered")
    world.away = [0]
    world.roster.checkAllocation(.ownAddresses, now: world.now)
    world.run(.milliseconds(1100))
    let closing = world.roster.pollStreamAction()
    #expect(closing == .close(first))
    guard case .open(let second, _) = world.roster.pollStreamAction() else {
      Issue.record("no second stream")
      return
    }
    #expect(second != first && world.relayedPort == nil)
  }

  @Test func `a stream that cannot be had leads to the next server, and is asked for later`() {
    var world = World(2)
    world.roster = RelayRoster(
      [Self.overTCP(0), RelayServer(server: Self.address(1), credentials: Self.credentials)],
      random: RandomSource(seed: 1))
    world.roster.start(now: world.now)
    guard case .open(let stream, _) = world.roster.pollStreamAction() else {
      Issue.record("no stream")
      return
    }
    world.roster.streamEnded(stream, .untrusted("expired"), now: world.now)
    world.run(.milliseconds(10))
    #expect(world.relayedPort == 50_001)
    world.roster.close(now: world.now)
    let none = world.roster.pollStreamAction()
    #expect(none == nil, "nothing to close")
  }

  @Test func `a stream that nobody opens ends by itself, and one of a loser is closed`() {
    var world = World(2)
    world.roster = RelayRoster(
      [Self.overTCP(0), RelayServer(server: Self.address(1), credentials: Self.credentials)],
      random: RandomSource(seed: 1))
    world.roster.start(now: world.now)
    world.run(.seconds(2))
    #expect(world.relayedPort == 50_001, "after its head start")
    guard case .open(let stream, _) = world.roster.pollStreamAction() else {
      Issue.record("no stream")
      return
    }
    let closing = world.roster.pollStreamAction()
    #expect(closing == .close(stream))
    var alone = World(1)
    alone.roster = RelayRoster([Self.overTCP(0)], random: RandomSource(seed: 1))
    alone.roster.start(now: alone.now)
    alone.run(.seconds(11))
    #expect(alone.events == [.failed(.noAnswer)])
    _ = alone.roster.pollStreamAction()
    guard case .close = alone.roster.pollStreamAction() else {
      Issue.record("not closed")
      return
    }
  }

  @Test func `whatever the servers do, it rests and finds the one that works`() {
    for seed in UInt64(1)...30 {
      var random = RandomSource(seed: seed)
      var world = World(4)
      world.roster.start(now: world.now)
      for _ in 0..<60 {
        let index = Int(random.next() % 4)
        switch random.next() % 4 {
        case 0: world.away.insert(index)
        case 1: world.away.remove(index)
        case 2: world.servers[index].refusals.append([403, 437, 438, 441, 486, 508][index])
        default: world.servers[index].nonce = Array("nonce-\(random.next())".utf8)
        }
        world.run(.milliseconds(Int64(random.next() % 20_000)))
      }
      world.away = []
      for index in world.servers.indices { world.servers[index].refusals = [] }
      world.roster.setServers(
        (0..<4).map { RelayServer(server: Self.address($0), credentials: Self.credentials) },
        now: world.now)
      world.run(.seconds(400))
      #expect(world.roster.relayedAddress != nil, "seed \(seed)")
      #expect(world.servers.count { $0.hasAllocation } <= 4)
    }
  }
}
