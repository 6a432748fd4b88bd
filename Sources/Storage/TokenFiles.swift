package import Primitives
package import Tokens

/// The files of access tokens: one line of text each.
package enum TokenFiles {
  /// Makes a signing key that only its owner may read, and the file of the public one if asked to:
  /// both, or neither. A file that is there stays as it is.
  package static func makeKey(
    at path: String, publicAt publicPath: String? = nil, random: inout RandomSource
  ) throws(StorageError) -> TokenPublicKey {
    if let publicPath, PrivateFile.isThere(publicPath) { throw taken(publicPath) }
    let key = TokenSigningKey(random: &random)
    let publicKey = key.publicKey
    try make(path, key.secretText(), mode: 0o600)
    guard let publicPath else { return publicKey }
    do throws(StorageError) {
      try write(publicKey, to: publicPath)
    } catch {
      PrivateFile.remove(path)
      throw error
    }
    return publicKey
  }

  /// Writes the public key, for everybody to read. A file that is there stays as it is.
  package static func write(_ key: TokenPublicKey, to path: String) throws(StorageError) {
    try make(path, key.text, mode: 0o644)
  }

  package static func signingKey(at path: String) throws(StorageError) -> TokenSigningKey {
    // The public half, which all may read, is not to be hidden but left where it is.
    let isPublic = TokenPublicKey(try line(of: path, isSecret: false)) != nil
    guard !isPublic, let key = TokenSigningKey(try line(of: path, isSecret: true)) else {
      throw StorageError(
        .foreign, path, "\(path) holds no key that signs tokens.",
        advice: "Make one with: earshot token new --key FILE")
    }
    return key
  }

  package static func publicKey(at path: String) throws(StorageError) -> TokenPublicKey {
    guard let key = TokenPublicKey(try line(of: path, isSecret: false)) else {
      throw StorageError(
        .foreign, path, "\(path) holds no public key of tokens.",
        advice:
          "Give the file that earshot token new wrote with --public; it begins with k4.public.")
    }
    return key
  }

  /// A token, not checked.
  package static func token(at path: String) throws(StorageError) -> String {
    try line(of: path, isSecret: false)
  }

  private static func make(
    _ path: String, _ text: String, mode: UInt32
  ) throws(StorageError) {
    guard try PrivateFile.create(path, with: Array("\(text)\n".utf8), mode: mode) else {
      throw taken(path)
    }
  }

  private static func taken(_ path: String) -> StorageError {
    StorageError(
      .notWritable, path, "\(path) is there already; it was left as it is.",
      advice: "Choose another path, or move it away.")
  }

  /// The text of the file without the space around it.
  private static func line(of path: String, isSecret: Bool) throws(StorageError) -> String {
    guard let bytes = try PrivateFile.read(path, isSecret: isSecret) else {
      throw StorageError(
        .notReadable, path, "There is no file \(path).", advice: "Check the path.")
    }
    let text = String(decoding: bytes.prefix(2 * TokenLimits.textByteCount), as: UTF8.self)
    return String(text.drop(while: \.isWhitespace).prefix { !$0.isWhitespace })
  }
}
