import Primitives
import Rendezvous
import Testing
import Wire

/// Many real addresses that prove themselves with cookies and never finish
/// (docs/protocol/session.md §9). Scaled to a tenth, so that the key agreements of the test are
/// few: 200 a second, and room for 60 unconfirmed sessions, which the good ones of the INITs would
/// fill in three seconds.
struct BotnetTests {
  /// The attackers: each sends INITs with its cookie, some of them good, most of them junk.
  private final class Botnet {
    private let server: Server
    private let sources: [SocketAddress]
    private var cookies: [[UInt8]?]
    private var salt: UInt64 = 0

    init(_ count: Int, at server: Server, _ address: (Int) -> SocketAddress) {
      self.server = server
      sources = (0..<count).map(address)
      cookies = Array(repeating: nil, count: count)
    }

    /// One INIT of source `index`: every tenth is one of another identity, never confirmed.
    func send(_ index: Int) {
      salt += 1
      let number = 100_000 + salt
      let prover = TestClient.Prover(to: server.card)
      let initiation =
        salt % 10 == 0
        ? TestClient(number).initiation(to: server.card, milliseconds: Self.time(server))
        : TestClient.junkInitiation(to: server.card, salt: salt)
      let sent = cookies[index].map { prover.prove(initiation, $0) } ?? initiation
      server.receive(sent, from: sources[index])
      guard cookies[index] == nil, let answer = server.lastStray, answer.to == sources[index]
      else { return }
      cookies[index] = prover.cookie(in: answer.bytes, for: initiation)
    }

    static func time(_ server: Server) -> UInt64 {
      Server.unixSeconds * 1000 + server.now.nanoseconds / 1_000_000
    }
  }

  enum Addresses: CaseIterable {
    /// 200 in one IPv4 /24 each, 2000 likewise, and 400 IPv6 /64 of one /56.
    case twoHundred, twoThousand, oneSite

    var count: Int {
      switch self {
      case .twoHundred: 200
      case .twoThousand: 2000
      case .oneSite: 250
      }
    }

    func address(_ index: Int) -> SocketAddress {
      guard self == .oneSite else {
        return SocketAddress(v4: 60, UInt8(index / 200), UInt8(index % 200), 1, port: 99)
      }
      return SocketAddress(
        family: .v6, high: 0x2001_0DB8_0001_0000 | UInt64(index), low: 9, port: 99)
    }
  }

  /// Goal: at least 95 % of honest clients register within 10 s. Method: 2 INITs a second of each
  /// source with cookies (but at least 800 a second in all) for 12 s; each 0.5 s a client begins,
  /// as clients do, 100 ms away.
  @Test(arguments: Addresses.allCases)
  func `registers 95 % while many addresses with cookies begin and never finish`(
    addresses: Addresses
  ) {
    var limits = ServerLimits()
    limits.keyAgreementsPerSecond = 200
    limits.waitingHandshakes = 16
    limits.unconfirmedSessions = 60
    let server = Server(limits: limits)
    server.keepsStrays = false
    let botnet = Botnet(addresses.count, at: server, addresses.address)
    let perSecond = max(800, addresses.count * 2)
    var honest: [HonestClient] = []
    var sent = 0
    for millisecond in 0..<16_000 {
      if millisecond >= 2000, millisecond < 12_000, millisecond % 500 == 0 {
        let number = UInt64(millisecond / 500)
        let client = TestClient(
          500 + number, SocketAddress(v4: 70, UInt8(number), 1, 1, port: 4000))
        server.attach(client)
        honest.append(HonestClient(client, began: server.now))
      }
      while sent < (millisecond + 1) * perSecond / 1000 {
        botnet.send(sent % addresses.count)
        sent += 1
      }
      for client in honest { client.act(at: server) }
      server.run(.milliseconds(1))
    }
    let registered = honest.compactMap(\.seconds).sorted()
    #expect(
      registered.count * 100 >= honest.count * 95,
      "\(registered.count) of \(honest.count), worst \(registered.last ?? 0) s")
    #expect(server.gauges.unconfirmedSessions <= 60)
  }
}

/// Many honest clients behind one address.
struct OfficeTests {
  /// Goal: 200 answerers of one address register, two at the same moment each time.
  @Test func `registers two hundred clients of one address within 11 s, each with a name`() {
    let server = Server()
    let clients = (0..<200).map { number in
      TestClient(
        UInt64(3000 + number), SocketAddress(v4: 10, 7, 7, 7, port: UInt16(3000 + number)))
    }
    for pair in 0..<100 {
      for client in clients[(pair * 2)..<(pair * 2 + 2)] {
        server.join(client, name: "desk\(client.address.port)")
      }
      server.run(.milliseconds(105))
    }
    #expect(clients.count { $0.response?.status == .nameGranted } == 200)
    #expect(server.gauges.clients == 200)
  }
}

/// A client as `Peer` is one: INIT at 0, 0.3, 0.9, 2.1 s, anew at 4.5 s, at once with a cookie; its
/// PING 100 ms after RESP.
private final class HonestClient {
  private let client: TestClient
  private let began: Instant
  private var initiation: [UInt8] = []
  private var sentCookie: [UInt8]?
  private var registered: Instant?
  /// How long it took.
  private(set) var seconds: Double?

  init(_ client: TestClient, began: Instant) {
    self.client = client
    self.began = began
  }

  private static let times: Set<UInt64> = [0, 300, 900, 2100, 4500, 4800, 5400, 6600]

  func act(at server: Server) {
    guard seconds == nil else { return }
    let age = server.now.nanoseconds(since: began) / 1_000_000
    if client.isRegistered {
      registered = registered ?? server.now
      guard let registered, registered + .milliseconds(100) <= server.now else { return }
      server.receive(client.ping(), from: client.address)
      if !client.pongs.isEmpty { seconds = Double(age) / 1000 }
      self.registered = server.now + .milliseconds(200)
      return
    }
    guard age < 10_000 else { return }
    let hasNewCookie = client.cookie != nil && client.cookie != sentCookie
    guard hasNewCookie || Self.times.contains(age) else { return }
    if age == 0 || age == 4500 {
      initiation = client.initiation(
        to: server.card,
        milliseconds: Server.unixSeconds * 1000 + server.now.nanoseconds / 1_000_000)
      client.lastMAC1 = Array(initiation[InitPacket.mac1Range])
    }
    sentCookie = client.cookie
    server.receive(client.proven(initiation, to: server.card), from: client.address)
  }
}
