package import Cryptography
package import Primitives
internal import SecureSession

/// An identity and all that is pinned beside it, in one file, sealed with a passphrase.
///
/// The file: the line `earshot backup 1`, Argon2id's passes and KiB (4 bytes each, big-endian), its
/// salt (16), a nonce (24), what is sealed (XChaCha20-Poly1305, all before it associated), and
/// BLAKE2b-128 of everything before: so a damaged file is told from a wrong passphrase. Sealed are
/// the length of the identity file (4 bytes), that file, and the file of pins.
package struct IdentityBackup: Sendable {
  /// The bytes of the identity file; wiped by whoever made this.
  package var identity: [UInt8]
  /// The bytes of `known-peers`; empty where nobody was pinned.
  package var pins: [UInt8]

  /// What is in the two files of an identity.
  package init(identityFile path: String) throws(StorageError) {
    guard try IdentityFile(path: path).read() != nil,
      let identity = try PrivateFile.read(path, isSecret: true)
    else {
      throw StorageError(
        .notReadable, path, "There is no identity in \(path).",
        advice: "Name the right file with --identity FILE.")
    }
    self.identity = identity
    let pinFile = PinFile(besideIdentity: path)
    let pins = try pinFile.read()
    self.pins = pins.count == 0 ? [] : PinFile.encode(pins)
  }

  /// Takes apart what was sealed; `path` is named where it does not hold an identity and pins.
  package init(unsealed bytes: [UInt8], from path: String) throws(StorageError) {
    guard bytes.count >= 4 else { throw Self.damaged(path) }
    let length = Self.number(bytes, at: 0)
    guard length <= bytes.count - 4 else { throw Self.damaged(path) }
    identity = Array(bytes[4..<(4 + length)])
    pins = Array(bytes[(4 + length)...])
    _ = try summary(path)
  }

  /// Writes to a file that must not exist yet, for its owner only.
  package func write(
    to path: String, passphrase: [UInt8], cost: Argon2id.Cost = .usual,
    random: inout RandomSource
  ) throws(StorageError) {
    guard !PrivateFile.isThere(path) else { throw Self.isThere(path) }
    var body = Self.bytes(identity.count) + identity + pins
    defer { Secret.wipe(&body) }
    var file = Array(Self.title.utf8) + Self.bytes(cost.passes) + Self.bytes(cost.memoryKiB)
    for _ in 0..<(Argon2id.saltByteCount + XChaChaPoly.nonceByteCount) {
      file.append(UInt8(truncatingIfNeeded: random.next()))
    }
    guard let header = Header(file), let key = header.key(of: passphrase) else {
      throw Self.withoutMemory(path)
    }
    do throws(CryptographyError) {
      file += try XChaChaPoly.seal(
        body.span, associated: file.span, key: key, nonce: header.nonce.span)
    } catch {
      throw Self.damaged(path)
    }
    file += Self.sum(of: file[...])
    guard try PrivateFile.create(path, with: file) else { throw Self.isThere(path) }
  }

  /// Whether a file of that name would be written over.
  package static func wouldOverwrite(_ path: String) -> Bool { PrivateFile.isThere(path) }

  /// What came of opening a file.
  package enum Opened: Sendable {
    case backup(IdentityBackup)
    case wrongPassphrase
  }

  /// Opens a file.
  package static func read(
    _ path: String, passphrase: [UInt8]
  ) throws(StorageError) -> Opened {
    guard let bytes = try PrivateFile.read(path, isSecret: false) else {
      throw StorageError(
        .notReadable, path, "There is no file \(path).", advice: "Check the path.")
    }
    return try open(bytes, passphrase: passphrase, path: path)
  }

  /// The same of the bytes of a file.
  package static func open(
    _ bytes: [UInt8], passphrase: [UInt8], path: String
  ) throws(StorageError) -> Opened {
    guard bytes.starts(with: family.utf8) else {
      throw StorageError(
        .foreign, path, "\(path) is not a backup of Earshot.",
        advice: "Name the file that "
          + "earshot backup wrote.")
    }
    guard bytes.starts(with: title.utf8) else {
      throw newerVersion(path)
    }
    let end = bytes.count - sumByteCount
    guard end >= Header.byteCount, sum(of: bytes[..<end]) == Array(bytes[end...]),
      let header = Header(bytes)
    else { throw damaged(path) }
    guard let key = header.key(of: passphrase) else { throw withoutMemory(path) }
    var body: [UInt8]
    do throws(CryptographyError) {
      body = try XChaChaPoly.open(
        Array(bytes[Header.byteCount..<end]).span,
        associated: Array(bytes[..<Header.byteCount]).span, key: key, nonce: header.nonce.span)
    } catch {
      return .wrongPassphrase
    }
    defer { Secret.wipe(&body) }
    return .backup(try IdentityBackup(unsealed: body, from: path))
  }

  /// Makes the two files of an identity; neither may be there.
  package func restore(toIdentityFile path: String) throws(StorageError) {
    let pinPath = PinFile(besideIdentity: path).path
    for path in [path, pinPath] where PrivateFile.isThere(path) {
      throw Self.isThere(path)
    }
    if let folder = PrivateFile.parent(of: path) { try PrivateFile.makeDirectory(folder) }
    guard try PrivateFile.create(path, with: identity) else { throw Self.isThere(path) }
    guard !pins.isEmpty else { return }
    do throws(StorageError) {
      guard try PrivateFile.create(pinPath, with: pins) else { throw Self.isThere(pinPath) }
    } catch {
      PrivateFile.remove(path)
      throw error
    }
  }

  /// Whose it is, and how many are pinned; `path` is named where that cannot be read.
  package func summary(_ path: String) throws(StorageError) -> (id: PeerID, pinCount: Int) {
    let pinCount: Int
    do throws(StorageError) {
      pinCount = try pins.isEmpty ? 0 : PinFile(path: "").parse(pins, from: path).count
    } catch {
      throw error.code == .newerVersion ? Self.newerVersion(path) : Self.damaged(path)
    }
    do throws(IdentityFileFault) {
      return (try LocalIdentity(stored: identity.span).id, pinCount)
    } catch {
      throw error == .newerVersion ? Self.newerVersion(path) : Self.damaged(path)
    }
  }

  package mutating func wipe() { Secret.wipe(&identity) }

  // MARK: - Parts

  private struct Header {
    let cost: Argon2id.Cost
    let salt: [UInt8]
    let nonce: [UInt8]

    init?(_ bytes: [UInt8]) {
      let start = IdentityBackup.title.utf8.count
      guard bytes.count >= Self.byteCount,
        let cost = Argon2id.Cost(
          passes: IdentityBackup.number(bytes, at: start),
          memoryKiB: IdentityBackup.number(bytes, at: start + 4))
      else { return nil }
      self.cost = cost
      salt = Array(bytes[(start + 8)..<(start + 24)])
      nonce = Array(bytes[(start + 24)..<Self.byteCount])
    }

    func key(of passphrase: [UInt8]) -> SecretKey? {
      Argon2id.key(passphrase: passphrase.span, salt: salt.span, cost: cost)
    }

    static let byteCount =
      IdentityBackup.title.utf8.count + 8 + Argon2id.saltByteCount + XChaChaPoly.nonceByteCount
  }

  private static func bytes(_ number: Int) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  /// Big-endian, 4 bytes, which must be there.
  private static func number(_ bytes: [UInt8], at place: Int) -> Int {
    bytes[place..<(place + 4)].reduce(0) { $0 << 8 | Int($1) }
  }

  private static func sum(of bytes: ArraySlice<UInt8>) -> [UInt8] {
    var hash = BLAKE2b(byteCount: sumByteCount)
    hash.update(bytes.span)
    return hash.finalize16().bytes
  }

  private static func isThere(_ path: String) -> StorageError {
    StorageError(
      .notWritable, path, "There is a file \(path) already; it was left as it is.",
      advice: "Give another name, or move it away.")
  }

  private static func damaged(_ path: String) -> StorageError {
    StorageError(
      .corrupt, path, "\(path) is damaged.", advice: "Use another copy of the backup.")
  }

  private static func newerVersion(_ path: String) -> StorageError {
    StorageError(
      .newerVersion, path, "\(path) was written by a newer version of Earshot.",
      advice: "Run that version.")
  }

  private static func withoutMemory(_ path: String) -> StorageError {
    StorageError(
      .notReadable, path, "There is not enough memory for the passphrase of \(path).",
      advice: "256 MiB are needed: end other programs, or look at ulimit -v.")
  }

  private static let family = "earshot backup "
  private static let title = "earshot backup 1\n"
  private static let sumByteCount = 16
}
