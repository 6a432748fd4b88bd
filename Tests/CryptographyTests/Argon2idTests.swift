import Cryptography
import Testing

struct Argon2idTests {
  /// From the reference implementation (argon2-cffi): 2 passes, 64 KiB, one lane, 32 bytes.
  @Test func `a passphrase gives the key that others get`() throws {
    let cost = try #require(Argon2id.Cost(passes: 2, memoryKiB: 64))
    let salt = (0..<16).map { UInt8($0) }
    let expected: [UInt8] = [
      0x9C, 0x87, 0xC0, 0x68, 0x98, 0xBC, 0x18, 0x51, 0x66, 0x69, 0xB5, 0x4A, 0x8B, 0x95, 0xD3,
      0x6E, 0x62, 0x29, 0x46, 0x49, 0x4D, 0x7A, 0x55, 0xC2, 0x6F, 0x39, 0x1A, 0x04, 0x06, 0x06,
      0x8C, 0x19,
    ]
    guard
      let key = Argon2id.key(
        passphrase: Array("correct horse".utf8).span, salt: salt.span, cost: cost)
    else {
      Issue.record("64 KiB are to be had")
      return
    }
    let isEqual = Secret.areEqual(key.span, expected.span)
    #expect(isEqual)
    let isMade =
      Argon2id.key(passphrase: [1].span, salt: Array(salt.dropLast()).span, cost: cost) != nil
    #expect(!isMade)
  }
}
