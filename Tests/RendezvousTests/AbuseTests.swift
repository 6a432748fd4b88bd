import Primitives
import Rendezvous
import Testing
import Wire

struct AbuseTests {
  let stranger = SocketAddress(v4: 203, 0, 113, 9, port: 9)

  @Test func `gets its clients back after a restart by RESET`() {
    let before = Server(boot: 5)
    let alice = TestClient(1)
    before.join(alice, name: "alice")
    let after = Server(boot: 6, store: before.store, seed: 2)
    after.attach(alice)
    // A PING alone is no longer than a RESET: nothing may be answered to it.
    after.receive(alice.ping(), from: alice.address)
    #expect(alice.resetToken == nil)
    after.receive(
      alice.seal { packet in
        PingFrame(token: 1).write(to: &packet)
        packet.append(zeros: 20)
      }, from: alice.address)
    #expect(alice.resetToken == alice.response?.resetToken)
    after.run(.seconds(1))
    after.join(alice, name: "alice")
    #expect(alice.response?.status == .nameGranted && after.gauges.clients == 1)
  }

  @Test func `sends no RESET for its own connection IDs, and few to one source`() {
    let old = Server(boot: 5)
    let alice = TestClient(1)
    old.join(alice)
    let packets = (0..<50).map { _ in alice.seal { $0.append(zeros: 40) } }
    let same = Server(boot: 5, seed: 2)
    for packet in packets { same.receive(packet, from: alice.address) }
    #expect(same.counters.resetsSent == 0 && same.counters.unknownConnections == 50)
    let next = Server(boot: 6, seed: 2)
    for packet in packets { next.receive(packet, from: alice.address) }
    #expect(next.counters.resetsSent == 8)
    // Boot 5 + 16 begins connection IDs as boot 5 did.
    let much = Server(boot: 21, seed: 2)
    for packet in packets { much.receive(packet, from: alice.address) }
    #expect(much.counters.resetsSent == 0)
  }

