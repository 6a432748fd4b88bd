package import Cryptography

/// Seals the candidates of one side of a call for the other, while the rendezvous carries them
/// (docs/protocol/calling.md §2, CANDIDATES).
package struct CandidateSeal: ~Copyable {
  private let own: SecretKey
  private let others: SecretKey

  /// - Parameter exported: The exporter's key for `ExporterLabel.candidates`.
  package init(exported: borrowing SecretKey, side: RingKeys.Side) {
    let fromCaller = exported.derive("EST1cand", 1)
    let fromCallee = exported.derive("EST1cand", 2)
    switch side {
    case .caller:
      own = fromCaller
      others = fromCallee
    case .callee:
      own = fromCallee
      others = fromCaller
    }
  }

  /// - Parameter head: The body before the nonce.
  package func seal(
    _ plain: Span<UInt8>, head: Span<UInt8>, nonce: Span<UInt8>
  ) throws(CryptographyError) -> [UInt8] {
    try XChaChaPoly.seal(plain, associated: head, key: own, nonce: nonce)
  }

  package func open(
    _ sealed: Span<UInt8>, head: Span<UInt8>, nonce: Span<UInt8>
  ) throws(CryptographyError) -> [UInt8] {
    try XChaChaPoly.open(sealed, associated: head, key: others, nonce: nonce)
  }
}
