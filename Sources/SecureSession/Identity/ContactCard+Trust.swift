package import Cryptography
package import Primitives
package import Wire

/// Why a well-formed card is not believed (docs/protocol/README.md §4).
package enum CardFault: Error, Equatable, Sendable {
  /// It names another ID than the one asked for.
  case wrongIdentity
  case wrongSignature
  /// "Not before" is more than 10 minutes ahead: one of the two clocks is wrong.
  case notYetValid
  case expired
  /// Its S gives an all-zero X25519 result.
  case unusableKey
}

extension ContactCard {
  /// How far clocks may differ, in seconds.
  package static let clockTolerance: UInt64 = 600

  /// Checks everything that makes a card believable.
  ///
  /// - Parameters:
  ///   - id: The ID that the card must be for; `nil` on first contact.
  ///   - unixSeconds: Seconds since 1970 UTC.
  package func verify(for id: PeerID? = nil, unixSeconds: UInt64) throws(CardFault) {
    try verifyStatement(for: id, unixSeconds: unixSeconds)
    guard X25519.isUsable(staticKey) else { throw .unusableKey }
  }

  /// Whether its time is over by more than clocks may differ.
  package func hasExpired(at unixSeconds: UInt64) -> Bool {
    unixSeconds > content.notAfter && unixSeconds - content.notAfter > Self.clockTolerance
  }

  /// `verify` without the check of S, for cards whose S has just been proven by a handshake.
  func verifyStatement(for id: PeerID?, unixSeconds: UInt64) throws(CardFault) {
    if let id, id != self.id { throw .wrongIdentity }
    guard unixSeconds >= content.notBefore || content.notBefore - unixSeconds <= Self.clockTolerance
    else { throw .notYetValid }
    guard !hasExpired(at: unixSeconds) else { throw .expired }
    let message = Self.signedMessage(Array(bytes.prefix(signedByteCount)))
    let signature = Array(bytes.suffix(Self.signatureByteCount))
    guard Ed25519.isValid(signature.span, over: message.span, by: Bytes32(self.id)) else {
      throw .wrongSignature
    }
  }

  /// Signs `content`, whose ID must be the signer's.
  package static func sign(
    _ content: Content, with key: borrowing Ed25519.PrivateKey
  ) throws(WireError) -> ContactCard {
    let message = signedMessage(content.encoded)
    return try ContactCard(content: content, signature: key.sign(message.span))
  }

  /// `earshot:` and base64url without padding.
  package var text: String { Self.scheme + Base64URL.encode(bytes) }

  /// Reads what `text` gives; `nil` for anything else.
  package init?(text: String) {
    guard text.hasPrefix(Self.scheme),
      let bytes = Base64URL.decode(String(text.dropFirst(Self.scheme.count)))
    else { return nil }
    do throws(WireError) {
      try self.init(parsing: bytes)
    } catch {
      return nil
    }
  }

  private static let scheme = "earshot:"

  private static func signedMessage(_ content: [UInt8]) -> [UInt8] {
    Array("EST1 contact card".utf8) + [0] + content
  }
}

extension ContactCard.Content {
  /// Whether this card shows that the device key of `other` was given up.
  ///
  /// Its key is the younger one; of two made within 600 s the one whose card has the higher serial.
  ///
  /// It does not where `other` is the key of the week before or after: programs of one identity
  /// step to the next key within an hour of each other (decision 0039).
  package func supersedes(_ other: ContactCard.Content) -> Bool {
    guard id == other.id, staticKey != other.staticKey else { return false }
    let (early, late) = (min(notBefore, other.notBefore), max(notBefore, other.notBefore))
    guard late - early != LocalIdentity.Kind.peer.rotationPeriod else { return false }
    if late - early > ContactCard.clockTolerance { return notBefore == late }
    return other.serial < serial
  }
}
