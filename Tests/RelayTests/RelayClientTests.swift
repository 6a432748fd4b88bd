import Primitives
import Testing
import Wire

@testable import Relay

@Suite struct RelayClientTests {
  private let peer = SocketAddress(v4: 198, 51, 100, 4, port: 4000)

  @Test func `allocates after 401 with the server's realm and nonce`() {
    let pair = ClientAndServer.allocated()
    #expect(pair.events == [.allocated(pair.server.relayed)])
    #expect(pair.client.relayedAddress == pair.server.relayed)
    #expect(pair.server.requests.map(\.method) == [.allocate, .allocate])
  }

  @Test func `takes SHA-256 where the server offers it`() {
    for algorithms: [UInt8] in [
      [0, 2, 0, 0, 0, 1, 0, 0], [0, 1, 0, 0, 0, 2, 0, 0], [0, 1, 0, 0],
    ] {
      var pair = ClientAndServer()
      pair.server.algorithms = algorithms
      pair.server.nonce = Array("obMatJos2gAAAxyz".utf8)
      pair.client.start(now: pair.now)
      pair.settle()
      #expect(pair.events == [.allocated(pair.server.relayed)])
      let isBest = pair.client.authentication?.algorithm == .sha256
      #expect(isBest == (algorithms.count == 8))
      #expect(pair.server.requests.last?.integritySHA256 != nil)
      #expect(pair.server.requests.last?.integrity == nil)
    }
  }

  /// RFC 8489 §9.2.5: somebody took the list of algorithms out.
  @Test func `refuses a nonce whose promised algorithms are missing`() {
    var pair = ClientAndServer()
    pair.server.nonce = Array("obMatJos2gAAAxyz".utf8)
    pair.client.start(now: pair.now)
    pair.settle()
    #expect(pair.events == [.failed(.notUnderstood)])
  }

  @Test func `renews a nonce that is stale`() {
    var pair = ClientAndServer.allocated()
    pair.server.nonce = Array("nonce-2".utf8)
    pair.run(for: .seconds(301))
    #expect(pair.events.count == 1, "no loss is told")
    #expect(pair.server.requests.suffix(2).map(\.method) == [.refresh, .refresh])
    #expect(pair.client.authentication?.nonce == pair.server.nonce)
  }

  @Test func `says that the credentials are wrong and does not try again`() {
    var pair = ClientAndServer(password: "false")
    pair.client.start(now: pair.now)
    pair.settle()
    #expect(pair.events == [.failed(.wrongCredentials)])
    #expect(pair.client.nextDeadline == nil)
    #expect("\(RelayError.wrongCredentials)".contains("--turn-password"))
  }

  @Test(
    arguments: [
      (486, .quotaReached), (508, .insufficientCapacity), (403, .forbidden),
      (442, .refused(442)),
    ] as [(UInt16, RelayError)])
  func `types a refusal`(code: UInt16, error: RelayError) {
    var pair = ClientAndServer()
    pair.server.refusals = [code]
    pair.client.start(now: pair.now)
    pair.settle()
    #expect(pair.events == [.failed(error)])
    pair.run(for: .seconds(61))
    #expect((pair.client.relayedAddress != nil) == (error.retryAfter != nil))
  }

  @Test func `repeats a request and gives up after seven`() {
    var pair = ClientAndServer()
    pair.isServerAway = true
    pair.client.start(now: pair.now)
    pair.settle()
    pair.run(for: .seconds(20))
    #expect(pair.events == [.failed(.noAnswer)])
    #expect(pair.client.counters.requests == 7)
    pair.isServerAway = false
    pair.run(for: .seconds(10))
    #expect(pair.client.relayedAddress != nil, "asks again after a while")
  }

  @Test func `refreshes at half of the lifetime and asks anew where the server forgot`() {
    var pair = ClientAndServer.allocated()
    pair.run(for: .seconds(299))
    #expect(pair.server.requests.count == 2)
    pair.run(for: .seconds(2))
    #expect(pair.server.requests.count == 3)
    pair.server.refusals = [437]
    pair.server.relayed.port = 50_001
    pair.run(for: .seconds(300))
    #expect(pair.client.relayedAddress?.port == 50_001)
    #expect(pair.events.dropFirst().first == .failed(.allocationLost))
  }

  @Test func `takes no success without the code of the password`() {
    var pair = ClientAndServer()
    pair.server.isUnauthentic = true
    pair.client.start(now: pair.now)
    pair.settle()
    #expect(pair.client.relayedAddress == nil && pair.events.isEmpty)
    #expect(pair.client.counters.ignored == 1)
  }

