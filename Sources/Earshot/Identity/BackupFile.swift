package import Primitives
internal import Storage

/// The file that `earshot backup` writes: an identity with its pins, sealed with a passphrase.
package enum BackupFile {
  /// Whose it is, and how many names and rendezvous are pinned in it.
  package struct Summary: Sendable, Equatable {
    package var id: PeerID
    package var pinCount: Int
    /// Where the identity is.
    package var identityFile: String
  }

  /// Writes the identity and its pins to a new file.
  ///
  /// - Parameter identityFile: `nil` means the usual one.
  package static func write(
    _ path: String, identityFile: String?, passphrase: [UInt8]
  ) throws(EarshotError) -> Summary {
    let identityPath = try LocalIdentityFile.path(identityFile)
    var random = RandomSource.system
    do throws(StorageError) {
      var backup = try IdentityBackup(identityFile: identityPath)
      defer { backup.wipe() }
      try backup.write(to: path, passphrase: passphrase, random: &random)
      return try summary(of: backup, path, identityPath)
    } catch {
      throw EarshotError(error)
    }
  }

  /// Makes the identity file and its pins from a backup; `nil` where the passphrase is wrong.
  package static func restore(
    _ path: String, identityFile: String?, passphrase: [UInt8]
  ) throws(EarshotError) -> Summary? {
    let identityPath = try LocalIdentityFile.path(identityFile)
    do throws(StorageError) {
      switch try IdentityBackup.read(path, passphrase: passphrase) {
      case .wrongPassphrase: return nil
      case .backup(var backup):
        defer { backup.wipe() }
        try backup.restore(toIdentityFile: identityPath)
        return try summary(of: backup, path, identityPath)
      }
    } catch {
      throw EarshotError(error)
    }
  }

  /// Refuses at once, before a passphrase is asked for: to overwrite the backup, or an identity.
  package static func refuse(present path: String) throws(EarshotError) {
    guard IdentityBackup.wouldOverwrite(path) else { return }
    throw EarshotError(
      .fileUnusable, "There is a file \(path) already; it was left as it is.",
      advice: "Give another name, or move it away.")
  }

  /// The first line of a file that only its owner may read.
  package static func passphrase(inFile path: String) throws(EarshotError) -> [UInt8] {
    do throws(StorageError) {
      return try SecretTextFile.read(path) { bytes in
        let line = Array(bytes.prefix { $0 != 10 && $0 != 13 })
        return lengths.contains(line.count) ? line : nil
      }
    } catch {
      guard error.code == .corrupt else { throw EarshotError(error) }
      throw EarshotError(
        .fileUnusable, "\(path) holds no passphrase that can be used.",
        advice: "Its first line must have \(lengths.lowerBound) to \(lengths.upperBound) bytes.")
    }
  }

  /// Bytes of a passphrase.
  package static let lengths = 8...1024

  private static func summary(
    of backup: IdentityBackup, _ path: String, _ identityPath: String
  ) throws(StorageError) -> Summary {
    let (id, count) = try backup.summary(path)
    return Summary(id: id, pinCount: count, identityFile: identityPath)
  }
}
