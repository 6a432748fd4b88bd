import Cryptography
import Primitives
import Testing
import Vectors
import Wire

@testable import Tokens

/// The vectors of the PASETO standard, version 4 (<https://github.com/paseto-standard/test-vectors>).
@Suite(.enabled(if: PublishedVectors.arePresent, Comment(rawValue: PublishedVectors.whereabouts)))
struct PASETOVectorTests {
  private struct Content: Decodable {
    let tests: [Vector]
  }

  private struct Vector: Decodable {
    let name: String
    let isRefused: Bool
    let token: String?
    let payload: String?
    let footer: String?
    let assertion: String?
    let publicKey: String?
    let secretKey: String?
    let key: String?
    let paserk: String?

    enum CodingKeys: String, CodingKey {
      case name, token, payload, footer, key, paserk
      case isRefused = "expect-fail"
      case assertion = "implicit-assertion"
      case publicKey = "public-key"
      case secretKey = "secret-key"
    }
  }

  private static func vectors(_ file: String) throws -> [Vector] {
    try PublishedVectors.json("paseto/\(file)", as: Content.self).tests
  }

  private static func key(_ text: String?) throws -> TokenPublicKey {
    let text = try #require(text)
    return TokenPublicKey(bytes: try #require(Bytes32(bytes(hex: text))))
  }

  @Test func `signed tokens are read, and made again to the letter`() throws {
    var count = 0
    for vector in try Self.vectors("v4.json") where vector.name.hasPrefix("4-S-") {
      let text = try #require(vector.token)
      let assertion = Array((vector.assertion ?? "").utf8)
      let token = try PublicToken(parsing: text)
      let publicKey = try Self.key(vector.publicKey)
      #expect(token.isSigned(by: publicKey, assertion: assertion))
      #expect(String(decoding: token.payload, as: UTF8.self) == vector.payload)
      #expect(String(decoding: token.footer, as: UTF8.self) == vector.footer ?? "")
      #expect(!token.isSigned(by: publicKey, assertion: assertion + [0]))
      let raw = try #require(vector.secretKey)
      let secret = Base64URL.encode(bytes(hex: raw))
      guard let key = TokenSigningKey("k4.secret." + secret) else {
        Issue.record("\(vector.name): the secret key is refused")
        continue
      }
      let made = PublicToken(
        signing: token.payload, footer: token.footer, assertion: assertion, by: key)
      #expect(made.text == text, "\(vector.name)")
      count += 1
    }
    #expect(count == 3)
  }

  /// 4-F-*: other versions and purposes, changed bytes, padding. 4-E-* are sealed, not signed.
  @Test func `what must be refused is refused`() throws {
    var count = 0
    for vector in try Self.vectors("v4.json") where !vector.name.hasPrefix("4-S-") {
      let key = try Self.key(vector.publicKey ?? vector.key)
      let assertion = Array((vector.assertion ?? "").utf8)
      var isAccepted = false
      let text = try #require(vector.token)
      if let token = try? PublicToken(parsing: text) {
        isAccepted = token.isSigned(by: key, assertion: assertion)
      }
      #expect(!isAccepted, "\(vector.name)")
      count += 1
    }
    #expect(count >= 14)
  }

  @Test func `public keys and their names are as PASERK has them`() throws {
    var count = 0
    for (file, isName) in [("k4.public.json", false), ("k4.pid.json", true)] {
      for vector in try Self.vectors(file) {
        let text = try #require(vector.key)
        let raw = bytes(hex: text)
        count += 1
        guard !vector.isRefused else {
          #expect(TokenPublicKey("k4.public." + Base64URL.encode(raw)) == nil, "\(vector.name)")
          continue
        }
        let key = TokenPublicKey(bytes: try #require(Bytes32(raw)))
        #expect((isName ? key.id : key.text) == vector.paserk, "\(vector.name)")
        if !isName { #expect(vector.paserk.flatMap { TokenPublicKey($0) } == key) }
      }
    }
    #expect(count == 9)
  }

  @Test func `secret keys are as PASERK has them`() throws {
    var count = 0
    for vector in try Self.vectors("k4.secret.json") {
      let text = try #require(vector.key)
      let raw = bytes(hex: text)
      let key = TokenSigningKey("k4.secret." + Base64URL.encode(raw))
      count += 1
      switch consume key {
      case .some(let key):
        #expect(!vector.isRefused, "\(vector.name)")
        let made = key.secretText()
        #expect(made == vector.paserk, "\(vector.name)")
        let publicKey = try Self.key(vector.publicKey)
        #expect(key.publicKey == publicKey, "\(vector.name)")
      case .none: #expect(vector.isRefused, "\(vector.name)")
      }
    }
    #expect(count == 5)
  }
}

struct PublicTokenTests {
  private static func token(footer: [UInt8] = []) -> (PublicToken, TokenPublicKey) {
    var random = RandomSource(seed: 1)
    let key = TokenSigningKey(random: &random)
    return (PublicToken(signing: Array("{}".utf8), footer: footer, by: key), key.publicKey)
  }

  /// Base64url has loose bits where a length is no multiple of three; one text for one token.
  @Test func `no text but the right one is read`() throws {
    let (token, key) = Self.token(footer: [1])
    let read = try PublicToken(parsing: token.text)
    #expect(read == token && token.isSigned(by: key))
    let plain = Self.token().0.text
    for text in [
      "", "v4.public.", "v4.public", plain + "=", plain + ".", plain + "\n", " " + plain,
      plain.replacing("v4.public", with: "v3.public"), plain.replacing("v4", with: "V4"),
      plain.replacing("public", with: "local"), plain + ".AA.AA", plain + ".AB", plain + ".A",
      plain + "." + String(repeating: "A", count: 420), "v4.public.AAAA",
    ] {
      #expect(throws: TokenFault.malformed, "\(text)") { try PublicToken(parsing: text) }
    }
    // 66 bytes end with full letters; 67 leave four bits over.
    let loose = "v4.public." + String(repeating: "A", count: 89)
    #expect(throws: Never.self) { try PublicToken(parsing: loose + "A") }
    #expect(throws: TokenFault.malformed) { try PublicToken(parsing: loose + "B") }
  }

  @Test func `every changed letter is noticed`() throws {
    let (token, key) = Self.token(footer: Array("kid".utf8))
    let text = Array(token.text.utf8)
    for index in text.indices {
      for letter in [UInt8(ascii: "A"), UInt8(ascii: "z"), UInt8(ascii: "."), 0] {
        var changed = text
        changed[index] = letter
        guard changed != text else { continue }
        let read = try? PublicToken(parsing: String(decoding: changed, as: UTF8.self))
        #expect(read?.isSigned(by: key) != true, "letter \(index)")
      }
    }
  }

  /// PAE, the examples of the standard: the numbers of pieces and of bytes, 64 bits each.
  @Test func `pieces are encoded so that no two lists are the same`() {
    #expect(PublicToken.authenticated([]) == Array(repeating: 0, count: 8))
    #expect(
      PublicToken.authenticated([[]]) == [1] + Array(repeating: 0, count: 15))
    #expect(
      PublicToken.authenticated([Array("test".utf8)])
        == [1, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0] + Array("test".utf8))
  }

  @Test func `keys of another kind or length are refused`() throws {
    var random = RandomSource(seed: 2)
    let key = TokenSigningKey(random: &random)
    let (secret, open) = (key.secretText(), key.publicKey.text)
    for text in [secret, open.replacing("k4", with: "k3"), open + "A", open + "=", ""] {
      #expect(TokenPublicKey(text) == nil, "\(text)")
    }
    // The public half of another key.
    let other = TokenSigningKey(random: &random).publicKey.bytes.bytes
    let seed = Base64URL.decode(String(secret.dropFirst(10)))?.prefix(32) ?? []
    let mixed = "k4.secret." + Base64URL.encode(Array(seed) + other)
    for text in [open, secret + "A", mixed, ""] {
      let isRead = TokenSigningKey(text) != nil
      #expect(!isRead, "\(text)")
    }
  }
}
