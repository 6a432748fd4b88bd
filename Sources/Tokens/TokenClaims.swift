package import Primitives
package import Wire

/// What a token says: who may do what, where, and until when. A registration has a rendezvous' ID
/// as its audience and the scope "register".
package struct TokenClaims: Equatable, Sendable {
  /// Scope of a registration at a rendezvous.
  package static let register = "register"

  /// Where the token counts: the ID of a rendezvous, 52 letters.
  package var audience: String
  /// Whose it is: the ID of an identity. In other hands it is worth nothing.
  package var subject: PeerID
  /// What it permits, words with a space between.
  package var scope: String
  /// Milliseconds since 1970 UTC; the first two may be absent.
  package var issuedAt: UInt64?
  package var notBefore: UInt64?
  package var expires: UInt64
  /// The one name that the holder may register by; any, if absent.
  package var name: String?
  /// The one uid that the holder may have in a channel; any, if absent. Not zero.
  package var uid: UInt32?
  /// What the channel is called that the audience stands for: for people, and judged by nobody.
  package var channel: String?
  /// Whether the end is written with its milliseconds, as grants of one second that differ.
  package var isExact = false

  package init(
    audience: String, subject: PeerID, scope: String = register, issuedAt: UInt64? = nil,
    notBefore: UInt64? = nil, expires: UInt64, name: String? = nil, uid: UInt32? = nil
  ) {
    self.audience = audience
    self.subject = subject
    self.scope = scope
    self.issuedAt = issuedAt
    self.notBefore = notBefore
    self.expires = expires
    self.name = name
    self.uid = uid
  }

  /// Reads the payload of a token: a JSON object in which each claim appears once. Claims that are
  /// not known are skipped.
  package init(json: [UInt8]) throws(TokenFault) {
    var reader = ClaimsReader(json)
    let claims = try reader.readAll()
    func time(_ key: String) throws(TokenFault) -> UInt64? {
      guard let text = claims[key] else { return nil }
      guard let time = TokenTime.milliseconds(of: text) else { throw .malformed }
      return time
    }
    guard let audience = claims["aud"], let subject = claims["sub"].flatMap({ PeerID($0) }),
      let scope = claims["scp"], let expires = try time("exp")
    else { throw .malformed }
    self.init(
      audience: audience, subject: subject, scope: scope, issuedAt: try time("iat"),
      notBefore: try time("nbf"), expires: expires, name: claims["name"])
    channel = claims["channel"]
    guard let text = claims["uid"] else { return }
    // One text for one number.
    guard let uid = UInt32(text), uid != 0, "\(uid)" == text else { throw .malformed }
    self.uid = uid
  }

  /// The payload, in a fixed order. Audience, scope and names are letters that JSON need not
  /// escape.
  package var json: [UInt8] {
    var members = [("aud", audience), ("sub", "\(subject)"), ("scp", scope)]
    if let issuedAt { members.append(("iat", TokenTime.text(milliseconds: issuedAt))) }
    if let notBefore { members.append(("nbf", TokenTime.text(milliseconds: notBefore))) }
    let end =
      isExact
      ? TokenTime.exactText(milliseconds: expires) : TokenTime.text(milliseconds: expires)
    members.append(("exp", end))
    if let name { members.append(("name", name)) }
    if let uid { members.append(("uid", "\(uid)")) }
    if let channel { members.append(("channel", channel)) }
    return Array(
      ("{" + members.map { "\"\($0)\":\"\($1)\"" }.joined(separator: ",") + "}").utf8)
  }

  package func permits(_ word: String) -> Bool { Self.permits(word, scope) }

  fileprivate static func permits(_ word: String, _ scope: String) -> Bool {
    scope.split(separator: " ").contains { $0 == word }
  }
}

/// What a token must be to be accepted.
package struct TokenRule: Equatable, Sendable {
  /// Whose signature counts.
  package let key: TokenPublicKey
  package let audience: String
  /// What it is called together with others, if it is: another audience that counts.
  package let service: String?
  package let scope: String

  package init(
    key: TokenPublicKey, audience: String, service: String? = nil,
    scope: String = TokenClaims.register
  ) {
    self.key = key
    self.audience = audience
    self.service = service
    self.scope = scope
  }

  /// What a token grants to whoever has proven to be `subject`. The signature comes first: claims
  /// that nobody signed are not read.
  ///
  /// - Parameter unixMilliseconds: What the clock of the side that decides shows.
  package func check(
    _ token: [UInt8], of subject: PeerID, unixMilliseconds: UInt64
  ) throws(TokenFault) -> TokenGrant {
    guard let text = String(validating: token, as: UTF8.self) else { throw .malformed }
    let token = try PublicToken(parsing: text)
    guard token.isSigned(by: key) else { throw .signature }
    let claims = try TokenClaims(json: token.payload)
    guard claims.audience == audience || claims.audience == service else { throw .audience }
    guard claims.subject == subject else { throw .subject }
    guard claims.permits(scope) else { throw .scope }
    guard claims.expires > unixMilliseconds else { throw .expired }
    if let begin = claims.notBefore, begin > unixMilliseconds.addingCapped(TokenLimits.tolerance) {
      throw .notYetValid
    }
    return TokenGrant(
      remainingMilliseconds: claims.expires - unixMilliseconds, name: claims.name,
      uid: claims.uid, scope: claims.scope, expires: claims.expires)
  }
}

/// What an accepted token grants.
package struct TokenGrant: Equatable, Sendable {
  package let remainingMilliseconds: UInt64
  /// The only name that may be asked for; any, if `nil`.
  package let name: String?
  /// The only uid in a channel; any, if `nil`.
  package let uid: UInt32?
  /// All that it permits.
  private let scope: String
  /// In milliseconds since 1970.
  private let expires: UInt64

  init(
    remainingMilliseconds: UInt64, name: String?, uid: UInt32? = nil,
    scope: String = TokenClaims.register, expires: UInt64 = 0
  ) {
    self.remainingMilliseconds = remainingMilliseconds
    self.name = name
    self.uid = uid
    self.scope = scope
    self.expires = expires
  }

  package func permits(_ word: String) -> Bool { TokenClaims.permits(word, scope) }

  /// The seat at a relay that it is for; `nil` if it is for none.
  package var seat: SeatClaim? { SeatClaim(uid: uid, scope: scope, expires: expires) }
}

extension UInt64 {
  fileprivate func addingCapped(_ other: UInt64) -> UInt64 {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? .max : sum
  }
}
