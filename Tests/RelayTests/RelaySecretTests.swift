import Primitives
import Testing

@testable import Relay

@Suite struct RelaySecretTests {
  /// Passwords by `openssl dgst -sha1 -hmac`, in Base64.
  @Test(arguments: [
    ("1800043200:AAAAAAAAAAA", "bzK0cb2OFkDmyEHpWNTUOL7Z8nI="),
    ("1:x", "0he6eB/BPcIS7tOkubKNJgWcCeY="),
  ])
  func `makes the password that servers with the secret expect`(
    user: String, password: String
  ) throws {
    let secret = try #require(RelaySecret(Array("north-wind-and-sun\r\n".utf8)))
    #expect(secret.password(of: user) == password)
  }

  @Test func `each user is another one, and says when it lapses`() throws {
    let secret = try #require(RelaySecret(Array("north-wind-and-sun".utf8)))
    var random = RandomSource(seed: 1)
    let made = (0..<50).map { _ in secret.credentials(until: 77, random: &random) }
    #expect(Set(made.map(\.user)).count == 50)
    #expect(made.allSatisfy { $0.user.hasPrefix("77:") && $0.password.count == 28 })
    #expect(made.allSatisfy { secret.password(of: $0.user) == $0.password })
  }

  @Test(arguments: [
    "", "\n", "fifteen letters", "two lines of a\nsecret file", "tab\tin the middle of it",
    String(repeating: "x", count: 257),
  ])
  func `refuses what is no secret`(text: String) {
    #expect(RelaySecret(Array(text.utf8)) == nil)
  }

  @Test(
    arguments: [
      ("turn:h", "h:3478", .udp), ("turn:h:1", "h:1", .udp),
      ("TURN:h?transport=UDP", "h:3478", .udp), ("turn:h:80?transport=tcp", "h:80", .tcp),
      ("turns:h", "h:5349", .tls), ("turns:192.0.2.1:443?transport=tcp", "192.0.2.1:443", .tls),
      ("turns:[2001:db8::1]", "[2001:db8::1]:5349", .tls),
      ("turn:[2001:db8::1]:9", "[2001:db8::1]:9", .udp),
    ] as [(String, String, RelayURI.Transport)])
  func `reads URIs of TURN servers`(text: String, place: String, transport: RelayURI.Transport) {
    let uri = RelayURI(text)
    #expect(uri?.place == place && uri?.transport == transport)
  }

  @Test(arguments: [
    "", "turn", "turn:", "turn:?transport=udp", "turn:h:", "turn:h:0", "turn:h:65536", "turn:h:+1",
    "turn::1", "turn:2001:db8::1", "turn:[h]", "turn:[::1", "turn:[::1]x", "turn:h?transport=sctp",
    "turns:h?transport=udp", "turn:h?transport=", "turn:h?", "turn:u@h", "turn://h", "turn:h h",
    "stun:h", "https:h", "turn:h\u{7}", "turn:h?transport=tcp?transport=tcp",
    "turn:" + String(repeating: "h", count: 251),
  ])
  func `refuses other URIs`(text: String) {
    #expect(RelayURI(text) == nil)
  }
}
