import Primitives
import Rendezvous
import Testing
import Wire

/// Echoes that clients ask for, at the machine (docs/protocol/frames.md §12).
@Suite struct EchoTests {
  private static let second = LocalAddressID(rawValue: 2)
  private static let notice = RendezvousEcho.noticeByteCount

  /// A request in a packet of `byteCount` bytes.
  private func request(
    _ client: TestClient, _ frame: EchoRequestFrame, byteCount: Int = 128
  ) -> [UInt8] {
    client.seal { packet in
      frame.write(to: &packet)
      packet.append(zeros: byteCount - packet.count - SealedPacket.tagByteCount)
    }
  }

  /// What a request draws: lengths, and where each leaves from.
  private func drawn(
    _ server: Server, _ client: TestClient, _ frame: EchoRequestFrame, byteCount: Int = 128,
    from source: SocketAddress? = nil, at local: LocalAddressID = LocalAddressID(rawValue: 1)
  ) -> (bytes: Int, locals: [LocalAddressID]) {
    let before = (server.sent.values.reduce(0, +), server.locals.count)
    server.receive(
      request(client, frame, byteCount: byteCount), from: source ?? client.address, at: local)
    return (
      server.sent.values.reduce(0, +) - before.0, Array(server.locals.dropFirst(before.1))
    )
  }

  private func joined(hasOtherPort: Bool = true) -> (Server, TestClient) {
    let server = Server()
    server.setOtherPort(hasOtherPort)
    let client = TestClient(1)
    client.presence = Presence(PresenceID(rawValue: 11), .guest)
    server.join(client)
    return (server, client)
  }

  @Test func `an echo has the length that was asked for`() {
    let (server, client) = joined()
    for length in [64, 700, 1200] {
      let frame = EchoRequestFrame(token: 5, payloadByteCount: length)
      let (bytes, locals) = drawn(server, client, frame, byteCount: length)
      #expect(bytes == length && locals.count == 1)
      #expect(client.echoes.last == EchoFrame(token: 5, status: .echo))
    }
    #expect(server.counters.echoes == 3)
  }

  @Test func `all that a request draws is no longer than its packet, or nothing comes`() {
    let (server, client) = joined()
    let plain = EchoRequestFrame(token: 5, payloadByteCount: 300)
    #expect(drawn(server, client, plain, byteCount: 299).bytes == 0)
    let other = EchoRequestFrame(token: 5, source: .otherPort)
    #expect(drawn(server, client, other, byteCount: 64 + Self.notice - 1).bytes == 0)
    #expect(drawn(server, client, other, byteCount: 64 + Self.notice).bytes == 64 + Self.notice)
    #expect(server.counters.echoesRefused == 2)
  }

  /// One packet full of requests.
  @Test(
    arguments: [(0, .usual), (22, .usual), (0, .otherPort)]
      as [(UInt64, EchoRequestFrame.Source)])
  func `all that a packet draws is no longer than it, however many requests it has`(
    presence: UInt64, source: EchoRequestFrame.Source
  ) {
    let (server, client) = joined()
    let other = TestClient(1, SocketAddress(v4: 10, 1, 1, 1, port: 5000))
    other.presence = Presence(PresenceID(rawValue: 22), .guest)
    server.join(other)
    let frame = EchoRequestFrame(
      token: 5, presence: PresenceID(rawValue: presence), source: source)
    let packet = client.seal { packet in
      for _ in 0..<58 { frame.write(to: &packet) }
    }
    let before = server.sent.values.reduce(0, +)
    server.receive(packet, from: client.address)
    let drawn = server.sent.values.reduce(0, +) - before
    #expect(packet.count > 58 * EchoRequestFrame.byteCount)
    #expect(drawn <= packet.count && drawn > packet.count - 64 - Self.notice, "\(drawn)")
    let usual = EchoRequestFrame.payloadByteCounts.lowerBound
    let each = usual + (presence == 0 && source == .usual ? 0 : Self.notice)
    #expect(server.counters.echoes == UInt64(packet.count / each))
    #expect(server.counters.echoesRefused == UInt64(58 - packet.count / each))
  }

