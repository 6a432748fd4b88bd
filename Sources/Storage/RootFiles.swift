internal import Cryptography
package import Primitives
package import SecureSession
package import Wire

/// The files of several nodes: the root's key, and the list that it has signed.
package enum RootFiles {
  private static let scheme = "earshot-nodes:"

  /// Makes a root's key that only its owner may read. A file that is there stays as it is.
  package static func makeKey(
    at path: String, random: inout RandomSource
  ) throws(StorageError) -> PeerID {
    let key = RootKey(random: &random)
    var bytes = Array("\(key.secretText())\n".utf8)
    defer { Secret.wipe(&bytes) }
    guard try PrivateFile.create(path, with: bytes, mode: 0o600) else {
      throw StorageError(
        .notWritable, path, "\(path) is there already; it was left as it is.",
        advice: "Choose another path, or move it away.")
    }
    return key.id
  }

  package static func key(at path: String) throws(StorageError) -> RootKey {
    guard var bytes = try PrivateFile.read(path, isSecret: true) else { throw missing(path) }
    defer { Secret.wipe(&bytes) }
    guard let key = RootKey(firstWord(of: bytes)) else {
      throw StorageError(
        .foreign, path, "\(path) holds no key of a root.",
        advice: "Make one with: earshot-rendezvous root new --key FILE")
    }
    return key
  }

  /// A list as it stands in a file, not checked.
  package static func list(at path: String) throws(StorageError) -> NodeList {
    guard let list = try listIfThere(at: path) else { throw missing(path) }
    return list
  }

  /// The same; `nil` when there is no such file.
  package static func listIfThere(at path: String) throws(StorageError) -> NodeList? {
    guard let bytes = try PrivateFile.read(path, isSecret: false) else { return nil }
    let text = firstWord(of: bytes)
    guard text.hasPrefix(scheme),
      let content = Base64URL.decode(String(text.dropFirst(scheme.count)))
    else { throw foreign(path) }
    do throws(WireError) { return try NodeList(parsing: content) } catch { throw foreign(path) }
  }

  /// Puts a list in place of the one that is there.
  package static func write(_ list: NodeList, to path: String) throws(StorageError) {
    try PrivateFile.replace(
      path, with: Array("\(scheme)\(Base64URL.encode(list.bytes))\n".utf8), mode: 0o644)
  }

  private static func foreign(_ path: String) -> StorageError {
    StorageError(
      .foreign, path, "\(path) holds no signed list of nodes.",
      advice: "Make one with: earshot-rendezvous root sign NODES --key FILE --out FILE")
  }

  private static func missing(_ path: String) -> StorageError {
    StorageError(.notReadable, path, "There is no file \(path).", advice: "Check the path.")
  }

  /// The first word of a file, of no more than any key or list has.
  private static func firstWord(of bytes: [UInt8]) -> String {
    let text = String(decoding: bytes.prefix(2 * NodeList.maximumByteCount), as: UTF8.self)
    return String(text.drop(while: \.isWhitespace).prefix { !$0.isWhitespace })
  }
}
