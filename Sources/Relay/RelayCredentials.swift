internal import Cryptography
internal import Primitives
internal import Wire

/// What a TURN server knows a user by: the long-term credentials of RFC 8489 §9.2.
package struct RelayCredentials: Hashable, Sendable {
  package let user: String
  package let password: String

  package init(user: String, password: String) {
    self.user = user
    self.password = password
  }

  /// The key for MESSAGE-INTEGRITY (RFC 8489 §9.2.2, §18.5.1).
  func key(realm: [UInt8], _ algorithm: PasswordAlgorithm) -> [UInt8] {
    let colon = UInt8(ascii: ":")
    let text = Array(user.utf8) + [colon] + realm + [colon] + Array(password.utf8)
    switch algorithm {
    case .md5: return LegacyHash.md5(text)
    case .sha256: return SHA256.hash(text.span).bytes
    }
  }
}

/// What a key is made with (RFC 8489 §18.5).
enum PasswordAlgorithm: UInt16, Sendable {
  case md5 = 1
  case sha256 = 2
}

/// What a request is authenticated with, once the server has named its realm (RFC 8489 §9.2.5).
package struct RelayAuthentication: Sendable {
  let realm: [UInt8]
  var nonce: [UInt8]
  let key: [UInt8]
  let algorithm: PasswordAlgorithm
  /// PASSWORD-ALGORITHMS as the server sent it; `nil` = it sent none, and wants SHA-1.
  let offered: [UInt8]?

  /// - Parameter offered: PASSWORD-ALGORITHMS; of what it names the best that we know is taken.
  /// - Returns: `nil` where we know none, or where the nonce promises a list that is not there: a
  ///   list was taken out to weaken us (RFC 8489 §9.2.5).
  package init?(
    _ credentials: RelayCredentials, realm: [UInt8], nonce: [UInt8], offered: [UInt8]?
  ) {
    guard offered != nil || !Self.promisesAlgorithms(nonce) else { return nil }
    let algorithms = offered.map(Self.algorithms) ?? [.md5]
    guard let best = algorithms.contains(.sha256) ? .sha256 : algorithms.first else { return nil }
    self.realm = realm
    self.nonce = nonce
    self.offered = offered
    algorithm = best
    key = credentials.key(realm: realm, best)
  }

  /// What a server asks for that has refused a request.
  ///
  /// - Parameters:
  ///   - message: Read from `bytes`.
  ///   - previous: What it asked for before: what it has once asked for, a later answer does not
  ///     weaken.
  init?(
    _ credentials: RelayCredentials, asked message: STUNMessage, _ bytes: Span<UInt8>,
    before previous: RelayAuthentication?
  ) {
    let realm = message.realm.map { copy(bytes, $0) } ?? previous?.realm
    guard let nonce = message.nonce, let realm else { return nil }
    let offered =
      message.passwordAlgorithms.map { copy(bytes, $0) } ?? previous?.offered ?? nil
    self.init(credentials, realm: realm, nonce: copy(bytes, nonce), offered: offered)
  }

  /// Whether the message authentication code of `message`, read from `bytes`, is the one of our
  /// password.
  func isAuthentic(_ message: STUNMessage, _ bytes: Span<UInt8>) -> Bool {
    let place = offered == nil ? message.integrity : message.integritySHA256
    guard let place else { return false }
    var covered = copy(bytes, 0..<place.offset)
    let length = place.value.upperBound - STUNLimits.headerByteCount
    covered[2] = UInt8(truncatingIfNeeded: length >> 8)
    covered[3] = UInt8(truncatingIfNeeded: length)
    let code = code(covered)
    guard code.count >= place.value.count else { return false }
    // Every byte is looked at: the time tells nothing of where they differ.
    let difference = place.value.indices.reduce(UInt8(0)) {
      $0 | (bytes[$1] ^ code[$1 - place.value.lowerBound])
    }
    return difference == 0
  }

  /// Ends a request with the credentials.
  func append(to writer: inout STUNWriter, user: String) {
    writer.append(.username, Array(user.utf8))
    writer.append(.realm, realm)
    writer.append(.nonce, nonce)
    guard let offered else {
      return writer.append(.messageIntegrity, byteCount: 20, authenticate: code)
    }
    // RFC 8489 §9.2.5: the server's own list comes back, so that nobody can have shortened it.
    writer.append(.passwordAlgorithms, offered)
    writer.append(.passwordAlgorithm, UInt32(algorithm.rawValue) << 16)
    writer.append(.messageIntegritySHA256, byteCount: 32, authenticate: code)
  }

  /// 20 bytes of SHA-1, or 32 of SHA-256 where the server has named password algorithms.
  package func code(_ message: [UInt8]) -> [UInt8] {
    guard offered != nil else { return LegacyHash.hmacSHA1(key: key, message) }
    var hash = HMACSHA256(key: key.span)
    hash.update(message.span)
    return hash.finalize().bytes
  }

  private static func algorithms(_ list: [UInt8]) -> [PasswordAlgorithm] {
    var found: [PasswordAlgorithm] = []
    var start = 0
    while start + 4 <= list.count {
      let number = UInt16(list[start]) << 8 | UInt16(list[start + 1])
      let length = Int(list[start + 2]) << 8 | Int(list[start + 3])
      let algorithm = length == 0 ? PasswordAlgorithm(rawValue: number) : nil
      if let algorithm { found.append(algorithm) }
      start += 4 + (length + 3) & ~3
    }
    return found
  }

  /// Whether the nonce begins with the cookie of RFC 8489 §9.2 and says, in the first bit of three
  /// bytes of Base64, that the server has a list of algorithms.
  private static func promisesAlgorithms(_ nonce: [UInt8]) -> Bool {
    let cookie = Array("obMatJos2".utf8)
    guard nonce.count >= cookie.count + 4, nonce.starts(with: cookie) else { return false }
    // The letters whose first bit is 1: the upper half of the alphabet of Base64.
    return "ghijklmnopqrstuvwxyz0123456789+/".utf8.contains(nonce[cookie.count])
  }
}

private func copy(_ bytes: Span<UInt8>, _ range: Range<Int>) -> [UInt8] {
  range.map { bytes[$0] }
}
