import Cryptography
import Primitives
import Testing

@testable import GroupKeys

@Suite struct SFrameKeyTests {
  /// Goal: the shipped code and OpenSSL's agree for any key, counter, metadata and length.
  /// Method: 300 seeded frames of each suite.
  @Test(arguments: SFrameSuite.allCases)
  func `seals as the reference does`(suite: SFrameSuite) throws {
    var random = RandomSource(seed: UInt64(suite.rawValue))
    let aes = AESCounterMode()
    for _ in 0..<300 {
      let base = random.bytes(32)
      let keyID = random.next() >> (random.next() & 63)
      let counter = random.next() >> (random.next() & 63)
      let metadata = random.bytes(Int(random.next() & 31))
      let text = random.bytes(Int(random.next() % 1300))
      let key = SFrameKey(baseKey: base.span, keyID: keyID, suite: suite)
      let header = SFrameHeaderTests.encoded(SFrameHeader(keyID: keyID, counter: counter))
      let sealing = Reference.derive(
        base, SFrameLabel.key(keyID: keyID, suite: suite.rawValue), isLong: false, count: 48)
      var nonce = Reference.derive(
        base, SFrameLabel.salt(keyID: keyID, suite: suite.rawValue), isLong: false, count: 12)
      for index in 0..<8 {
        nonce[4 + index] ^= UInt8(truncatingIfNeeded: counter >> UInt64(56 - 8 * index))
      }
      let expected = try #require(
        Reference.seal(
          suite: suite.rawValue, key: sealing, nonce: nonce, aad: header + metadata, text: text))

      var frame = [UInt8](repeating: 0, count: 17) + text + [UInt8](repeating: 0, count: 10)
      var span = frame.mutableSpan
      let place = try key.seal(
        &span, text: 17..<(17 + text.count), counter: counter, metadata: metadata.span, with: aes)
      #expect(Array(frame[place]) == header + expected)
    }
  }

  @Test func `without room for header or tag nothing is sealed`() throws {
    let key = SFrameKey(baseKey: secretKey(1).span, keyID: 300)
    let aes = AESCounterMode()
    for (text, count) in [(2..<10, 30), (5..<30, 37), (0..<0, 0)] {
      var frame = [UInt8](repeating: 5, count: count)
      var error: SFrameError?
      do throws(SFrameError) {
        var span = frame.mutableSpan
        _ = try key.seal(&span, text: text, counter: 0, metadata: Span(), with: aes)
      } catch let caught {
        error = caught
      }
      #expect(error == .wrongLength)
      #expect(frame.allSatisfy { $0 == 5 })
    }
  }

  @Test func `a ratchet goes on as RFC 9605 §5.1 says, and never back`() throws {
    var key = SenderKey(generation: 2, baseKey: secretKey(3))
    let base = [UInt8](repeating: 3, count: 32)
    #expect(key.keyID == 0x200)
    key.ratchet()
    let next = Reference.derive(base, Array("SFrame 1.0 Ratchet".utf8), isLong: false, count: 32)
    let isEqual = Secret.areEqual(key.baseKey.span, next.span)
    #expect(isEqual)
    #expect(key.keyID == 0x201)
    for _ in 0..<255 { key.ratchet() }
    #expect(key.step == 256)
    #expect(key.keyID == 0x200)
  }

  @Test func `the last counter of two bytes is followed by a ratchet`() throws {
    var key = SendingKey(SenderKey(generation: 0, baseKey: secretKey(4)))
    let aes = AESCounterMode()
    var buffer = [UInt8](repeating: 0, count: 17 + 1 + 8)
    var longest = 0
    for index in 0...(Int(GroupKeyLimits.lastCounter) + 1) {
      var span = buffer.mutableSpan
      let place = try key.seal(&span, text: 17..<18, metadata: Span(), with: aes)
      longest = max(longest, place.count)
      let step = key.chain.step
      expect(step == (index <= Int(GroupKeyLimits.lastCounter) ? 0 : 1))
    }
    let counter = key.nextCounter
    #expect(counter == 1)
    #expect(longest == 1 + 0 + 2 + 1 + 8)
  }
}
