import Cryptography
import Testing
import Vectors

@Suite struct SealingTests {
  @Test(.enabled(if: PublishedVectors.arePresent, "\(PublishedVectors.whereabouts)"))
  func `seals and opens ChaCha20-Poly1305 as Wycheproof says`() throws {
    let count = try runWycheproof("chacha20_poly1305", seal: sealChaCha, open: openChaCha)
    #expect(count == 325)
  }

  @Test(.enabled(if: PublishedVectors.arePresent, "\(PublishedVectors.whereabouts)"))
  func `seals and opens XChaCha20-Poly1305 as Wycheproof says`() throws {
    let count = try runWycheproof("xchacha20_poly1305", seal: sealXChaCha, open: openXChaCha)
    #expect(count == 315)
  }

  @Test(
    .enabled(if: PublishedVectors.arePresent, "\(PublishedVectors.whereabouts)"),
    arguments: ["boringssl", "openssl"])
  func `seals and opens the RFC 8439 cases`(author: String) throws {
    var count = 0
    for record in try PublishedVectors.records("pyca/chacha20poly1305-\(author).txt") {
      let nonce = record["nonce"] ?? record["iv"] ?? ""
      let tag = record["tag"] ?? ""
      guard nonce.count == 24, tag.count == 32 else { continue }
      let input = Input(
        key: record["key"] ?? "", nonce: nonce, associated: record["ad"] ?? record["aad"] ?? "",
        text: record["in"] ?? record["plaintext"] ?? "")
      let sealed = (record["ct"] ?? record["ciphertext"] ?? "") + tag
      if record["result"] == "CIPHERFINAL_ERROR" {
        #expect(openChaCha(input, sealed) == nil)
      } else {
        #expect(sealChaCha(input) == sealed)
        #expect(openChaCha(input, sealed) == input.text)
      }
      count += 1
    }
    #expect(count >= 5)
  }

  @Test func `refuses nonces of another length, which C would not notice`() {
    for count in [0, 8, 11, 13, 24] {
      #expect(ChaChaPoly.Nonce(Array(repeating: 0, count: count).span) == nil)
    }
    let input = Input(
      key: String(repeating: "00", count: 32), nonce: String(repeating: "00", count: 12),
      associated: "", text: "00")
    #expect(sealXChaCha(input) == nil)
  }

  @Test func `refuses to open what is shorter than a tag`() {
    let input = Input(
      key: String(repeating: "00", count: 32), nonce: String(repeating: "00", count: 12),
      associated: "", text: "")
    for count in 0..<16 {
      #expect(openChaCha(input, String(repeating: "00", count: count)) == nil)
    }
  }

  // MARK: -

  struct Input {
    var key: String
    var nonce: String
    var associated: String
    var text: String
  }

  private func runWycheproof(
    _ name: String, seal: (Input) -> String?, open: (Input, String) -> String?
  ) throws -> Int {
    var count = 0
    let file = try PublishedVectors.json("wycheproof/\(name)_test.json", as: Wycheproof.self)
    for test in file.testGroups.flatMap(\.tests) {
      let input = Input(
        key: test.key ?? "", nonce: test.iv ?? "", associated: test.aad ?? "", text: test.msg ?? "")
      let sealed = (test.ct ?? "") + (test.tag ?? "")
      if test.isValid {
        #expect(seal(input) == sealed, "\(name) case \(test.tcId)")
        #expect(open(input, sealed) == input.text, "\(name) case \(test.tcId)")
      } else {
        #expect(open(input, sealed) == nil, "\(name) case \(test.tcId)")
      }
      count += 1
    }
    return count
  }

  private func sealChaCha(_ input: Input) -> String? {
    guard let key = SecretKey(copying: bytes(hex: input.key).span),
      let nonce = ChaChaPoly.Nonce(bytes(hex: input.nonce).span)
    else { return nil }
    var buffer = bytes(hex: input.text) + Array(repeating: 0, count: ChaChaPoly.tagByteCount)
    let associated = bytes(hex: input.associated)
    do throws(CryptographyError) {
      var span = buffer.mutableSpan
      try ChaChaPoly.seal(&span, from: 0, associated: associated.span, key: key, nonce: nonce)
    } catch {
      return nil
    }
    return hex(buffer)
  }

  private func openChaCha(_ input: Input, _ sealed: String) -> String? {
    guard let key = SecretKey(copying: bytes(hex: input.key).span),
      let nonce = ChaChaPoly.Nonce(bytes(hex: input.nonce).span)
    else { return nil }
    var buffer = bytes(hex: sealed)
    let associated = bytes(hex: input.associated)
    do throws(CryptographyError) {
      var span = buffer.mutableSpan
      let range = try ChaChaPoly.open(
        &span, from: 0, associated: associated.span, key: key, nonce: nonce)
      return hex(Array(buffer[range]))
    } catch {
      return nil
    }
  }

  private func sealXChaCha(_ input: Input) -> String? {
    guard let key = SecretKey(copying: bytes(hex: input.key).span) else { return nil }
    do throws(CryptographyError) {
      return hex(
        try XChaChaPoly.seal(
          bytes(hex: input.text).span, associated: bytes(hex: input.associated).span, key: key,
          nonce: bytes(hex: input.nonce).span))
    } catch {
      return nil
    }
  }

  private func openXChaCha(_ input: Input, _ sealed: String) -> String? {
    guard let key = SecretKey(copying: bytes(hex: input.key).span) else { return nil }
    do throws(CryptographyError) {
      return hex(
        try XChaChaPoly.open(
          bytes(hex: sealed).span, associated: bytes(hex: input.associated).span, key: key,
          nonce: bytes(hex: input.nonce).span))
    } catch {
      return nil
    }
  }
}
