import Foundation

/// The test vectors that others have published, read where they lie beside this package.
///
/// Tests that need them are skipped, and say so, where the folder is absent.
package enum PublishedVectors {
  package static let whereabouts = "published vectors not found at ../shared/vectors"

  package static var arePresent: Bool { folder != nil }

  /// The text of one file, for instance `pyca/blake2b.txt`.
  package static func text(_ path: String) throws -> String {
    guard let folder else { throw CocoaError(.fileNoSuchFile) }
    return try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
  }

  package static func json<Content: Decodable>(
    _ path: String, as type: Content.Type = Content.self
  ) throws -> Content {
    try JSONDecoder().decode(type, from: Data(text(path).utf8))
  }

  /// Records of `Key = value` lines. A line `COUNT = …` begins one; in files without such lines an
  /// empty line ends one. Keys are in lower case; values in quotes become hexadecimal.
  package static func records(_ path: String) throws -> [[String: String]] {
    let lines = try text(path).split(separator: "\n", omittingEmptySubsequences: false)
    let counts = lines.contains { $0.hasPrefix("COUNT") }
    var records: [[String: String]] = []
    var record: [String: String] = [:]
    func finish() {
      if record.count > 1 { records.append(record) }
      record = [:]
    }
    for line in lines where !line.hasPrefix("#") {
      let parts = line.split(separator: "=", maxSplits: 1).map {
        $0.trimmingCharacters(in: .whitespaces)
      }
      guard let key = parts.first, !key.isEmpty else {
        if !counts { finish() }
        continue
      }
      if key == "COUNT" { finish() }
      let value = parts.count > 1 ? parts[1] : ""
      record[key.lowercased()] = value.hasPrefix("\"") ? hexOfText(value) : value
    }
    finish()
    return records
  }

  private static func hexOfText(_ quoted: String) -> String {
    Array(quoted.dropFirst().dropLast().utf8).map { String(format: "%02x", $0) }.joined()
  }

  private static let folder: URL? = {
    let root = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    return ["../shared/vectors", "../../shared/vectors"]
      .map { root.appendingPathComponent($0).standardized }
      .first { FileManager.default.fileExists(atPath: $0.appendingPathComponent("README.md").path) }
  }()
}

/// The bytes of a hexadecimal string; traps in a test whose vector is not one.
package func bytes(hex: String) -> [UInt8] {
  let digits = hex.utf8.map { digit -> UInt8 in
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: preconditionFailure("a vector holds a letter that is no hexadecimal digit: \(hex)")
    }
  }
  precondition(digits.count % 2 == 0, "a vector has an odd number of digits: \(hex)")
  return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

package func hex(_ bytes: [UInt8]) -> String {
  let digits = Array("0123456789abcdef".utf8)
  return String(
    decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}

/// The part of a Wycheproof file that its sets have in common.
package struct Wycheproof: Decodable, Sendable {
  package struct Group: Decodable, Sendable {
    package struct PublicKey: Decodable, Sendable { package let pk: String }
    package let publicKey: PublicKey?
    package let tagSize: Int?
    package let tests: [Case]
  }

  /// Which fields are there depends on the set.
  package struct Case: Decodable, Sendable {
    package let tcId: Int
    package let result: String
    package let flags: [String]
    package let `public`: String?
    package let `private`: String?
    package let shared: String?
    package let key: String?
    package let iv: String?
    package let aad: String?
    package let msg: String?
    package let ct: String?
    package let tag: String?
    package let sig: String?
    package let ikm: String?
    package let salt: String?
    package let info: String?
    package let size: Int?
    package let okm: String?

    package var isValid: Bool { result == "valid" }
  }

  package let testGroups: [Group]
}
