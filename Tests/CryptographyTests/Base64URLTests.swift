import Cryptography
import Primitives
import Testing

@Suite struct Base64URLTests {
  @Test func `encodes the examples of RFC 4648 without their padding`() {
    // RFC 4648 §10
    let examples = [
      "": "", "f": "Zg", "fo": "Zm8", "foo": "Zm9v", "foob": "Zm9vYg", "fooba": "Zm9vYmE",
      "foobar": "Zm9vYmFy",
    ]
    for (plain, text) in examples {
      #expect(Base64URL.encode(Array(plain.utf8)) == text)
      #expect(Base64URL.decode(text) == Array(plain.utf8))
    }
    #expect(Base64URL.encode([0xFB, 0xFF, 0xBF]) == "-_-_")
  }

  @Test func `has one text for one content`() {
    for text in ["Zg==", "Zg=", "Zh", "Zm9", "Z", "Zm+v", "Zm/v", "Zm9v ", "Zm\n9v", "Zmé"] {
      #expect(Base64URL.decode(text) == nil, "\(text)")
    }
  }

  @Test func `gives back any bytes`() {
    var random = RandomSource(seed: 5)
    for count in 0..<200 {
      let bytes = random.bytes(count)
      #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
    }
  }
}
