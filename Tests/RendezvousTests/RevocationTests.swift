import Primitives
import Testing
import Wire

/// A device key that its owner gave up (docs/protocol/README.md §4).
struct RevocationTests {
  private static let week: UInt64 = 7 * 86_400
  private static let start = Server.unixSeconds
  let server = Server()

  /// A program of the same identity, at an address of its own.
  private func program(_ number: UInt8) -> TestClient {
    let client = TestClient(1, SocketAddress(v4: 70, 1, number, 1, port: 4000))
    client.presence = Presence(PresenceID(rawValue: UInt64(number)), .answering)
    return client
  }

  @Test func `a new device key ends the sessions of the one before`() {
    let programs = [program(1), program(2)]
    for client in programs { server.join(client) }
    let stranger = TestClient(2)
    server.join(stranger)
    server.run(.seconds(5))
    let owner = program(3)
    owner.replaceKey(unixSeconds: Self.start + 5)
    server.join(owner)
    server.run(.seconds(1))
    #expect(owner.response?.status == .noNameAskedFor)
    #expect(programs.allSatisfy { $0.closes.first == .replaced } && stranger.closes.isEmpty)
    #expect(server.presences(of: owner.id).count == 1)
  }

  /// Method: a program that the owner forgot to start anew registers with the old key and a card of
  /// its own clock, which has the higher serial.
  @Test func `the key before is refused, whatever the serial of its card`() {
    server.run(.seconds(700))
    let owner = program(1)
    owner.replaceKey(unixSeconds: Self.start + 700)
    server.join(owner)
    let forgotten = program(2)
    forgotten.renewCard(unixSeconds: Self.start + 720)
    server.join(forgotten)
    server.run(.seconds(1))
    #expect(forgotten.response?.status == .superseded && owner.closes.isEmpty)
    #expect(server.presences(of: owner.id).count == 1)
  }

  /// Method: two programs, of which one makes the step of a week before the other.
  @Test func `the weekly step of one program leaves the other alone`() {
    let (early, late) = (program(1), program(2))
    server.run(.seconds(Int64(Self.week) - 20))
    server.join(late)
    server.run(.seconds(30))
    #expect(early.stepKey(unixSeconds: Self.start + Self.week + 10))
    server.join(early)
    server.run(.seconds(1))
    #expect(late.closes.isEmpty)
    late.renewCard(unixSeconds: Self.start + Self.week + 60)
    server.join(late)
    server.run(.seconds(1))
    #expect(late.response?.status == .noNameAskedFor && early.closes.isEmpty)
    #expect(server.presences(of: early.id).count == 2)
  }
}