  @Test func `lets hosts in, each every four minutes`() {
    var pair = ClientAndServer.allocated()
    var again = peer
    again.port = 1
    pair.client.setPeers([peer, again, SocketAddress(v4: 10, 0, 0, 1, port: 9)], now: pair.now)
    pair.settle()
    let permits = { (pair: ClientAndServer) in
      pair.server.requests.count { $0.method == .createPermission }
    }
    #expect(permits(pair) == 2)
    pair.run(for: .seconds(239))
    #expect(permits(pair) == 2)
    pair.run(for: .seconds(2))
    #expect(permits(pair) == 4)
    pair.client.setPeers([], now: pair.now)
    pair.run(for: .seconds(600))
    #expect(permits(pair) == 4)
  }

  @Test func `a refused host does not hold up the others`() {
    var pair = ClientAndServer.allocated()
    pair.server.refusals = [403]
    pair.client.setPeers([SocketAddress(v4: 10, 0, 0, 1, port: 9), peer], now: pair.now)
    pair.settle()
    #expect(pair.client.permissions.permissions.allSatisfy { $0.dueAt != nil })
    #expect(pair.client.relayedAddress != nil && pair.events.count == 1)
  }

  @Test func `channel data costs four bytes once the channel is bound`() throws {
    var pair = ClientAndServer.allocated()
    let packet = Array(UInt8(0)..<101)
    let began = pair.wrap(packet, to: peer)
    let first = try #require(began)
    let indication = try STUNMessage(parsing: first.span)
    #expect(indication.messageClass == .indication && indication.method == .send)
    #expect(indication.peerAddress == peer)
    #expect(indication.data.map { first[$0] } == packet[...])
    #expect(first.count == 20 + 12 + 4 + 104)
    pair.settle()
    let bound = pair.wrap(packet, to: peer)
    let second = try #require(bound)
    #expect(second.count == packet.count + 4)
    let content = RelayFraming.channelData(in: second.span)
    let (number, payload) = try #require(content)
    #expect(payload.map { second[$0] } == packet && pair.server.channels == [number: peer])
    // The same way back.
    let back = pair.client.handle(second.span, now: pair.now)
    #expect(back == .packet(peer: peer, 4..<105))
  }

