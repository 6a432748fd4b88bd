import Foundation
import Primitives
import Testing
import Vectors
import Wire

@testable import Relay

@Suite struct LegacyHashTests {
  /// RFC 1321 §A.5.
  @Test(arguments: [
    ("", "d41d8cd98f00b204e9800998ecf8427e"), ("a", "0cc175b9c0f1b6a831c399e269772661"),
    ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
    (
      "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
      "57edf4a22be3c955ac49da2e2107b67a"
    ),
  ])
  func `MD5 as published`(text: String, digest: String) {
    #expect(hex(LegacyHash.md5(Array(text.utf8))) == digest)
  }

  /// FIPS 180-4's examples, and the border of one block.
  @Test(arguments: [
    ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
    ),
  ])
  func `SHA-1 as published`(text: String, digest: String) {
    #expect(hex(LegacyHash.sha1(Array(text.utf8))) == digest)
  }

  /// RFC 2202 §3, cases 2 and 6: a short key, and one longer than a block.
  @Test func `HMAC-SHA-1 as published`() {
    #expect(
      hex(LegacyHash.hmacSHA1(key: Array("Jefe".utf8), Array("what do ya want for nothing?".utf8)))
        == "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79")
    let long = Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8)
    #expect(
      hex(LegacyHash.hmacSHA1(key: Array(repeating: 0xAA, count: 80), long))
        == "aa4ae5e15272d00e95705637ce8a3b55ed402112")
  }

  private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { String(format: "%02x", $0) }.joined()
  }
}

/// RFC 5769: messages of STUN as published, and their MESSAGE-INTEGRITY.
@Suite(.enabled(if: PublishedVectors.arePresent, Comment(rawValue: PublishedVectors.whereabouts)))
struct STUNVectorTests {
  private struct Content: Decodable {
    let vectors: [Vector]
  }
  private struct Vector: Decodable {
    let name: String
    let hex: String
    let short_term_password: String?
    let xor_mapped_address: String?
    let port: UInt16?
  }

  @Test func `MESSAGE-INTEGRITY of RFC 5769 is what we compute`() throws {
    let content: Content = try PublishedVectors.json("stun/rfc5769.json")
    var checked = 0
    for vector in content.vectors {
      guard let password = vector.short_term_password else { continue }
      let bytes = try #require(Self.bytes(vector.hex))
      // Of requests other than TURN's we read no attributes; where the code stands is known.
      let offset = try #require(Self.integrityOffset(bytes))
      var covered = Array(bytes[..<offset])
      covered[3] = UInt8(offset + 24 - 20)
      let code = LegacyHash.hmacSHA1(key: Array(password.utf8), covered)
      #expect(code == Array(bytes[(offset + 4)..<(offset + 24)]), "\(vector.name)")
      checked += 1
    }
    #expect(checked >= 3)
  }

  @Test func `addresses of RFC 5769 are read`() throws {
    let content: Content = try PublishedVectors.json("stun/rfc5769.json")
    var checked = 0
    for vector in content.vectors {
      guard let address = vector.xor_mapped_address, let port = vector.port else { continue }
      let bytes = try #require(Self.bytes(vector.hex))
      let message = try STUNMessage(parsing: bytes.span)
      #expect(message.mappedAddress?.hostText == address && message.mappedAddress?.port == port)
      #expect(message.integrity != nil && message.messageClass == .success)
      checked += 1
    }
    #expect(checked == 2)
  }

  /// RFC 5769 §2.4: the key of long-term credentials.
  @Test func `key of RFC 5769 2_4`() throws {
    let content: Content = try PublishedVectors.json("stun/rfc5769.json")
    let vector = try #require(content.vectors.first { $0.name.hasPrefix("2.4") })
    let bytes = try #require(Self.bytes(vector.hex))
    let message = try STUNMessage(parsing: bytes.span)
    let integrity = try #require(message.integrity)
    let realm = try #require(message.realm).map { bytes[$0] }
    let user = "\u{30DE}\u{30C8}\u{30EA}\u{30C3}\u{30AF}\u{30B9}"
    let credentials = RelayCredentials(user: user, password: "TheMatrIX")
    var covered = Array(bytes[..<integrity.offset])
    covered[3] = UInt8(integrity.offset + 24 - 20)
    let code = LegacyHash.hmacSHA1(key: credentials.key(realm: realm, .md5), covered)
    #expect(code == integrity.value.map { bytes[$0] })
  }

  private static func bytes(_ hex: String) -> [UInt8]? {
    let digits = Array(hex)
    return stride(from: 0, to: digits.count - 1, by: 2).map {
      UInt8(String(digits[$0...($0 + 1)]), radix: 16) ?? 0
    }
  }

  private static func integrityOffset(_ bytes: [UInt8]) -> Int? {
    var start = 20
    while start + 4 <= bytes.count {
      let length = Int(bytes[start + 2]) << 8 | Int(bytes[start + 3])
      if bytes[start] == 0, bytes[start + 1] == 8 { return start }
      start += 4 + (length + 3) & ~3
    }
    return nil
  }
}
