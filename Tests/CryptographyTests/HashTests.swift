import Cryptography
import Primitives
import Testing
import Vectors

@Suite struct HashTests {
  @Test func `hashes the example of FIPS 180-4`() {
    #expect(
      hex(SHA256.hash(Array("abc".utf8).span).bytes)
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  }

  @Test(.enabled(if: PublishedVectors.arePresent, "\(PublishedVectors.whereabouts)"))
  func `makes HMAC-SHA256 as Wycheproof and RFC 4231 say`() throws {
    var count = 0
    let file = try PublishedVectors.json("wycheproof/hmac_sha256_test.json", as: Wycheproof.self)
    for group in file.testGroups {
      let digits = try #require(group.tagSize) / 4
      for test in group.tests {
        let tag = mac(test.key ?? "", test.msg ?? "").prefix(digits)
        #expect((tag == test.tag ?? "") == test.isValid, "case \(test.tcId)")
        count += 1
      }
    }
    #expect(count == 174)
    let records = try PublishedVectors.records("pyca/hmac-rfc4231-sha256.txt")
    for record in records {
      let expected = record["md"] ?? ""
      #expect(mac(record["key"] ?? "", record["msg"] ?? "").prefix(expected.count) == expected)
    }
    #expect(records.count >= 6)
  }

  @Test(.enabled(if: PublishedVectors.arePresent, "\(PublishedVectors.whereabouts)"))
  func `derives keys with HKDF as Wycheproof and RFC 5869 say`() throws {
    var count = 0
    let file = try PublishedVectors.json("wycheproof/hkdf_sha256_test.json", as: Wycheproof.self)
    for test in file.testGroups.flatMap(\.tests) {
      let okm = derive(test.ikm ?? "", test.salt ?? "", test.info ?? "", test.size ?? 0)
      #expect(okm == (test.isValid ? test.okm : nil), "case \(test.tcId)")
      count += 1
    }
    #expect(count == 86)
    let records = try PublishedVectors.records("pyca/hkdf-rfc5869-sha256.txt")
    for record in records {
      let okm = derive(
        record["ikm"] ?? "", record["salt"] ?? "", record["info"] ?? "",
        Int(record["l"] ?? "") ?? 0)
      #expect(okm == record["okm"])
    }
    #expect(records.count == 3)
  }

  @Test(.enabled(if: PublishedVectors.arePresent, "\(PublishedVectors.whereabouts)"))
  func `makes keyed BLAKE2b as its authors do`() throws {
    var count = 0
    var input = ""
    var key = ""
    for line in try PublishedVectors.text("blake2/blake2b-kat.txt").split(separator: "\n") {
      let parts = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      switch parts.first {
      case "in:": input = parts.count > 1 ? parts[1] : ""
      case "key:": key = parts[1]
      case "hash:":
        #expect(blake2b(input, key: key, byteCount: 64) == parts[1], "input \(input)")
        count += 1
      default: break
      }
    }
    #expect(count == 256)
  }

  @Test(.enabled(if: PublishedVectors.arePresent, "\(PublishedVectors.whereabouts)"))
  func `makes plain BLAKE2b as RFC 7693 says`() throws {
    let records = try PublishedVectors.records("pyca/blake2b.txt")
    for record in records {
      let digits = (Int(record["len"] ?? "") ?? 0) / 4
      let message = String((record["msg"] ?? "").prefix(digits))
      #expect(blake2b(message, key: nil, byteCount: 64) == record["md"])
    }
    #expect(records.count >= 6)
  }

  @Test func `hashes the same in one piece and in many`() {
    let message = (0..<500).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let key = Array(message.prefix(16))
    for cut in [0, 1, 127, 128, 129, 255, 499, 500] {
      var pieces = BLAKE2b(byteCount: 16, key: key.span)
      pieces.update(message.span.extracting(0..<cut))
      pieces.update(message.span.extracting(cut..<500))
      var whole = BLAKE2b(byteCount: 16, key: key.span)
      whole.update(message.span)
      let digests = [pieces.finalize16(), whole.finalize16()]
      #expect(digests[0] == digests[1])
      var sha = SHA256()
      sha.update(message.span.extracting(0..<cut))
      sha.update(message.span.extracting(cut..<500))
      let digest = sha.finalize()
      #expect(digest == SHA256.hash(message.span))
    }
  }

  @Test func `derives subkeys as keyed BLAKE2b with salt and personalisation`() throws {
    // Python: hashlib.blake2b(b'', key=bytes(range(32)), digest_size=32,
    //   salt=(2).to_bytes(8, 'little') + bytes(8), person=b'EST1keys' + bytes(8))
    let key = try secretKey(hex: hex((0..<32).map { UInt8($0) }))
    let subkey = key.derive("EST1keys", 2)
    #expect(
      hex((0..<32).map { subkey.span[$0] })
        == "7bee6fe4cc656b756da0ab6742ba5c80c69af1d58aab7f88a571bab5f64f9ad6")
  }

  private func mac(_ key: String, _ message: String) -> String {
    var mac = HMACSHA256(key: bytes(hex: key).span)
    mac.update(bytes(hex: message).span)
    return hex(mac.finalize().bytes)
  }

  private func derive(_ ikm: String, _ salt: String, _ info: String, _ size: Int) -> String? {
    do throws(CryptographyError) {
      let okm = try HKDFSHA256.derive(
        secret: bytes(hex: ikm).span, salt: bytes(hex: salt).span, context: bytes(hex: info).span,
        count: size)
      return hex((0..<size).map { okm.span[$0] })
    } catch {
      return nil
    }
  }

  private func blake2b(_ message: String, key: String?, byteCount: Int) -> String {
    func finish(_ hash: consuming BLAKE2b) -> String {
      hash.update(bytes(hex: message).span)
      let digest = hash.finalizeSecret()
      return hex((0..<byteCount).map { digest.span[$0] })
    }
    guard let key else { return finish(BLAKE2b(byteCount: byteCount)) }
    return finish(BLAKE2b(byteCount: byteCount, key: bytes(hex: key).span))
  }
}
