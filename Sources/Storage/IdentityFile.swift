internal import Cryptography
package import Primitives
package import SecureSession

/// The file that an identity lives in: 0600, replaced whole or not at all, and never overwritten
/// when it cannot be understood.
package struct IdentityFile: Sendable {
  package let path: String

  package init(path: String) { self.path = path }

  /// `$XDG_CONFIG_HOME/earshot/identity`, or the same under `~/.config`; `nil` without a home.
  package static func defaultPath(environment: [String: String]) -> String? {
    if let base = environment["XDG_CONFIG_HOME"], base.hasPrefix("/") {
      return base + "/earshot/identity"
    }
    guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
    return home + "/.config/earshot/identity"
  }

  /// The identity; `nil` when there is no such file.
  package func read() throws(StorageError) -> LocalIdentity? {
    guard var bytes = try PrivateFile.read(path, isSecret: true) else { return nil }
    defer { Secret.wipe(&bytes) }
    // What a full disk or a crash of another program leaves.
    if bytes.isEmpty { throw Self.error(.truncated, path) }
    do throws(IdentityFileFault) {
      return try LocalIdentity(stored: bytes.span)
    } catch {
      throw Self.error(error, path)
    }
  }

  /// The identity in the file, or a new one, which is in the file before this returns. Of several
  /// processes that make one at the same time, all get the same.
  package func readOrCreate(
    _ kind: LocalIdentity.Kind, unixSeconds: UInt64, random: inout RandomSource
  ) throws(StorageError) -> LocalIdentity {
    if let identity = try read() { return identity }
    if let directory = PrivateFile.parent(of: path) { try PrivateFile.makeDirectory(directory) }
    let identity = LocalIdentity(kind: kind, unixSeconds: unixSeconds, random: &random)
    var bytes = Self.bytes(of: identity)
    defer { Secret.wipe(&bytes) }
    if try PrivateFile.create(path, with: bytes) { return identity }
    guard let other = try read() else { throw .vanished(path) }
    return other
  }

  /// Gives the identity in the file a new device key; `nil` when there is no such file.
  package func replaceStaticKey(
    unixSeconds: UInt64, random: inout RandomSource
  ) throws(StorageError) -> LocalIdentity? {
    guard var identity = try read() else { return nil }
    identity.replaceStaticKey(unixSeconds: unixSeconds, random: &random)
    try replace(with: identity)
    return identity
  }

  /// Writes newer keys and serials of the same identity.
  package func replace(with identity: borrowing LocalIdentity) throws(StorageError) {
    if let present = try read(), present.id != identity.id {
      throw StorageError(
        .foreign, path, "\(path) holds another identity by now; it was left as it is.",
        advice: "Start again, so that the program reads it.")
    }
    var bytes = Self.bytes(of: identity)
    defer { Secret.wipe(&bytes) }
    try PrivateFile.replace(path, with: bytes)
  }

  private static func bytes(of identity: borrowing LocalIdentity) -> [UInt8] {
    let blob = identity.stored()
    return [UInt8](copying: blob.span)
  }

  private static func error(_ fault: IdentityFileFault, _ path: String) -> StorageError {
    switch fault {
    case .foreign:
      StorageError(
        .foreign, path, "\(path) is not an identity of Earshot; it was left as it is.",
        advice: "Give another path, or move it away.")
    case .newerVersion:
      StorageError(
        .newerVersion, path, "\(path) was written by a newer version of Earshot.",
        advice: "Run that version, or give another path.")
    case .truncated:
      StorageError(
        .truncated, path, "\(path) is cut short; it was left as it is.",
        advice: "Restore it from a copy, or move it away to become somebody new.")
    case .damaged:
      StorageError(
        .corrupt, path, "\(path) is damaged; it was left as it is.",
        advice: "Restore it from a copy, or move it away to become somebody new.")
    }
  }
}

extension [UInt8] {
  fileprivate init(copying span: Span<UInt8>) {
    self.init()
    reserveCapacity(span.count)
    for index in 0..<span.count { append(span[index]) }
  }
}
