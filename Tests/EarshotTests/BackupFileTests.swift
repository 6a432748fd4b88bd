import Earshot
import Foundation
import Testing

/// The file of `earshot backup`, as its command uses it.
struct BackupFileTests {
  private let folder = FileManager.default.temporaryDirectory.appending(
    path: "earshot-\(UUID().uuidString)")

  private func path(_ name: String) -> String { folder.appending(path: name).path }

  @Test func `a backup tells whose it is, and is never written over`() throws {
    let made = try LocalIdentityFile.open(at: path("a/identity"))
    let passphrase = Array("four words of mine".utf8)
    try BackupFile.refuse(present: path("backup"))
    let written = try BackupFile.write(
      path("backup"), identityFile: path("a/identity"), passphrase: passphrase)
    #expect(written.id == made.id && written.pinCount == 0)
    #expect(written.identityFile == path("a/identity"))
    let error = #expect(throws: EarshotError.self) {
      try BackupFile.refuse(present: path("backup"))
    }
    #expect(error?.code == .fileUnusable)
    let restored = try BackupFile.restore(
      path("backup"), identityFile: path("b/identity"), passphrase: passphrase)
    #expect(restored?.id == made.id)
    #expect(
      try BackupFile.restore(
        path("backup"), identityFile: path("c/identity"), passphrase: Array("another".utf8)) == nil)
  }

  @Test func `the passphrase is the first line of a file of its owner's`() throws {
    _ = try LocalIdentityFile.open(at: path("a/identity"))
    let file = path("a/words")
    try Data("four words of mine\nand more\n".utf8).write(to: URL(fileURLWithPath: file))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    #expect(try BackupFile.passphrase(inFile: file) == Array("four words of mine".utf8))
    try Data("seven77\n".utf8).write(to: URL(fileURLWithPath: file))
    #expect(throws: EarshotError.self) { try BackupFile.passphrase(inFile: file) }
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
    #expect(throws: EarshotError.self) { try BackupFile.passphrase(inFile: file) }
  }
}
