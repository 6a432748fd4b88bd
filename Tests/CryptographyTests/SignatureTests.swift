import Cryptography
import Primitives
import Testing
import Vectors

@Suite struct SignatureTests {
  @Test(.enabled(if: PublishedVectors.arePresent, "\(PublishedVectors.whereabouts)"))
  func `judges signatures as Wycheproof says`() throws {
    var count = 0
    let file = try PublishedVectors.json("wycheproof/ed25519_test.json", as: Wycheproof.self)
    for group in file.testGroups {
      let key = try #require(group.publicKey?.pk)
      for test in group.tests {
        let verdict = isValid(test.sig ?? "", test.msg ?? "", key)
        #expect(verdict == test.isValid, "case \(test.tcId)")
        count += 1
      }
    }
    #expect(count == 151)
  }

  @Test(.enabled(if: PublishedVectors.arePresent, "\(PublishedVectors.whereabouts)"))
  func `makes the 1024 signatures of the authors' own set`() throws {
    var count = 0
    for line in try PublishedVectors.text("pyca/ed25519-sign.input").split(separator: "\n") {
      let fields = line.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
      guard fields.count >= 4 else { continue }
      let seed = try secretKey(hex: String(fields[0].prefix(64)))
      let key = Ed25519.PrivateKey(seed: seed)
      let signature = key.sign(bytes(hex: fields[2]).span)
      #expect(hex(key.publicKey.bytes) == fields[1])
      #expect(hex(signature) == String(fields[3].prefix(128)))
      #expect(isValid(hex(signature), fields[2], fields[1]))
      count += 1
    }
    #expect(count == 1024)
  }

  @Test(.enabled(if: PublishedVectors.arePresent, "\(PublishedVectors.whereabouts)"))
  func `is as strict as libsodium on the disputed signatures`() throws {
    struct Case: Decodable {
      let message: String
      let pub_key: String
      let signature: String
    }
    let cases = try PublishedVectors.json("ed25519-speccheck/cases.json", as: [Case].self)
    let accepted = cases.indices.filter {
      isValid(cases[$0].signature, cases[$0].message, cases[$0].pub_key)
    }
    #expect(cases.count == 12)
    #expect(accepted == [3])
  }

  private func isValid(_ signature: String, _ message: String, _ key: String) -> Bool {
    guard let key = Bytes32(bytes(hex: key)) else { return false }
    return Ed25519.isValid(bytes(hex: signature).span, over: bytes(hex: message).span, by: key)
  }
}
