import Primitives
import SecureSession
import Testing
import Tokens
import Wire

@testable import Rendezvous

/// Registrations that need an access token (docs/protocol/rendezvous.md §5).
struct TokenTests {
  private let server: Server
  private let bob = TestClient(1)
  private let carol = TestClient(2)
  private let key: String

  init() throws {
    var random = RandomSource(seed: 7)
    let key = TokenSigningKey(random: &random)
    self.key = key.secretText()
    server = Server(tokenKey: key.publicKey)
  }

  private var milliseconds: UInt64 {
    Server.unixSeconds * 1000 + server.now.nanoseconds / 1_000_000
  }

  private func claims(_ client: TestClient, seconds: UInt64 = 60) -> TokenClaims {
    TokenClaims(
      audience: "\(server.card.id)", subject: client.id, issuedAt: milliseconds,
      notBefore: milliseconds, expires: milliseconds + seconds * 1000)
  }

  private func sign(_ claims: TokenClaims) -> String {
    switch TokenSigningKey(key) {
    case .some(let key): return PublicToken(signing: claims.json, by: key).text
    case .none: preconditionFailure("the key was made here")
    }
  }

  /// What RESP says of a registration with that token.
  private func join(_ client: TestClient, _ token: String?, name: String? = nil) {
    client.token = token
    server.join(client, name: name)
  }

  private func lookUp(_ id: PeerID) -> LookUpResult.Status? {
    carol.messages = []
    carol.request(.lookUp(LookUp(request: 1, target: .id(id))), now: server.now)
    server.exchange()
    for case .lookUpResult(let result) in carol.messages { return result.status }
    return nil
  }

  /// What becomes of a newer token.
  private func renew(_ client: TestClient, _ token: String) -> TokenResult? {
    client.messages = []
    client.request(.token(TokenRenewal(token: Array(token.utf8))), now: server.now)
    server.exchange()
    for case .tokenResult(let result) in client.messages { return result }
    return nil
  }

  @Test func `who has none is told so, and is not registered`() {
    join(bob, nil)
    #expect(bob.response?.status == .tokenNeeded && bob.response?.tokenLife == 0)
    #expect(!bob.isRegistered && server.counters.registrations == 0)
    #expect(server.events == [.refused(bob.id, .tokenNeeded, from: bob.address)])
  }

  @Test func `who has one is registered, and told how long it lasts`() {
    join(bob, sign(claims(bob)))
    #expect(bob.response?.status == .noNameAskedFor && bob.isRegistered)
    #expect(bob.response?.tokenLife == 60_000)
    #expect(server.counters.registrations == 1)
  }

  @Test func `a token that is wrong is refused with its fault`() {
    var wrong: [(String, TokenFault)] = [("nonsense", .malformed), ("", .malformed)]
    wrong.append((sign(claims(bob)).replacing("v4", with: "v3"), .malformed))
    wrong.append((sign(claims(carol)), .subject))
    var claims = claims(bob)
    claims.audience = "\(bob.id)"
    wrong.append((sign(claims), .audience))
    claims = self.claims(bob)
    claims.scope = "call"
    wrong.append((sign(claims), .scope))
    claims = self.claims(bob)
    claims.notBefore = milliseconds + 600_000
    wrong.append((sign(claims), .notYetValid))
    claims.notBefore = nil
    claims.expires = milliseconds
    wrong.append((sign(claims), .expired))
    var random = RandomSource(seed: 8)
    let thief = TokenSigningKey(random: &random)
    wrong.append((PublicToken(signing: self.claims(bob).json, by: thief).text, .signature))
    for (token, fault) in wrong {
      server.run(.seconds(2))
      join(bob, token)
      #expect(bob.response?.status == .tokenRefused && bob.response?.tokenFault == fault)
      #expect(bob.response?.tokenLife == 0 && !bob.isRegistered, "\(fault)")
    }
    #expect(server.counters.registrations == 0)
    #expect(server.gauges.unconfirmedSessions == 0)
  }

  @Test func `at its end the registration ends with its reason, and nobody finds it`() {
    join(bob, sign(claims(bob)))
    join(carol, sign(claims(carol, seconds: 3600)))
    server.run(.milliseconds(59_900), pinging: [bob, carol])
    #expect(lookUp(bob.id) == .online && bob.closes.isEmpty)
    server.run(.milliseconds(200))
    #expect(bob.closes.first == .tokenExpired)
    #expect(lookUp(bob.id) == .offline)
    #expect(server.events.contains(.left(bob.id, .tokenExpired)))
    #expect(server.presences(of: carol.id).count == 1)
  }

