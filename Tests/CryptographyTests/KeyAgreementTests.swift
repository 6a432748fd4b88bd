import Cryptography
import Primitives
import Testing
import Vectors

@Suite struct KeyAgreementTests {
  @Test(.enabled(if: PublishedVectors.arePresent, "\(PublishedVectors.whereabouts)"))
  func `agrees as Wycheproof says, and refuses every all-zero secret`() throws {
    var count = 0
    var refused = 0
    for test in try PublishedVectors.json("wycheproof/x25519_test.json", as: Wycheproof.self)
      .testGroups
      .flatMap(\.tests)
    {
      let result = agree(try #require(test.private), try #require(test.public))
      if test.flags.contains("ZeroSharedSecret") {
        #expect(result == nil, "case \(test.tcId)")
        refused += 1
      } else {
        #expect(result == test.shared, "case \(test.tcId)")
      }
      count += 1
    }
    #expect(count == 518 && refused == 31)
  }

  @Test(.enabled(if: PublishedVectors.arePresent, "\(PublishedVectors.whereabouts)"))
  func `agrees as RFC 7748 says`() throws {
    let records = try PublishedVectors.records("pyca/x25519-rfc7748.txt")
    for record in records {
      let scalar = try #require(record["input_scalar"])
      #expect(agree(scalar, try #require(record["input_u"])) == record["output_u"])
    }
    #expect(records.count >= 2)
  }

  @Test func `gives the value of RFC 7748 after a thousand rounds`() throws {
    // RFC 7748 §5.2
    var scalar = "09" + String(repeating: "0", count: 62)
    var point = scalar
    for _ in 0..<1000 { (scalar, point) = (try #require(agree(scalar, point)), scalar) }
    #expect(scalar == "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51")
  }

  @Test func `makes the key pairs and the secret of RFC 7748`() throws {
    // RFC 7748 §6.1: Bob, and what he shares with Alice.
    let bob = "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"
    let pair = X25519.KeyPair(privateKey: try secretKey(hex: bob))
    let publicKey = hex(pair.publicKey.bytes)
    #expect(publicKey == "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
    let alice = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
    #expect(
      agree(bob, alice) == "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
  }

  @Test func `draws keys from the random source, byte for byte`() {
    let prescribed = (0..<32).map { UInt8($0) }
    var random = RandomSource(replaying: prescribed)
    let key = SecretKey(random: &random)
    #expect((0..<32).map { key.span[$0] } == prescribed)
  }

  @Test func `knows the points that no card may carry`() {
    let lowOrder = [
      "0000000000000000000000000000000000000000000000000000000000000000",
      "0100000000000000000000000000000000000000000000000000000000000000",
      "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
      "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
      "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ]
    for point in lowOrder { #expect(Bytes32(bytes(hex: point)).map(X25519.isUsable) == false) }
    var random = RandomSource(seed: 1)
    #expect(X25519.isUsable(X25519.KeyPair(random: &random).publicKey))
  }

  private func agree(_ scalar: String, _ point: String) -> String? {
    guard let key = SecretKey(copying: bytes(hex: scalar).span),
      let point = Bytes32(bytes(hex: point))
    else { return nil }
    do throws(CryptographyError) {
      let secret = try X25519.agree(key, with: point)
      return hex((0..<32).map { secret.span[$0] })
    } catch {
      return nil
    }
  }
}
