package import Arguments
internal import Earshot
internal import Reactor

/// `earshot backup FILE` and `earshot restore FILE`: an identity and its pins in one sealed file.
package struct BackupCommand: Sendable {
  package enum Action: Equatable, Sendable {
    case backup
    case restore
  }

  package var action: Action
  package var file: String
  package var identity: String?
  /// A file with the passphrase in its first line; `nil` asks at the terminal.
  package var passphraseFile: String?
  package var isJSON: Bool

  package init(_ action: Action, _ arguments: consuming Arguments) throws(UsageError) {
    var arguments = arguments
    self.action = action
    identity = try arguments.file("--identity")
    passphraseFile = try arguments.file("--passphrase-file")
    isJSON = try arguments.flag("--json")
    file = try arguments.positional("file")
    try arguments.finish()
  }

  package func run() throws(CommandFailure) -> ExitCode {
    do throws(EarshotError) {
      try LocalIdentityFile.requireFolder(of: identity)
      // Before anybody thinks of a passphrase.
      let written = action == .backup ? file : try LocalIdentityFile.path(identity)
      try BackupFile.refuse(present: written)
    } catch {
      throw CommandFailure(error)
    }
    let passphrase = try self.passphrase()
    guard let summary = try carryOut(passphrase) else {
      throw CommandFailure(
        .identity, "The passphrase is not the one that \(file) was sealed with.",
        advice: "Nothing was written. Try again; capitals and spaces count.")
    }
    printSummary(summary)
    return .done
  }

  private func carryOut(_ passphrase: [UInt8]) throws(CommandFailure) -> BackupFile.Summary? {
    do throws(EarshotError) {
      switch action {
      case .backup:
        return try BackupFile.write(file, identityFile: identity, passphrase: passphrase)
      case .restore:
        return try BackupFile.restore(file, identityFile: identity, passphrase: passphrase)
      }
    } catch {
      throw CommandFailure(error)
    }
  }

  private func passphrase() throws(CommandFailure) -> [UInt8] {
    if let passphraseFile {
      do throws(EarshotError) {
        return try BackupFile.passphrase(inFile: passphraseFile)
      } catch {
        throw CommandFailure(error)
      }
    }
    let first = try ask("Passphrase for \(file): ")
    guard action == .backup else { return first }
    guard BackupFile.lengths.contains(first.count) else {
      throw CommandFailure(
        .usage, "The passphrase is too short.",
        advice: "Use at least \(BackupFile.lengths.lowerBound) letters; several words are best.")
    }
    guard try ask("The same again: ") == first else {
      throw CommandFailure(
        .usage, "The two passphrases differ.", advice: "Nothing was written. Try again.")
    }
    return first
  }

  private func ask(_ question: String) throws(CommandFailure) -> [UInt8] {
    switch SecretPrompt.ask(question, limit: BackupFile.lengths.upperBound) {
    case .typed(let bytes): return bytes
    case .interrupted:
      throw CommandFailure(.interrupted, "Interrupted before there was a passphrase.")
    case .noTerminal:
      throw CommandFailure(
        .usage, "There is no terminal to ask for the passphrase at.",
        advice: "Put it into a file of mode 600 and add --passphrase-file FILE.")
    }
  }

  private func printSummary(_ summary: BackupFile.Summary) {
    guard isJSON else {
      let pins = summary.pinCount == 1 ? "1 pin" : "\(summary.pinCount) pins"
      let place = action == .backup ? file : summary.identityFile
      print(LineWrap.fitted("The identity \(summary.id) and \(pins) are in \(place)."))
      return
    }
    var object = JSONObject()
    object.add("type", action == .backup ? "backup" : "restore")
    object.add("ts", Timestamp.text(wallNanoseconds: SystemClock.wallNanoseconds))
    object.add("id", "\(summary.id)")
    object.add("pins", summary.pinCount)
    object.add("file", file)
    object.add("identityFile", summary.identityFile)
    print(object.value.text)
  }
}
