import Cryptography
import Testing
import Vectors

@Suite struct AESCounterModeTests {
  /// NIST SP 800-38A, F.5.1.
  @Test func `gives what NIST prints, and the text again`() throws {
    let key = bytes(hex: "2b7e151628aed2a6abf7158809cf4f3c")
    let text = bytes(
      hex: "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
        + "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710")
    let sealed = bytes(
      hex: "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
        + "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee")
    let secret = SecretBytes(copying: ([1, 2, 3] + key).span)
    let counter = InlineArray<16, UInt8> { UInt8(0xF0 + $0) }
    let aes = AESCounterMode()
    for _ in 0..<2 {
      var buffer = [9] + text + [9]
      for expected in [sealed, text] {
        var span = buffer.mutableSpan
        try aes.apply(to: &span, in: 1..<65, key: secret, from: 3, counter: counter)
        #expect(buffer == [9] + expected + [9])
      }
    }
  }

  @Test func `places outside the bytes or the key are refused`() {
    let secret = SecretBytes(zeros: 20)
    let aes = AESCounterMode()
    var buffer = [UInt8](repeating: 1, count: 8)
    for (range, start) in [(-1..<4, 0), (0..<9, 0), (0..<8, 5), (0..<8, -1)] {
      var refusal: CryptographyError?
      do throws(CryptographyError) {
        var span = buffer.mutableSpan
        try aes.apply(
          to: &span, in: range, key: secret, from: start, counter: InlineArray(repeating: 0))
      } catch {
        refusal = error
      }
      #expect(refusal == .wrongLength)
    }
    #expect(buffer == Array(repeating: 1, count: 8))
  }
}