  @Test func `a channel in use is bound anew within ten minutes, an idle one after its silence`() {
    var pair = ClientAndServer.allocated()
    _ = pair.wrap([1], to: peer)
    pair.settle()
    pair.run(for: .seconds(200))
    _ = pair.wrap([1], to: peer)
    pair.run(for: .seconds(101))
    let binds = pair.server.requests.count { $0.method == .channelBind }
    #expect(binds == 2 && pair.client.channels.channels.count == 1)
    pair.run(for: .seconds(500))
    #expect(pair.server.requests.count { $0.method == .channelBind } == 2)
    let number = pair.client.channels.channels[0].number
    let late: [UInt8] = [UInt8(number >> 8), UInt8(truncatingIfNeeded: number), 0, 1, 7, 0, 0, 0]
    guard case .packet(peer, _) = pair.client.handle(late.span, now: pair.now) else {
      Issue.record("what the server still sends by the number is dropped")
      return
    }
    // The peer is called again: the same number, which the server may have forgotten.
    _ = pair.wrap([1], to: peer)
    #expect(!pair.client.channels.channels[0].isBound)
    pair.run(for: .milliseconds(1))
    #expect(
      pair.client.channels.channels[0].isBound && pair.client.channels.channels[0].number == number)
    pair.run(for: .seconds(1202))
    #expect(pair.client.channels.channels.isEmpty)
  }

  /// A server keeps a relay for ten minutes, and gives no other to the same client meanwhile.
  @Test func `a relay of before an outage is given back for a new one`() {
    var pair = ClientAndServer.allocated()
    pair.isServerAway = true
    pair.client.checkAllocation(.silence, now: pair.now)
    pair.run(for: .seconds(60))
    #expect(pair.events.last == .failed(.noAnswer) && pair.client.relayedAddress == nil)
    pair.isServerAway = false
    pair.server.refusals = [437]
    let before = pair.server.requests.count
    pair.client.hurry(now: pair.now)
    pair.run(for: .milliseconds(10))
    #expect(pair.client.relayedAddress == pair.server.relayed)
    let asked = pair.server.requests.dropFirst(before).filter { $0.nonce != nil }
    #expect(asked.map(\.method) == [.allocate, .refresh, .allocate])
    #expect(asked.contains { $0.method == .refresh && $0.lifetime == 0 })
  }

  @Test func `silence alone does not make a stream answer`() {
    var client = RelayClient(
      server: ClientAndServer.address, transport: .tcp,
      credentials: RelayCredentials(user: "alice", password: "secret"),
      random: RandomSource(seed: 7))
    client.state = .allocated(SocketAddress(v4: 203, 0, 113, 9, port: 50_000))
    client.checkAllocation(.silence, now: .zero)
    #expect(client.transactions.isEmpty)
    // Something else still comes by it.
    _ = client.handle([0].span, now: .zero)
    client.checkAllocation(.longSilence, now: .zero + .seconds(2))
    #expect(client.transactions.isEmpty)
    client.checkAllocation(.longSilence, now: .zero + .seconds(4))
    #expect(client.transactions.count == 1)
    #expect(client.nextDeadline == .zero + .seconds(4))
    client.handleTimeout(now: .zero + .seconds(7))
    #expect(client.relayedAddress == nil)
  }

  /// The kernel asks less and less often for a connection, and nobody says that the line is back:
  /// Goal: within 5 s of it, for as long as a call may wait. A server that is gone costs less then.
  @Test func `a stream that is missed is tried again soon, and rarely after twenty minutes`() {
    var client = RelayClient(
      server: ClientAndServer.address, transport: .tcp,
      credentials: RelayCredentials(user: "alice", password: "secret"),
      random: RandomSource(seed: 8))
    client.state = .allocated(SocketAddress(v4: 203, 0, 113, 9, port: 50_000))
    client.streamEnded(.connectionLost, now: .zero)
    var tries: [Instant] = []
    while let deadline = client.nextDeadline, deadline < .zero + .seconds(1_400) {
      let wasAsking = client.isAsking
      client.handleTimeout(now: deadline)
      if client.isAsking, !wasAsking { tries.append(deadline) }
    }
    let gaps = zip(tries, tries.dropFirst()).map { ($0, $1 - $0) }
    #expect(gaps.filter { $0.0 < .zero + .seconds(1_190) }.allSatisfy { $0.1 <= .seconds(5) })
    #expect(gaps.filter { $0.0 > .zero + .seconds(1_200) }.allSatisfy { $0.1 >= .seconds(20) })
    #expect(tries.count > 240 && gaps.count { $0.0 > .zero + .seconds(1_200) } > 5)
  }

  @Test func `has no more channels than its limit and no packet is lost for it`() {
    var pair = ClientAndServer.allocated()
    for port in UInt16(1)...200 {
      var other = peer
      other.port = port
      let isSent = pair.wrap([1, 2, 3], to: other) != nil
      #expect(isSent)
      if port % 3 == 0 { pair.settle() }
      #expect(pair.client.channels.channels.count <= pair.client.limits.channels)
      #expect(pair.client.transactions.count <= pair.client.limits.transactions)
    }
  }

  @Test func `reads a Data indication`() {
    var pair = ClientAndServer.allocated()
    var writer = STUNWriter(.indication, .data, STUNTransactionID(high: 1, low: 2))
    writer.append(.xorPeerAddress, peer)
    writer.append(.data, [7, 8, 9])
    let bytes = writer.bytes
    guard case .packet(peer, let place) = pair.client.handle(bytes.span, now: pair.now) else {
      Issue.record("no packet")
      return
    }
    #expect(place.map { bytes[$0] } == [7, 8, 9])
  }

  @Test func `gives the relay back`() {
    var pair = ClientAndServer.allocated()
    pair.client.close(now: pair.now)
    pair.settle()
    #expect(pair.server.requests.last?.lifetime == 0 && !pair.server.hasAllocation)
    #expect(pair.client.relayedAddress == nil && pair.client.nextDeadline == nil)
    let late = pair.wrap([1], to: peer)
    #expect(late == nil)
  }

  /// Goal: whatever is lost, doubled or forged, the client comes to rest, keeps its limits, and has
  /// a relay again once the server answers. Method: 40 seeds of random faults.
  @Test func `comes back from any faults`() {
    for seed in UInt64(1)...40 {
      var random = RandomSource(seed: seed)
      var pair = ClientAndServer()
      pair.client.start(now: pair.now)
      for _ in 0..<60 {
        switch random.next() % 6 {
        case 0: pair.isServerAway.toggle()
        case 1: pair.server.nonce = random.bytes(8)
        case 2: pair.server.refusals = [[437, 486, 508, 500, 438][Int(random.next() % 5)]]
        case 3: _ = pair.client.handle(random.bytes(40).span, now: pair.now)
        case 4:
          var other = peer
          other.port = UInt16(truncatingIfNeeded: random.next() | 1)
          _ = pair.wrap([1], to: other)
          pair.client.setPeers([other], now: pair.now)
        default: pair.run(for: .milliseconds(Int64(random.next() % 100_000)))
        }
        pair.settle()
        #expect(pair.client.transactions.count <= pair.client.limits.transactions)
      }
      pair.isServerAway = false
      pair.server.refusals = []
      pair.run(for: .seconds(700))
      #expect(pair.client.relayedAddress != nil, "seed \(seed)")
    }
  }
}