  @Test func `a newer token lengthens the registration in its session`() {
    join(bob, sign(claims(bob)))
    join(carol, sign(claims(carol, seconds: 3600)))
    server.run(.seconds(31), pinging: [bob, carol])
    #expect(renew(bob, sign(claims(bob, seconds: 90))) == .accepted(milliseconds: 90_000))
    server.run(.seconds(80), pinging: [bob, carol])
    #expect(bob.closes.isEmpty && lookUp(bob.id) == .online)
    #expect(server.counters.handshakes == 2)
    server.run(.seconds(11), pinging: [carol])
    #expect(bob.closes.first == .tokenExpired && lookUp(bob.id) == .offline)
  }

  @Test func `a newer token that is not accepted changes nothing`() {
    join(bob, sign(claims(bob)))
    #expect(renew(bob, sign(claims(carol))) == .refused(.subject))
    #expect(renew(bob, "x") == .refused(.malformed))
    server.run(.milliseconds(59_500), pinging: [bob])
    #expect(bob.closes.isEmpty)
    server.run(.seconds(1))
    #expect(bob.closes.first == .tokenExpired)
  }

  /// A registered client may make the server check as many signatures as it may look names up.
  @Test func `signatures are checked at the rate of look-ups`() {
    join(bob, sign(claims(bob, seconds: 3600)))
    let token = sign(claims(carol))
    let results = (0..<200).map { _ in renew(bob, token) }
    #expect(results.prefix(10).allSatisfy { $0 == .refused(.subject) })
    #expect(results.suffix(30).allSatisfy { $0 == .tooMany })
    server.run(.seconds(1), pinging: [bob])
    #expect(renew(bob, token) == .refused(.subject))
  }

  /// Method: the wall clock of the server is set while a client is registered.
  @Test(arguments: [3600, -3600, 3650 * 86_400, -3650 * 86_400] as [Int64])
  func `a wall clock that is set moves no end`(ahead: Int64) {
    join(bob, sign(claims(bob)))
    server.run(.seconds(10), pinging: [bob])
    server.setWallClock(ahead: ahead)
    server.run(.milliseconds(49_900), pinging: [bob])
    #expect(bob.closes.isEmpty)
    server.run(.milliseconds(200))
    #expect(bob.closes.first == .tokenExpired)
  }

  @Test func `a new session of the same program takes the end of its own token`() {
    join(bob, sign(claims(bob)))
    server.run(.seconds(10), pinging: [bob])
    join(bob, sign(claims(bob, seconds: 600)))
    #expect(bob.isRegistered)
    bob.closes = []
    server.run(.seconds(100), pinging: [bob])
    #expect(bob.closes.isEmpty && server.presences(of: bob.id).count == 1)
  }

  @Test func `a token with a name permits that name alone`() {
    var claims = claims(bob)
    claims.name = "bob"
    join(bob, sign(claims), name: "carol")
    #expect(bob.response?.status == .nameTaken && bob.isRegistered)
    server.run(.seconds(1))
    join(bob, sign(claims), name: "bob")
    #expect(bob.response?.status == .nameGranted)
  }

  /// Method: a session by one name, and newer tokens for others; one without a name takes any.
  @Test func `a newer token for another name is refused while the session has its name`() {
    var claims = claims(bob, seconds: 600)
    join(bob, sign(self.claims(bob)), name: "bob")
    #expect(bob.response?.status == .nameGranted)
    claims.name = "robert"
    #expect(renew(bob, sign(claims)) == .refused(.scope))
    claims.name = "bob"
    #expect(renew(bob, sign(claims)) == .accepted(milliseconds: 600_000))
    join(carol, sign(self.claims(carol)))
    claims = self.claims(carol, seconds: 600)
    claims.name = "carol"
    #expect(renew(carol, sign(claims)) == .accepted(milliseconds: 600_000))
  }

  @Test func `where none is needed one that comes is not looked at`() {
    let open = Server()
    for token in [nil, "nonsense"] {
      let client = TestClient(9)
      client.token = token
      open.join(client)
      #expect(client.isRegistered && client.response?.tokenLife == 0)
      client.request(.token(TokenRenewal(token: [1, 2])), now: open.now)
      open.exchange()
      #expect(client.messages == [.tokenResult(.accepted(milliseconds: 0))])
      open.run(.seconds(2))
    }
  }
}
