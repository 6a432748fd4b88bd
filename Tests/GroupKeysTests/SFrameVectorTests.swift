import Cryptography
import Primitives
import SFrameReference
import Testing
import Vectors

@testable import GroupKeys

/// The vectors of RFC 9605, by the working group
/// (<https://github.com/sframe-wg/sframe/tree/main/test-vectors>). Suites 1 to 3 run through the
/// code that ships. Of the others the header, labels, nonce and associated data do; hash and AEAD
/// are OpenSSL's.
@Suite(.enabled(if: PublishedVectors.arePresent, Comment(rawValue: PublishedVectors.whereabouts)))
struct SFrameVectorTests {
  struct File: Decodable {
    let aes_ctr_hmac: [CounterMode]
    let aes_256_ctr_hmac: [CounterMode]
    let sframe: [Frame]
  }

  struct CounterMode: Decodable {
    let cipher_suite: UInt16
    let key: String
    let nonce: String
    let aad: String
    let pt: String
    let ct: String
  }

  struct Frame: Decodable {
    let cipher_suite: UInt16
    let kid: UInt64
    let ctr: UInt64
    let base_key: String
    let sframe_key_label: String
    let sframe_salt_label: String
    let sframe_secret: String
    let sframe_key: String
    let sframe_salt: String
    let metadata: String
    let nonce: String
    let aad: String
    let pt: String
    let ct: String
  }

  private let file: File

  init() throws { file = try PublishedVectors.json("sframe/test-vectors.json") }

  @Test func `counter mode and its tag are as published`() throws {
    let aes = AESCounterMode()
    for vector in file.aes_ctr_hmac {
      let suite = try #require(SFrameSuite(rawValue: vector.cipher_suite))
      let (key, salt) = (bytes(hex: vector.key), bytes(hex: vector.nonce))
      let sealing = SFrameKey(key: key.span, salt: salt.span, keyID: 0, suite: suite)
      let text = bytes(hex: vector.pt)
      var frame = text + [UInt8](repeating: 0, count: suite.tagByteCount)
      var span = frame.mutableSpan
      try sealing.protect(
        &span, header: 0..<0, text: 0..<text.count, counter: 0,
        metadata: bytes(hex: vector.aad).span, with: aes)
      #expect(hex(frame) == vector.ct)
    }
    #expect(file.aes_ctr_hmac.count == 3)
  }

  @Test func `the reference gives what is published for 256 bits`() throws {
    for vector in file.aes_256_ctr_hmac + file.aes_ctr_hmac {
      let sealed = Reference.seal(
        suite: vector.cipher_suite, key: bytes(hex: vector.key), nonce: bytes(hex: vector.nonce),
        aad: bytes(hex: vector.aad), text: bytes(hex: vector.pt))
      #expect(sealed.map(hex) == vector.ct)
    }
    #expect(file.aes_256_ctr_hmac.count == 3)
  }

  @Test func `whole frames of the suites that ship are as published`() throws {
    let aes = AESCounterMode()
    var count = 0
    for vector in file.sframe {
      guard let suite = SFrameSuite(rawValue: vector.cipher_suite) else { continue }
      let key = SFrameKey(
        baseKey: bytes(hex: vector.base_key).span, keyID: vector.kid, suite: suite)
      let (text, metadata) = (bytes(hex: vector.pt), bytes(hex: vector.metadata))
      var frame = [UInt8](repeating: 0, count: 17) + text + [UInt8](repeating: 0, count: 10)
      var span = frame.mutableSpan
      let place = try key.seal(
        &span, text: 17..<(17 + text.count), counter: vector.ctr, metadata: metadata.span,
        with: aes)
      #expect(hex(Array(frame[place])) == vector.ct)

      var sealed = bytes(hex: vector.ct)
      let (header, headerByteCount) = try SFrameHeaderTests.parsed(sealed)
      #expect(header == SFrameHeader(keyID: vector.kid, counter: vector.ctr))
      let whole = 0..<sealed.count
      var sealedSpan = sealed.mutableSpan
      let range = try key.open(
        &sealedSpan, at: whole, header: header, headerByteCount: headerByteCount,
        metadata: metadata.span, with: aes)
      #expect(Array(sealed[range]) == text)
      count += 1
    }
    #expect(count == 3)
  }

  @Test func `whole frames of every suite agree with the reference`() throws {
    for vector in file.sframe {
      let keyLabel = SFrameLabel.key(keyID: vector.kid, suite: vector.cipher_suite)
      let saltLabel = SFrameLabel.salt(keyID: vector.kid, suite: vector.cipher_suite)
      #expect(hex(keyLabel) == vector.sframe_key_label)
      #expect(hex(saltLabel) == vector.sframe_salt_label)
      let isLong = vector.cipher_suite == 5
      let base = bytes(hex: vector.base_key)
      let keyByteCount = vector.sframe_key.utf8.count / 2
      let key = Reference.derive(base, keyLabel, isLong: isLong, count: keyByteCount)
      var nonce = Reference.derive(base, saltLabel, isLong: isLong, count: 12)
      #expect(hex(key) == vector.sframe_key)
      #expect(hex(nonce) == vector.sframe_salt)
      for index in 0..<8 {
        nonce[4 + index] ^= UInt8(truncatingIfNeeded: vector.ctr >> UInt64(56 - 8 * index))
      }
      #expect(hex(nonce) == vector.nonce)
      let header = SFrameHeaderTests.encoded(
        SFrameHeader(keyID: vector.kid, counter: vector.ctr))
      let aad = header + bytes(hex: vector.metadata)
      #expect(hex(aad) == vector.aad)
      let sealed = Reference.seal(
        suite: vector.cipher_suite, key: key, nonce: nonce, aad: aad, text: bytes(hex: vector.pt))
      #expect(sealed.map { hex(header + $0) } == vector.ct)
    }
    #expect(file.sframe.count == 5)
  }
}

/// SFrame by OpenSSL alone.
enum Reference {
  static func derive(_ secret: [UInt8], _ info: [UInt8], isLong: Bool, count: Int) -> [UInt8] {
    var output = [UInt8](repeating: 0, count: count)
    _ = unsafe sframe_reference_hkdf(
      isLong ? 1 : 0, secret, secret.count, info, info.count, &output, count)
    return output
  }

  static func seal(
    suite: UInt16, key: [UInt8], nonce: [UInt8], aad: [UInt8], text: [UInt8]
  ) -> [UInt8]? {
    var output = [UInt8](repeating: 0, count: text.count + 16)
    let count = unsafe sframe_reference_seal(
      suite, key, nonce, aad, aad.count, text, text.count, &output)
    return count < 0 ? nil : Array(output.prefix(count))
  }
}
