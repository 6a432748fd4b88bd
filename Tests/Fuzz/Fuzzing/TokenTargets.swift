import Primitives
import Tokens

extension FuzzTarget {
  static let tokens: [FuzzTarget] = [accessToken, tokenClaims]

  private static let holder = PeerID(word0: 1, word1: 2, word2: 3, word3: 4)

  private static var claims: TokenClaims {
    TokenClaims(
      audience: "\(holder)", subject: holder, issuedAt: 1_700_000_000_000,
      notBefore: 1_700_000_000_000, expires: 1_700_043_200_000, name: "bob", uid: 7)
  }

  /// Goal: one text for one token, and none of a stranger is accepted.
  private static let accessToken = FuzzTarget(
    "access-token", maximumByteCount: TokenLimits.textByteCount + 1,
    seeds: {
      var random = RandomSource(seed: 1)
      let key = TokenSigningKey(random: &random)
      return [
        Array(PublicToken(signing: claims.json, by: key).text.utf8),
        Array(PublicToken(signing: [], footer: [1, 2], by: key).text.utf8),
      ]
    },
    run: { bytes in
      if let text = String(validating: bytes, as: UTF8.self),
        let token = try? PublicToken(parsing: text)
      {
        expect(token.text == text, "a token has one text")
        _ = try? TokenClaims(json: token.payload)
      }
      var random = RandomSource(seed: 2)
      let rule = TokenRule(
        key: TokenSigningKey(random: &random).publicKey, audience: "\(holder)")
      let grant = try? rule.check(bytes, of: holder, unixMilliseconds: 1_700_000_000_000)
      expect(grant == nil, "nobody signed it")
    })

  /// Goal: any JSON is read or refused; what is read is read again the same.
  private static let tokenClaims = FuzzTarget(
    "token-claims", maximumByteCount: TokenLimits.textByteCount,
    seeds: {
      [
        claims.json,
        Array(
          #" {"aud":"a","sub":"\#(holder)","scp":"a b","exp":"2022-01-01T00:00:00.5+01:00","x":"#
            .utf8) + Array(#"[1.5e-3,{"a":[true,null,{}]},"\u00e9\ud83d\ude00"]} "#.utf8),
        Array(
          #"{"aud":"a","sub":"\#(holder)","scp":"a","exp":"2022-01-01T00:00:00Z","channel":"\"a"}"#
            .utf8),
      ]
    },
    run: { bytes in
      guard let claims = try? TokenClaims(json: bytes) else { return }
      let texts = [claims.audience, claims.scope, claims.name ?? "", claims.channel ?? ""].joined()
      let isPlain = texts.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x22 && $0 != 0x5C }
      let times = [claims.issuedAt ?? 0, claims.notBefore ?? 0, claims.expires]
      guard isPlain, times.allSatisfy({ $0 % 1000 == 0 && $0 < 18_446_744_073_000 }) else { return }
      expect((try? TokenClaims(json: claims.json)) == claims, "claims are read again the same")
    })
}
