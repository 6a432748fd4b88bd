import Primitives
import Rendezvous
import Testing
import Wire

/// Packets with a client's own source address that are not its own: of a neighbour behind the same
/// translator or in the same /64, or forged (docs/protocol/session.md §9).
struct NeighbourTests {
  enum Flood: CaseIterable {
    /// DATA that does not open: of the neighbour's own session, of the victim's, of none.
    case ownSession, victimsSession, noSession
    /// INITs without a right MAC1; with one and a payload of junk.
    case wrongMAC, junk
    case cardRequests
  }

  /// One client, its neighbour with a session of its own, and what the neighbour floods.
  private final class Street {
    let server = Server()
    let victim = TestClient(1, SocketAddress(v4: 10, 9, 9, 9, port: 4000))
    let neighbour = TestClient(2, SocketAddress(v4: 10, 9, 9, 9, port: 5000))
    let flood: Flood
    let isExact: Bool
    private var salt: UInt64 = 0

    init(_ flood: Flood, isExact: Bool) {
      (self.flood, self.isExact) = (flood, isExact)
      server.join(victim)
      server.join(neighbour)
      server.run(.seconds(2))
    }

    private func packet() -> [UInt8] {
      salt += 1
      switch flood {
      case .ownSession, .victimsSession:
        guard let local = (flood == .ownSession ? neighbour : victim).response?.responder else {
          return []
        }
        var bytes: [UInt8] = [0x60]
        local.write(to: &bytes)
        return bytes + (0..<36).map { UInt8(truncatingIfNeeded: salt >> UInt64($0 % 4 * 8)) }
      case .noSession:
        return [0x60] + [UInt8](repeating: UInt8(truncatingIfNeeded: salt), count: 40)
      case .wrongMAC, .junk:
        var bytes = TestClient.junkInitiation(to: server.card, salt: salt)
        if flood == .wrongMAC { bytes[InitPacket.mac1Range.lowerBound] ^= 1 }
        return bytes
      case .cardRequests:
        var bytes: [UInt8] = []
        CardRequestPacket(nonce: salt).write(to: &bytes)
        return bytes
      }
    }

    /// 10 Mbit/s of it, with the headers of IP and UDP, for a while.
    func run(milliseconds: Int) {
      let bytes = packet()
      let perSecond = 10_000_000 / ((bytes.count + 28) * 8)
      for step in 0..<milliseconds {
        let count = (step + 1) * perSecond / 1000 - step * perSecond / 1000
        for _ in 0..<count {
          let port = isExact ? victim.address.port : UInt16(5000 + salt % 3000)
          server.receive(packet(), from: SocketAddress(v4: 10, 9, 9, 9, port: port))
        }
        server.run(.milliseconds(1))
      }
    }

    /// Seconds until a client without a card has registered, as a client tries it.
    func register(_ client: TestClient) -> Double? {
      server.attach(client)
      let start = server.now
      var request: [UInt8] = []
      CardRequestPacket(nonce: 77).write(to: &request)
      var wait = [13, 307, 611, 1203].makeIterator()
      var initiation: [UInt8]?
      while server.now.nanoseconds(since: start) < 3_000_000_000 {
        run(milliseconds: wait.next() ?? 1201)
        if client.cards.isEmpty {
          server.receive(request, from: client.address)
          if client.cards.isEmpty { continue }
          wait = [13, 307, 611, 1203].makeIterator()
        }
        let bytes =
          initiation
          ?? client.initiation(
            to: server.card,
            milliseconds: Server.unixSeconds * 1000 + server.now.nanoseconds / 1_000_000)
        initiation = bytes
        client.lastMAC1 = Array(bytes[InitPacket.mac1Range])
        server.receive(client.proven(bytes, to: server.card), from: client.address)
        if !client.isRegistered, client.cookie != nil {
          server.receive(client.proven(bytes, to: server.card), from: client.address)
        }
        guard client.isRegistered else { continue }
        server.receive(client.ping(), from: client.address)
        if !client.pongs.isEmpty { return Double(server.now.nanoseconds(since: start)) / 1e9 }
      }
      return nil
    }
  }

  /// Goal: 100 % of PINGs. Method: 10 Mbit/s of each kind for a second, a PING each 20 ms.
  @Test(arguments: Flood.allCases, [false, true])
  func `answers every PING of a client whose address others use`(flood: Flood, isExact: Bool) {
    let street = Street(flood, isExact: isExact)
    street.victim.pongs = []
    for round in 0..<50 {
      street.run(milliseconds: 20)
      street.server.receive(
        street.victim.ping(token: UInt64(round)), from: street.victim.address)
    }
    #expect(street.victim.pongs.count == 50)
  }

  /// Goal: registered within 2 s. Method: as above, a third client behind the address begins.
  @Test(arguments: Flood.allCases)
  func `registers a client within 2 s whose address others use`(flood: Flood) throws {
    let street = Street(flood, isExact: false)
    street.run(milliseconds: 500)
    let client = TestClient(3, SocketAddress(v4: 10, 9, 9, 9, port: 4444))
    let seconds = try #require(street.register(client))
    #expect(seconds <= 2)
  }
}
