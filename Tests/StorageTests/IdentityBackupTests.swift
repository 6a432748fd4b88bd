import Cryptography
import Primitives
import SecureSession
import Storage
import Testing
import Wire

struct IdentityBackupTests {
  private static let words = Array("correct horse".utf8)
  private static let other = Array("correct mouse".utf8)

  /// The least that Argon2id takes: these tests are about the file.
  private static func cost() throws -> Argon2id.Cost {
    try #require(Argon2id.Cost(passes: 1, memoryKiB: 8))
  }

  private static func makeIdentity(_ scratch: Scratch, pins: Int) throws -> String {
    let path = scratch.file("identity")
    var random = RandomSource(seed: 1)
    _ = try IdentityFile(path: path).readOrCreate(.peer, unixSeconds: 1000, random: &random)
    try PinFile(besideIdentity: path).update { peers in
      for number in 0..<pins {
        guard let name = PeerName("peer\(number)") else { continue }
        let id = LocalIdentity(kind: .peer, unixSeconds: 1, random: &random).id
        peers.verify(id, at: .name(name), now: 5)
      }
    }
    return path
  }

  @Test(arguments: [0, 3])
  func `an identity and its pins come back as they were`(pins: Int) throws {
    let scratch = Scratch()
    let path = try Self.makeIdentity(scratch, pins: pins)
    var random = RandomSource(seed: 2)
    let backup = try IdentityBackup(identityFile: path)
    let file = scratch.file("backup")
    try backup.write(to: file, passphrase: Self.words, cost: Self.cost(), random: &random)
    guard case .backup(let read) = try IdentityBackup.read(file, passphrase: Self.words) else {
      Issue.record("the passphrase is right")
      return
    }
    let home = scratch.file("new/identity")
    try read.restore(toIdentityFile: home)
    let first = try IdentityFile(path: path).read()?.id
    let again = try IdentityFile(path: home).read()?.id
    #expect(first != nil && first == again)
    #expect(
      try PinFile(besideIdentity: path).read() == PinFile(besideIdentity: home).read())
    #expect(try read.summary("").pinCount == pins)
  }

  @Test func `a wrong passphrase is told from a damaged file`() throws {
    let scratch = Scratch()
    let path = try Self.makeIdentity(scratch, pins: 1)
    var random = RandomSource(seed: 2)
    let file = scratch.file("backup")
    try IdentityBackup(identityFile: path).write(
      to: file, passphrase: Self.words, cost: Self.cost(), random: &random)
    guard case .wrongPassphrase = try IdentityBackup.read(file, passphrase: Self.other) else {
      Issue.record("the passphrase is wrong")
      return
    }
    let whole = scratch.read("backup")
    for place in [0, 10, 17, 30, 50, 70, whole.count - 1] {
      var bytes = whole
      bytes[place] ^= 1
      let error = #expect(throws: StorageError.self) {
        _ = try IdentityBackup.open(bytes, passphrase: Self.words, path: "x")
      }
      #expect(error?.code == (place < 15 ? .foreign : .corrupt))
    }
    for count in 0..<whole.count {
      #expect(throws: StorageError.self) {
        _ = try IdentityBackup.open(
          Array(whole.prefix(count)), passphrase: Self.words, path: "x")
      }
    }
  }

  @Test func `what a newer version has written is told from what is damaged`() throws {
    let scratch = Scratch()
    let backup = try IdentityBackup(identityFile: try Self.makeIdentity(scratch, pins: 1))
    func code(_ identity: [UInt8], _ pins: [UInt8]) -> StorageError.Code? {
      let length: [UInt8] = [0, 0, 0, UInt8(truncatingIfNeeded: identity.count)]
      let error = #expect(throws: StorageError.self) {
        _ = try IdentityBackup(unsealed: length + identity + pins, from: "x")
      }
      return error?.code
    }
    var newer = backup.identity
    newer[17] = UInt8(ascii: "2")
    var damaged = backup.identity
    damaged[40] ^= 1
    #expect(code(newer, backup.pins) == .newerVersion)
    #expect(code(damaged, backup.pins) == .corrupt)
    #expect(code(backup.identity, Array("earshot known-peers 9\nend 0\n".utf8)) == .newerVersion)
    #expect(code(backup.identity, Array(backup.pins.dropLast(3))) == .corrupt)
  }

  @Test func `nothing is overwritten`() throws {
    let scratch = Scratch()
    let path = try Self.makeIdentity(scratch, pins: 1)
    var random = RandomSource(seed: 2)
    let backup = try IdentityBackup(identityFile: path)
    let before = scratch.read("identity")
    let error = #expect(throws: StorageError.self) { try backup.restore(toIdentityFile: path) }
    #expect(error?.message.contains("already") == true)
    #expect(throws: StorageError.self) {
      try backup.write(
        to: path, passphrase: Self.words, cost: Self.cost(), random: &random)
    }
    #expect(scratch.read("identity") == before)
    #expect(throws: StorageError.self) { _ = try IdentityBackup(identityFile: scratch.file("no")) }
  }

  @Test func `a stranger's file cannot ask for any amount of memory`() {
    #expect(Argon2id.Cost(passes: 17, memoryKiB: 8) == nil)
    #expect(Argon2id.Cost(passes: 1, memoryKiB: 1_048_577) == nil)
    #expect(Argon2id.Cost(passes: 0, memoryKiB: 8) == nil)
  }
}
