package import Primitives

/// What an identity file holds (docs/protocol/README.md §3). All of it is secret but the ID.
package struct StoredIdentity: Equatable, Sendable {
  /// An X25519 private key and when it came into use.
  package struct DeviceKey: Equatable, Sendable {
    /// 32 bytes.
    package var privateKey: [UInt8]
    /// Seconds since 1970 UTC.
    package var notBefore: UInt64

    package init(privateKey: [UInt8], notBefore: UInt64) {
      self.privateKey = privateKey
      self.notBefore = notBefore
    }
  }

  package var id: PeerID
  /// The 32-byte seed of the Ed25519 key.
  package var seed: [UInt8]
  package var deviceKey: DeviceKey
  /// Still good for handshakes of those who have the card before the present one.
  package var previousDeviceKey: DeviceKey?
  /// Of the last card that was signed; the next one has a higher one.
  package var cardSerial: UInt64
  /// 32 bytes from which a rendezvous makes its reset tokens (docs/protocol/session.md §8).
  package var resetKey: [UInt8]?

  package init(
    id: PeerID, seed: [UInt8], deviceKey: DeviceKey, previousDeviceKey: DeviceKey? = nil,
    cardSerial: UInt64, resetKey: [UInt8]? = nil
  ) {
    self.id = id
    self.seed = seed
    self.deviceKey = deviceKey
    self.previousDeviceKey = previousDeviceKey
    self.cardSerial = cardSerial
    self.resetKey = resetKey
  }
}

/// The file that an identity lives in: 0600, replaced whole or not at all, never overwritten when it
/// cannot be understood.
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
  package func read() throws(StorageError) -> StoredIdentity? {
    guard let bytes = try PrivateFile.read(path, isSecret: true) else { return nil }
    return try parse(bytes)
  }

  /// The identity in the file, or a new one, which is in the file before this returns. Of several
  /// processes that make one at the same time, all get the same.
  package func readOrCreate(_ make: () -> StoredIdentity) throws(StorageError) -> StoredIdentity {
    if let identity = try read() { return identity }
    if let directory = PrivateFile.parent(of: path) { try PrivateFile.makeDirectory(directory) }
    let identity = make()
    if try PrivateFile.create(path, with: Self.encode(identity)) { return identity }
    guard let other = try read() else {
      throw .kernel("read", path, errno: 2)  // ENOENT: it came and went
    }
    return other
  }

  /// Writes newer device keys of the same identity.
  package func replace(with identity: StoredIdentity) throws(StorageError) {
    if let present = try read(), present.id != identity.id {
      throw StorageError(
        .foreign, path, "\(path) holds another identity by now; it was left as it is.",
        advice: "Start again, so that the program reads it.")
    }
    try PrivateFile.replace(path, with: Self.encode(identity))
  }

  // MARK: - The text

  private static let title = "earshot identity 1"

  private static func encode(_ identity: StoredIdentity) -> [UInt8] {
    var lines = [
      "# Whoever has this file is you. Keep it secret, and keep a copy.",
      "id \(identity.id)",
      "identity-key \(ZBase32.encode(identity.seed))",
      "device-key \(ZBase32.encode(identity.deviceKey.privateKey)) \(identity.deviceKey.notBefore)",
    ]
    if let key = identity.previousDeviceKey {
      lines.append("previous-device-key \(ZBase32.encode(key.privateKey)) \(key.notBefore)")
    }
    lines.append("card-serial \(identity.cardSerial)")
    if let key = identity.resetKey { lines.append("reset-key \(ZBase32.encode(key))") }
    return TextRecord.write(title: title, lines: lines)
  }

  private func parse(_ bytes: [UInt8]) throws(StorageError) -> StoredIdentity {
    var id: PeerID?
    var seed: [UInt8]?
    var deviceKey: StoredIdentity.DeviceKey?
    var previous: StoredIdentity.DeviceKey?
    var serial: UInt64?
    var resetKey: [UInt8]?
    for words in try TextRecord.read(bytes, title: Self.title, path: path) {
      switch (words[0], words.count) {
      case ("id", 2): id = PeerID(String(words[1]))
      case ("identity-key", 2): seed = key(words[1])
      case ("device-key", 3): deviceKey = deviceKeyFrom(words)
      case ("previous-device-key", 3): previous = deviceKeyFrom(words)
      case ("card-serial", 2): serial = UInt64(words[1])
      case ("reset-key", 2): resetKey = key(words[1])
      default: throw TextRecord.damaged(path)
      }
    }
    guard let id, let seed, let deviceKey, let serial else { throw TextRecord.damaged(path) }
    return StoredIdentity(
      id: id, seed: seed, deviceKey: deviceKey, previousDeviceKey: previous, cardSerial: serial,
      resetKey: resetKey)
  }

  private func key(_ word: Substring) -> [UInt8]? {
    ZBase32.decode(String(word)).flatMap { $0.count == 32 ? $0 : nil }
  }

  private func deviceKeyFrom(_ words: [Substring]) -> StoredIdentity.DeviceKey? {
    guard let privateKey = key(words[1]), let notBefore = UInt64(words[2]) else { return nil }
    return StoredIdentity.DeviceKey(privateKey: privateKey, notBefore: notBefore)
  }
}
