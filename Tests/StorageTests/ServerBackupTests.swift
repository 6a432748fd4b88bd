import Primitives
import SecureSession
import Testing
import Wire

@testable import Storage

struct ServerBackupTests {
  let scratch = Scratch()
  let name = PeerName("alice")!
  let alice = PeerID(word0: 1, word1: 0, word2: 0, word3: 0)

  private func code(_ body: () throws -> Void) -> StorageError.Code? {
    do { try body() } catch { return (error as? StorageError)?.code }
    return nil
  }

  private func identity(in directory: String) throws -> PeerID {
    var random = RandomSource(seed: 1)
    return try IdentityFile(path: directory + "/identity").readOrCreate(
      .rendezvous, unixSeconds: 1_800_000_000, random: &random
    ).id
  }

  @Test func `holds names and identity of a server that goes on writing`() throws {
    let (old, new, file) = (scratch.file("old"), scratch.file("new"), scratch.file("backup"))
    try DataDirectory.make(old)
    let id = try identity(in: old)
    let store = try SQLiteStore(path: old + "/registrations.db")
    _ = try store.bind(name, to: alice, now: 100)
    try store.commit()
    _ = try store.bind(PeerName("bob")!, to: alice, now: 100)
    try ServerBackup.make(of: old, at: file)
    try store.commit()
    #expect(try store.owner(of: PeerName("bob")!, now: 100) == alice)
    #expect(scratch.mode(file) == 0o600)
    #expect(scratch.names() == ["backup", "old"], "nothing half-done is left")

    try ServerBackup.restore(file, to: new)
    #expect(try identity(in: new) == id)
    let restored = try SQLiteStore(path: new + "/registrations.db")
    #expect(try restored.owner(of: name, now: 100) == alice)
    #expect(try restored.owner(of: PeerName("bob")!, now: 100) == nil, "not committed")
    #expect(restored.resetKey == store.resetKey)
    #expect(restored.bootCounter > store.bootCounter + 1000)
    #expect(
      try restored.database.number("SELECT count(*) FROM sqlite_schema WHERE name='backup'") == 0)
  }

  @Test func `replaces nothing, and knows what is no backup`() throws {
    let (data, file) = (scratch.file("data"), scratch.file("backup"))
    #expect(code { try ServerBackup.make(of: data, at: file) } == .notReadable)
    try DataDirectory.make(data)
    _ = try identity(in: data)
    _ = try SQLiteStore(path: data + "/registrations.db")
    try ServerBackup.make(of: data, at: file)
    #expect(code { try ServerBackup.make(of: data, at: file) } == .notWritable)
    #expect(code { try ServerBackup.restore(file, to: data) } == .notWritable)
    let other = scratch.file("other")
    #expect(code { try ServerBackup.restore(scratch.file("none"), to: other) } == .notReadable)
    #expect(code { try ServerBackup.restore(data + "/registrations.db", to: other) } == .foreign)
    scratch.write("text", Array("some text that is no database at all".utf8))
    let foreign = #expect(throws: StorageError.self) {
      try ServerBackup.restore(scratch.file("text"), to: other)
    }
    #expect(foreign?.code == .foreign && foreign?.message.contains("is no backup") == true)
    #expect(scratch.names() == ["backup", "data", "text"])
  }
}