  /// Goal: after a restart nobody waits for a RESET longer than 6 s, and a RESET is no amplifier.
  /// Method: 20 000 clients of the life before, each behind its own address, send a PING a second,
  /// as clients do whose server is silent.
  @Test func `gives twenty thousand clients their RESET within six seconds of a restart`() {
    let server = Server(boot: 6)
    let count: UInt32 = 20_000
    var waiting = Set(0..<count)
    var received: [SocketAddress: Int] = [:]
    for second in 0..<6 {
      for number in waiting.sorted() {
        let source = SocketAddress(
          v4: 10, UInt8(number >> 16 & 255), UInt8(number >> 8 & 255), UInt8(number & 255),
          port: 4000)
        // A former boot's connection ID, and nothing that would open.
        var packet: [UInt8] = [0x60]
        packet.append(littleEndian: UInt32(5 << 28 | number))
        packet += [UInt8](repeating: 7, count: 36)
        received[source, default: 0] += packet.count
        server.receive(packet, from: source)
        if server.sent[source] != nil { waiting.remove(number) }
        if number % 20 == 19 { server.run(.milliseconds(1)) }
      }
      server.run(until: Instant(nanoseconds: UInt64(second + 2) * 1_000_000_000))
    }
    #expect(waiting.count == 0, "of \(count)")
    for (source, bytes) in server.sent { #expect(bytes <= received[source, default: 0]) }
  }

  /// Method: each byte of an INIT, a CARD_REQUEST and a sealed packet is changed in turn, and each
  /// is cut at every length; strangers send them.
  @Test func `answers less than it was sent, whatever strangers send`() {
    let server = Server()
    let alice = TestClient(1)
    server.join(alice)
    var request: [UInt8] = []
    CardRequestPacket(nonce: 5).write(to: &request)
    let sealed = alice.seal { $0.append(zeros: 60) }
    let initiation = TestClient(2).initiation(to: server.card)
    var received = 0
    var number: UInt32 = 0
    for original in [initiation, request, sealed] {
      for index in original.indices {
        for variant in [0, 1] {
          var bytes = original
          if variant == 0 { bytes[index] ^= 0x41 } else { bytes = Array(bytes[..<index]) }
          number += 1
          // Each from its own address, so that no rate hides an answer.
          let source = SocketAddress(
            v4: 198, UInt8(number >> 16 & 255), UInt8(number >> 8 & 255), UInt8(number & 255),
            port: 77)
          let answered = server.sent[source] ?? 0
          server.receive(bytes, from: source)
          received += bytes.count
          #expect((server.sent[source] ?? 0) - answered <= bytes.count)
        }
      }
    }
    let sent = server.sent.filter { $0.key.port == 77 }.reduce(0) { $0 + $1.value }
    #expect(sent <= received)
    #expect(server.gauges.clients == 1)
  }

  /// Method: a client's sealed packets arrive from other addresses, which never answer; what goes
  /// there is counted against what came from there.
  @Test func `sends no more to a new address than came from there, until it answers`() {
    let server = Server()
    let alice = TestClient(1)
    server.join(alice)
    var sources: [SocketAddress: Int] = [:]
    for attempt in 0..<200 {
      let source = SocketAddress(v4: 198, 51, 100, UInt8(attempt % 7), port: 50)
      let bytes = alice.seal { packet in
        switch attempt % 5 {
        case 0: PingFrame(token: 3).write(to: &packet)
        case 3:
          PingFrame(token: 3).write(to: &packet)
          packet.append(zeros: 20 + attempt % 30)
        case 1: PathChallengeFrame(token: 3).write(to: &packet)
        case 2:
          PathChallengeFrame(token: 3).write(to: &packet)
          packet.append(zeros: 40)
        default: packet.append(zeros: attempt)
        }
      }
      sources[source, default: 0] += bytes.count
      server.receive(bytes, from: source)
      server.run(.milliseconds(60))
    }
    for (source, count) in sources { #expect(server.sent[source] ?? 0 <= count) }
    #expect(server.counters.moves == 0)
  }

  @Test func `moves with a client whose new address answers`() {
    let server = Server()
    let alice = TestClient(1)
    server.join(alice)
    let old = alice.address
    let moved = SocketAddress(v4: 198, 51, 100, 7, port: 5000)
    alice.address = moved
    server.receive(alice.ping(token: 8), from: moved)
    #expect(alice.challenges.count == 1)
    #expect(server.counters.moves == 0)
    let wrong = alice.seal {
      PathResponseFrame(token: 1, observed: moved).write(to: &$0)
    }
    server.receive(wrong, from: moved)
    #expect(server.counters.moves == 0)
    guard let challenge = alice.challenges.first else { return }
    // The right token from a third address proves nothing about the second.
    let response = PathResponseFrame(token: challenge.token, observed: moved)
    server.receive(alice.seal { response.write(to: &$0) }, from: stranger)
    #expect(server.counters.moves == 0)
    server.run(.milliseconds(150))
    server.receive(alice.ping(token: 9), from: moved)
    guard let second = alice.challenges.last else { return }
    let answer = PathResponseFrame(token: second.token, observed: moved)
    server.receive(alice.seal { answer.write(to: &$0) }, from: moved)
    #expect(server.counters.moves == 1)
    #expect(server.events.last == .moved(alice.id, from: old, to: moved))
    server.receive(alice.ping(token: 10), from: moved)
    #expect(alice.pongs.last == PongFrame(token: 10, observed: moved))
  }

  /// A PING of 62 bytes pays for its PONG beside the challenge; one of 61 does not.
  @Test(arguments: [27, 28]) func `tells a client that moved its address with the challenge`(
    padding: Int
  ) {
    let server = Server()
    let alice = TestClient(1)
    server.join(alice)
    let moved = SocketAddress(v4: 198, 51, 100, 7, port: 5000)
    alice.address = moved
    let ping = alice.seal {
      PingFrame(token: 8).write(to: &$0)
      $0.append(zeros: padding)
    }
    server.receive(ping, from: moved)
    #expect(alice.challenges.count == 1)
    let isTold = alice.pongs.last == PongFrame(token: 8, observed: moved)
    #expect(isTold == (ping.count >= 62))
    #expect(server.sent[moved] ?? 0 <= ping.count)
    #expect(server.counters.moves == 0)
  }

  @Test func `opens nothing twice, and nothing older than 256 numbers`() {
    let server = Server()
    let alice = TestClient(1)
    server.join(alice)
    let early = (0..<3).map { alice.seal(number: UInt32(10 + $0)) { $0.append(zeros: 20) } }
    let late = alice.seal(number: 266) { $0.append(zeros: 20) }
    server.receive(late, from: alice.address)
    let opened = server.counters.packetsOpened
    server.receive(early[0], from: alice.address)  // 256 behind
    #expect(server.counters.packetsOpened == opened)
    server.receive(early[1], from: alice.address)  // 255 behind
    #expect(server.counters.packetsOpened == opened + 1)
    server.receive(early[1], from: alice.address)
    server.receive(late, from: alice.address)
    #expect(server.counters.packetsOpened == opened + 1)
    #expect(server.counters.packetsReplayed == 3)
  }

  @Test func `ignores a source's packets to one session after a hundred forgeries, and no others`()
  {
    let server = Server()
    let (alice, bob) = (TestClient(1), TestClient(2))
    server.join(alice)
    server.join(bob)
    var (forged, other) = (alice.ping(), bob.ping())
    forged[20] ^= 1
    other[20] ^= 1
    for _ in 0..<200 { server.receive(forged, from: stranger) }
    #expect(server.counters.packetsNotOpened == 101)
    #expect(server.counters.packetsIgnored == 99)
    server.receive(other, from: stranger)
    #expect(server.counters.packetsNotOpened == 102)
    // From the proven address nothing is ignored, however much of it is forged.
    for _ in 0..<200 { server.receive(forged, from: alice.address) }
    #expect(server.counters.packetsNotOpened == 302)
    server.receive(alice.ping(token: 4), from: alice.address)
    #expect(alice.pongs.last?.token == 4)
    server.run(.seconds(3))
    server.receive(forged, from: stranger)
    #expect(server.counters.packetsNotOpened == 303)
  }

  @Test func `asks for cookies under load, keeps nothing for them, and lets the honest in`() {
    var limits = ServerLimits()
    limits.unconfirmedSessions = 200
    let server = Server(limits: limits)
    // A flood of good INITs from many addresses within one moment.
    for number in UInt64(100)..<180 {
      let flooder = TestClient(number)
      server.receive(flooder.initiation(to: server.card), from: flooder.address)
    }
    #expect(server.counters.cookiesSent > 0)
    let kept = server.gauges.unconfirmedSessions
    let alice = TestClient(1)
    server.attach(alice)
    let initiation = alice.initiation(to: server.card)
    alice.lastMAC1 = Array(initiation[InitPacket.mac1Range])
    server.receive(initiation, from: alice.address)
    #expect(!alice.isRegistered && alice.cookie != nil)
    #expect(server.gauges.unconfirmedSessions == kept)
    server.run(.milliseconds(300))
    server.receive(alice.proven(initiation, to: server.card), from: alice.address)
    #expect(alice.isRegistered)
    server.run(.seconds(2))
    let bob = TestClient(2)
    server.join(bob)
    #expect(bob.isRegistered)
  }

  /// Method: 10⁵ operations drawn from a seed: registrations, pings, look-ups, forwards, losses,
  /// garbage, time. After each thousand every table is within its limit; at the end, quiet.
  @Test
  func
    `stays within its limits through random operations, and repeats them to the byte`()
  {
    var limits = ServerLimits()
    limits.sessions = 40
    limits.sessionsPerSource = 10
    limits.exchanges = 12
    limits.unconfirmedSessions = 16
    limits.waitingEvents = 64
    let seed: UInt64 = 20_260
    let digests = (0..<2).map { _ in RandomOperations(seed: seed, limits: limits).run() }
    #expect(digests[0] == digests[1], "EARSHOT_SEED=\(seed)")
  }
}

/// A run of random operations against one server.
private final class RandomOperations {
  private let server: Server
  private let limits: ServerLimits
  private var random: RandomSource
  private var clients: [TestClient] = []

  init(seed: UInt64, limits: ServerLimits) {
    self.limits = limits
    server = Server(limits: limits, seed: seed)
    random = RandomSource(seed: seed)
    for number in UInt64(1)...60 {
      let host = UInt8(number % 7)
      clients.append(TestClient(number, SocketAddress(v4: 10, 0, 0, host, port: UInt16(number))))
    }
  }

  /// A digest of everything that the server sent.
  func run() -> UInt64 {
    var loss = random.split()
    server.isLost = { loss.unit() < 0.1 }
    for step in 1...50_000 {
      perform(clients[Int(random.next() % 60)])
      if step % 1000 == 0 { check() }
    }
    server.isLost = nil
    server.run(.seconds(120))
    #expect(server.gauges == ServerGauges())
    #expect(server.nextDeadline == nil)
    return server.digest
  }

  private func perform(_ client: TestClient) {
    let now = server.now
    switch random.next() % 100 {
    case 0..<3: server.join(client, name: random.next() % 2 == 0 ? "n\(random.next() % 20)" : nil)
    case 3..<40 where client.isRegistered:
      server.receive(client.ping(), from: client.address)
    case 40..<60 where client.isRegistered:
      let other = clients[Int(random.next() % 60)]
      client.request(.lookUp(LookUp(request: 1, target: .id(other.id))), now: now)
    case 60..<80 where client.isRegistered:
      let other = clients[Int(random.next() % 60)]
      let body = [UInt8](repeating: 5, count: Int(random.next() % 4200))
      client.request(
        .forward(
          Forward(
            id: ForwardID(random: &random), to: other.id, lifeSeconds: 2, body: body)), now: now)
    case 80..<85:
      server.receive(random.bytes(Int(random.next() % 1201)), from: client.address)
    case 85..<87 where client.isRegistered:
      let text: [UInt8] = []
      server.receive(
        client.seal { CloseFrame(code: .done).write(text.span, to: &$0) }, from: client.address)
    default: server.run(.milliseconds(Int64(random.next() % 40)))
    }
  }

  private func check() {
    let gauges = server.gauges
    #expect(gauges.clients + gauges.unconfirmedSessions <= limits.sessions)
    #expect(gauges.unconfirmedSessions <= limits.unconfirmedSessions)
    #expect(gauges.busyClients <= limits.exchanges)
    #expect(gauges.reassemblyByteCount <= limits.exchanges * 32_768)
    #expect(gauges.reassemblyByteCount >= 0)
  }
}
