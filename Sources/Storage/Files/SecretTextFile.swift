internal import Cryptography

/// A secret in words that its owner has written down: a file that only the owner may read.
package enum SecretTextFile {
  /// What `parse` makes of the contents, which are wiped afterwards.
  ///
  /// - Throws: Also when there is no such file, others may open it, or `parse` gives `nil`.
  package static func read<Content>(
    _ path: String, _ parse: ([UInt8]) -> Content?
  ) throws(StorageError) -> Content {
    guard var bytes = try PrivateFile.read(path, isSecret: true) else {
      throw StorageError(
        .notReadable, path, "There is no file \(path).", advice: "Check the path.")
    }
    defer { Secret.wipe(&bytes) }
    guard let secret = parse(bytes) else {
      throw StorageError(
        .corrupt, path, "\(path) holds no secret that can be used.",
        advice: "Put one line of 16 to 256 printable letters there.")
    }
    return secret
  }
}
