import Primitives
import Testing
import Wire

@testable import Tokens

/// The claims of a token: read strictly, skipped where they are not known.
struct TokenClaimsTests {
  private static let id = PeerID(word0: 1, word1: 2, word2: 3, word3: 4)
  private static let members =
    #""aud":"here","sub":"\#(id)","scp":"register call","exp":"2030-01-01T00:00:00Z""#

  private func read(_ json: String) -> TokenClaims? {
    try? TokenClaims(json: Array(json.utf8))
  }

  @Test func `claims are written and read again`() throws {
    let claims = TokenClaims(
      audience: "\(Self.id)", subject: Self.id, issuedAt: 1_700_000_000_000,
      notBefore: 1_700_000_001_000, expires: 1_700_043_200_000, name: "bob")
    #expect(try TokenClaims(json: claims.json) == claims)
    #expect(claims.permits("register") && !claims.permits("reg") && !claims.permits(""))
    #expect(
      String(decoding: claims.json, as: UTF8.self).hasSuffix(
        #""iat":"2023-11-14T22:13:20Z","nbf":"2023-11-14T22:13:21Z","exp":"2023-11-15T10:13:20Z","#
          + #""name":"bob"}"#))
  }

  @Test func `claims that are not known are skipped, whatever they hold`() throws {
    for other in [
      #""x":1"#, #""x":-0.5e+3"#, #""x":true"#, #""x":null"#, #""x":[]"#, #""x":{}"#,
      #""x":[1,[2,{"a":[{}],"b":"]"}],"}"]"#, #""jti":"\u00e9\n\\""#,
      #""x":"\ud83d\ude00""#, #""x" : [ 1 , 2 ] "#, #""x":[[[[[[[[1]]]]]]]]"#,
    ] {
      let claims = try #require(read("{\(Self.members),\(other)}"), "\(other)")
      #expect(claims.audience == "here" && claims.permits("call") && claims.name == nil)
      #expect(read(" { \(other) , \(Self.members) } ") == claims)
    }
  }

  @Test func `the reader gives the texts, and only those`() throws {
    var reader = ClaimsReader(Array(#"{"a":"1","b":2,"c":["x"],"d":"\u0041"}"#.utf8))
    #expect(try reader.readAll() == ["a": "1", "d": "A"])
  }

  @Test func `what is no object of claims is refused`() {
    for json in [
      "", "{", "}", "[]", "{}", "{\(Self.members)", "{\(Self.members)}x", "{\(Self.members),}",
      "{\(Self.members) \"x\":1}", "{,\(Self.members)}", "{\(Self.members),\"x\"}",
    ] {
      #expect(read(json) == nil, "\(json)")
    }
    for other in [
      #""aud":"here""#, #""x":1,"x":1"#, #""name":1"#, #""nbf":null"#, #""nbf":"today""#,
      #""x":01"#, #""x":1."#, #""x":.5"#, #""x":+1"#, #""x":1e"#, #""x":nul"#, #""x":NaN"#,
      #""x":[1,]"#, #""x":[1 2]"#, #""x":{"a"}"#, #""x":{"a":1,}"#, #""x":[}"#, #""x":{]"#,
      #""x":"\q""#, #""x":"\ud83d""#, #""x":"\ude00""#, #""x":"\u12""#, "\"x\":\"\u{1}\"",
      #""x":"open"#, #""x":[[[[[[[[[1]]]]]]]]]"#, #"'x':1"#, #"x:1"#, #""\u0061ud":"there""#,
    ] {
      #expect(read("{\(Self.members),\(other)}") == nil, "\(other)")
    }
    #expect((try? TokenClaims(json: Array("{\"x\":\"".utf8) + [0xFF] + Array("\"}".utf8))) == nil)
    #expect(read("{\(Self.members)}".replacing("\(Self.id)", with: "bob")) == nil)
    for claim in ["aud", "sub", "scp", "exp"] {
      #expect(read("{\(Self.members)}".replacing("\"\(claim)\"", with: "\"x\"")) == nil)
    }
  }

  @Test(arguments: [
    ("1970-01-01T00:00:00Z", 0), ("2000-02-29T12:34:56Z", 951_827_696_000),
    ("2022-01-01T00:00:00+00:00", 1_640_995_200_000),
    ("2022-01-01T01:30:00+01:30", 1_640_995_200_000),
    ("2021-12-31T23:00:00-01:00", 1_640_995_200_000),
    ("2022-01-01T00:00:00.5Z", 1_640_995_200_500),
    ("2022-01-01T00:00:00.123456Z", 1_640_995_200_123),
    ("9999-12-31T23:59:59Z", 253_402_300_799_000),
  ])
  func `times are those of RFC 3339`(text: String, milliseconds: UInt64) {
    #expect(TokenTime.milliseconds(of: text) == milliseconds)
    let whole = milliseconds / 1000 * 1000
    #expect(TokenTime.milliseconds(of: TokenTime.text(milliseconds: milliseconds)) == whole)
    let exact = TokenTime.exactText(milliseconds: milliseconds)
    #expect(TokenTime.milliseconds(of: exact) == milliseconds)
  }

  @Test func `what is later than the year 9999 is written as its end`() {
    #expect(TokenTime.text(milliseconds: .max) == "9999-12-31T23:59:59Z")
    #expect(TokenTime.text(milliseconds: 253_402_300_799_000) == "9999-12-31T23:59:59Z")
    #expect(Timestamp.text(wallMilliseconds: .max) == "9999-12-31T23:59:59.999Z")
    #expect(Timestamp.text(wallNanoseconds: .max) == "2554-07-21T23:34:33.709Z")
  }

  @Test func `other times are refused`() {
    for text in [
      "", "2022", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00+00:01", "2022-13-01T00:00:00Z",
      "2022-00-01T00:00:00Z", "2022-02-29T00:00:00Z", "2100-02-29T00:00:00Z",
      "2022-04-31T00:00:00Z", "2022-01-00T00:00:00Z", "2022-01-01T24:00:00Z",
      "2022-01-01T00:60:00Z", "2022-01-01T00:00:60Z", "2022-01-01T00:00:00", "2022-01-01 00:00:00Z",
      "2022-01-01T00:00:00.Z", "2022-01-01T00:00:00z", "2022-01-01T00:00:00Z ",
      "2022-1-01T00:00:00Z", "+022-01-01T00:00:00Z", "2022-01-01T00:00:00+24:00",
    ] {
      #expect(TokenTime.milliseconds(of: text) == nil, "\(text)")
    }
  }
}

/// Which tokens are accepted.
struct TokenRuleTests {
  private static let here = "\(PeerID(word0: 9, word1: 9, word2: 9, word3: 9))"
  private static let bob = PeerID(word0: 1, word1: 2, word2: 3, word3: 4)
  private static let now: UInt64 = 1_800_000_000_000

  /// A token of `claims`, and what becomes of it `later` milliseconds from now.
  private func verdict(
    _ claims: TokenClaims, of subject: PeerID = bob, later: Int64 = 0, isForged: Bool = false
  ) -> Result<TokenGrant, TokenFault> {
    var random = RandomSource(seed: 1)
    let key = TokenSigningKey(random: &random)
    let thief = TokenSigningKey(random: &random)
    let token =
      isForged
      ? PublicToken(signing: claims.json, by: thief) : PublicToken(signing: claims.json, by: key)
    let rule = TokenRule(key: key.publicKey, audience: Self.here)
    do throws(TokenFault) {
      return .success(
        try rule.check(
          Array(token.text.utf8), of: subject,
          unixMilliseconds: UInt64(Int64(Self.now) + later)))
    } catch {
      return .failure(error)
    }
  }

  private var good: TokenClaims {
    TokenClaims(
      audience: Self.here, subject: Self.bob, issuedAt: Self.now, notBefore: Self.now,
      expires: Self.now + 600_000, name: "bob")
  }

  @Test func `a good token grants the time that is left`() {
    for (later, left) in [(0, 600_000), (599_999, 1), (-60_000, 660_000)] as [(Int64, UInt64)] {
      let grant = TokenGrant(
        remainingMilliseconds: left, name: "bob", expires: Self.now + 600_000)
      #expect(verdict(good, later: later) == .success(grant))
    }
  }

  @Test func `any other token is refused with its fault`() {
    #expect(verdict(good, later: 600_000) == .failure(.expired))
    #expect(verdict(good, later: -60_001) == .failure(.notYetValid))
    #expect(verdict(good, isForged: true) == .failure(.signature))
    #expect(
      verdict(good, of: PeerID(word0: 5, word1: 6, word2: 7, word3: 8)) == .failure(.subject))
    var claims = good
    claims.audience = "elsewhere"
    #expect(verdict(claims) == .failure(.audience))
    claims = good
    claims.scope = "registers call"
    #expect(verdict(claims) == .failure(.scope))
    claims = good
    claims.expires = .max
    claims.notBefore = nil
    #expect((try? verdict(claims).get()) != nil)
  }

  @Test func `what is no token is malformed`() {
    var random = RandomSource(seed: 1)
    let key = TokenSigningKey(random: &random)
    let rule = TokenRule(key: key.publicKey, audience: Self.here)
    let noClaims = PublicToken(signing: Array("{}".utf8), by: key).text
    for bytes in [[], [0xFF], Array("x".utf8), Array(noClaims.utf8)] {
      #expect(throws: TokenFault.malformed) {
        try rule.check(bytes, of: Self.bob, unixMilliseconds: Self.now)
      }
    }
  }

  /// INIT has room for the longest name; `earshot token sign` refuses a scope that has none.
  @Test func `a token with a name of 63 letters fits`() {
    var random = RandomSource(seed: 1)
    let key = TokenSigningKey(random: &random)
    var claims = good
    claims.name = String(repeating: "n", count: 63)
    let text = PublicToken(signing: claims.json, by: key).text
    #expect(text.utf8.count <= TokenLimits.textByteCount, "\(text.utf8.count)")
  }
}
