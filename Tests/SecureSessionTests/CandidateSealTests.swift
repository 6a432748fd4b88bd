import Cryptography
import Primitives
import Testing

@testable import SecureSession

@Suite struct CandidateSealTests {
  private static func seal(_ side: RingKeys.Side, seed: UInt64 = 4) -> CandidateSeal {
    var random = RandomSource(seed: seed)
    let key = SecretKey(random: &random)
    return CandidateSeal(exported: key, side: side)
  }

  private static let plain: [UInt8] = Array(0..<40)
  private static let head: [UInt8] = [1, 10, 3]
  private static let nonce = [UInt8](repeating: 7, count: 24)

  @Test func `what one side seals only the other side of this call opens`() throws {
    for (from, to) in [(RingKeys.Side.caller, RingKeys.Side.callee), (.callee, .caller)] {
      let sender = Self.seal(from)
      let receiver = Self.seal(to)
      let stranger = Self.seal(to, seed: 5)
      let sealed = try sender.seal(
        Self.plain.span, head: Self.head.span, nonce: Self.nonce.span)
      let opened = try receiver.open(sealed.span, head: Self.head.span, nonce: Self.nonce.span)
      #expect(opened == Self.plain)
      // Not its own: nobody can send a side back what it said.
      #expect(throws: CryptographyError.self) {
        try sender.open(sealed.span, head: Self.head.span, nonce: Self.nonce.span)
      }
      #expect(throws: CryptographyError.self) {
        try stranger.open(sealed.span, head: Self.head.span, nonce: Self.nonce.span)
      }
      #expect(throws: CryptographyError.self) {
        try receiver.open(sealed.span, head: [1, 10, 4].span, nonce: Self.nonce.span)
      }
    }
  }
}
