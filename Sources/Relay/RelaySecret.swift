internal import Cryptography
package import Primitives

/// What a rendezvous and its TURN servers share, so that it can make credentials which they take
/// without being told of them: coturn's `static-auth-secret`
/// (draft-uberti-behave-turn-rest-00 §2.2).
package struct RelaySecret: Sendable {
  private let key: [UInt8]

  /// Fewer bytes could be guessed off line by whoever has seen a user and its password.
  package static let byteCounts = 16...256

  /// - Parameter bytes: The text that stands behind `static-auth-secret=`; a line end after it is
  ///   left out.
  /// - Returns: `nil` for a wrong length, several lines or letters that are not printable.
  package init?(_ bytes: [UInt8]) {
    var key = bytes[...]
    while let last = key.last, last == 0x0A || last == 0x0D { key.removeLast() }
    guard Self.byteCounts.contains(key.count), key.allSatisfy({ (0x20...0x7E).contains($0) })
    else { return nil }
    self.key = Array(key)
  }

  /// Credentials that every server with the secret takes until `unixSeconds`.
  ///
  /// The user is the moment and 8 random bytes: a server learns nothing of who it is.
  package func credentials(
    until unixSeconds: UInt64, random: inout RandomSource
  ) -> RelayCredentials {
    let user = "\(unixSeconds):\(Base64URL.encode(random.bytes(8)))"
    return RelayCredentials(user: user, password: password(of: user))
  }

  /// Base64 of HMAC-SHA-1 of the user.
  func password(of user: String) -> String {
    let code = LegacyHash.hmacSHA1(key: key, Array(user.utf8))
    // 20 bytes are 27 letters and one of padding, in the alphabet of RFC 4648 §4.
    let letters = Base64URL.encode(code).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
    return String(letters) + "="
  }
}