  @Test func `an echo from the other port leaves from it, and the usual one says so`() {
    let (server, client) = joined()
    let (_, locals) = drawn(server, client, EchoRequestFrame(token: 6, source: .otherPort))
    #expect(locals.count == 2 && locals.count(where: \.isAtOtherPort) == 1)
    #expect(client.echoes.map(\.status) == [.echo, .sent])
    let (bare, lonely) = joined(hasOtherPort: false)
    #expect(drawn(bare, lonely, EchoRequestFrame(token: 6, source: .otherPort)).bytes > 0)
    #expect(lonely.echoes.map(\.status) == [.noOtherPort])
  }

  @Test func `nothing goes where no packet of the session has been proven to come from`() {
    let (server, client) = joined()
    let victim = SocketAddress(v4: 198, 51, 100, 7, port: 53)
    for source in EchoRequestFrame.Source.allCases {
      let frame = EchoRequestFrame(token: 7, source: source)
      _ = drawn(server, client, frame, byteCount: 1200, from: victim)
    }
    #expect(client.echoes.isEmpty && server.counters.echoesRefused == 3)
    // The challenge to a client that seems to have moved, and no echo.
    #expect(server.sent[victim, default: 0] < 200)
  }

  @Test func `another program of the identity hears it, one of somebody else does not`() {
    let (server, client) = joined()
    let other = TestClient(1, SocketAddress(v4: 10, 1, 1, 1, port: 5000))
    other.presence = Presence(PresenceID(rawValue: 22), .guest)
    server.join(other)
    _ = drawn(server, client, EchoRequestFrame(token: 8, presence: PresenceID(rawValue: 22)))
    #expect(other.echoes == [EchoFrame(token: 8, status: .echo)])
    #expect(client.echoes == [EchoFrame(token: 8, status: .sent)])
    let stranger = TestClient(2)
    server.join(stranger)
    _ = drawn(server, stranger, EchoRequestFrame(token: 9, presence: PresenceID(rawValue: 22)))
    #expect(stranger.echoes.map(\.status) == [.noSession] && other.echoes.count == 1)
  }

  @Test func `an echo comes from the asker's address of the rendezvous, if that is another`() {
    let (server, client) = joined()
    let hearer = TestClient(1, SocketAddress(v4: 10, 1, 1, 1, port: 5000))
    hearer.presence = Presence(PresenceID(rawValue: 22), .guest)
    server.join(hearer)
    server.receive(hearer.ping(), from: hearer.address, at: LocalAddressID(rawValue: 1))
    let frame = EchoRequestFrame(token: 3, presence: PresenceID(rawValue: 22), source: .asker)
    _ = drawn(server, client, frame)
    #expect(client.echoes.map(\.status) == [.sameAddress] && hearer.echoes.isEmpty)
    let (_, locals) = drawn(server, client, frame, at: Self.second)
    #expect(hearer.echoes.count == 1 && locals.first == Self.second)
  }

  @Test func `one source is answered so often and no more`() {
    let (server, client) = joined()
    for _ in 0..<200 { _ = drawn(server, client, EchoRequestFrame(token: 1), byteCount: 64) }
    #expect(client.echoes.count { $0.status == .echo } == 40)
    #expect(client.echoes.count { $0.status == .tooMany } == 160)
    server.run(.seconds(2))
    server.receive(client.ping(), from: client.address)
    #expect(drawn(server, client, EchoRequestFrame(token: 1), byteCount: 64).bytes == 64)
  }
}

/// An ECHO that only tells: header, frame, tag.
private enum RendezvousEcho {
  static let noticeByteCount = SealedPacket.minimumByteCount + EchoFrame.byteCount
}
