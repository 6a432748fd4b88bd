import Arguments
import Earshot
import Glibc
import PeerCommand
import Testing

/// `earshot backup` and `earshot restore`: what they take, refuse and make.
struct BackupCommandTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func run(
    _ action: BackupCommand.Action, identity: String, words: String
  ) throws -> ExitCode {
    let path = folder.file("words")
    try folder.write(Array("\(words)\n".utf8), to: "words")
    #expect(unsafe chmod(path, 0o600) == 0)
    let options = ["--identity", folder.file(identity), "--passphrase-file", path, "--json"]
    return try BackupCommand(action, Arguments([folder.file("backup")] + options)).run()
  }

  @Test func `an identity is sealed, and made again with its passphrase alone`() throws {
    let made = try LocalIdentityFile.open(at: folder.file("id"))
    #expect(try run(.backup, identity: "id", words: "four words of mine") == .done)
    let wrong = #expect(throws: CommandFailure.self) {
      _ = try run(.restore, identity: "new", words: "four words of yours")
    }
    #expect(wrong?.code == .identity)
    #expect(wrong?.message.hasPrefix("The passphrase is not the one") == true)
    #expect(try run(.restore, identity: "new", words: "four words of mine") == .done)
    #expect(try LocalIdentityFile.open(at: folder.file("new")).id == made.id)
    for action in [BackupCommand.Action.backup, .restore] {
      let refused = #expect(throws: CommandFailure.self) {
        _ = try run(action, identity: "id", words: "four words of mine")
      }
      #expect(refused?.code == .file && refused?.message.contains("already") == true)
    }
  }

  @Test func `a passphrase is never an argument, and never short`() throws {
    #expect(throws: UsageError.self) {
      _ = try BackupCommand(.backup, Arguments(["f", "--passphrase", "secret words"]))
    }
    #expect(throws: UsageError.self) { _ = try BackupCommand(.restore, Arguments([])) }
    _ = try LocalIdentityFile.open(at: folder.file("id"))
    let short = #expect(throws: CommandFailure.self) {
      _ = try run(.backup, identity: "id", words: "seven77")
    }
    #expect(short?.code == .file)
    #expect(short?.advice == "Its first line must have 8 to 1024 bytes.")
  }
}
