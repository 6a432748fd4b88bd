internal import Cryptography
internal import Primitives
package import Wire

/// A PASETO of version 4 with a signature, `v4.public.` (<https://github.com/paseto-standard>):
/// the payload can be read by everybody and signed by one key.
///
/// As text it is the header, base64url of payload and signature, and, after another dot, base64url
/// of the footer if there is one.
package struct PublicToken: Equatable, Sendable {
  private static let header = "v4.public."

  package let payload: [UInt8]
  package let footer: [UInt8]
  private let signature: [UInt8]

  /// Takes a text apart. Nothing of it is proven before `isSigned`.
  package init(parsing text: String) throws(TokenFault) {
    guard text.utf8.count <= TokenLimits.textByteCount, text.hasPrefix(Self.header) else {
      throw .malformed
    }
    let parts = text.dropFirst(Self.header.count)
      .split(separator: ".", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), let body = Base64URL.decode(String(parts[0])),
      body.count >= Ed25519.signatureByteCount
    else { throw .malformed }
    payload = Array(body.dropLast(Ed25519.signatureByteCount))
    signature = Array(body.suffix(Ed25519.signatureByteCount))
    guard parts.count == 2 else {
      footer = []
      return
    }
    // An empty footer has no dot: one text for one content.
    guard let footer = Base64URL.decode(String(parts[1])), !footer.isEmpty else {
      throw .malformed
    }
    self.footer = footer
  }

  /// Signs `payload`.
  ///
  /// - Parameters:
  ///   - footer: Stands in the token, and is signed with it.
  ///   - assertion: Does not stand in the token, and is signed with it.
  package init(
    signing payload: [UInt8], footer: [UInt8] = [], assertion: [UInt8] = [],
    by key: borrowing TokenSigningKey
  ) {
    self.payload = payload
    self.footer = footer
    signature = key.sign(Self.signed(payload, footer, assertion).span)
  }

  /// The same by a key that its owner keeps: `sign` makes the Ed25519 signature over what it gets.
  package init(signing payload: [UInt8], with sign: (Span<UInt8>) -> [UInt8]) {
    self.payload = payload
    footer = []
    signature = sign(Self.signed(payload, [], []).span)
  }

  /// Whether the signature is right, by that key and with that implicit assertion.
  package func isSigned(by key: TokenPublicKey, assertion: [UInt8] = []) -> Bool {
    Ed25519.isValid(
      signature.span, over: Self.signed(payload, footer, assertion).span, by: key.bytes)
  }

  package var text: String {
    let text = Self.header + Base64URL.encode(payload + signature)
    return footer.isEmpty ? text : text + "." + Base64URL.encode(footer)
  }

  private static func signed(
    _ payload: [UInt8], _ footer: [UInt8], _ assertion: [UInt8]
  ) -> [UInt8] {
    authenticated([Array(header.utf8), payload, footer, assertion])
  }

  /// Pre-authentication encoding (PAE): how many pieces, and each with its length before it, as 64
  /// bits, so that no two lists of pieces give the same bytes.
  static func authenticated(_ pieces: [[UInt8]]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: UInt64(pieces.count))
    for piece in pieces {
      bytes.append(littleEndian: UInt64(piece.count))
      bytes.append(contentsOf: piece)
    }
    return bytes
  }
}

/// Bounds of what a stranger may hand in as a token.
package enum TokenLimits {
  /// A token's text in bytes: what fits into INIT beside the longest card and name.
  package static let textByteCount = 512
  /// Brackets inside one another in a claim that is skipped: nobody needs more.
  package static let depth = 8
  /// Milliseconds that a token may be used before its "not before": the clocks of the signer and
  /// the rendezvous differ a little.
  package static let tolerance: UInt64 = 60_000
}
